import type { Context } from "ponder:registry";
import type { InferInsertModel, InferSelectModel, Table } from "drizzle-orm";
import type { Hex } from "viem";
import type { V2KnownContracts } from "../deployments/namespaces.ts";
import { encodedLabel, isLabelOf, isUsableLabel } from "../ens/labels.ts";
import { interpretedLabel } from "../ens/normalization.ts";
import type { RpcCall } from "../ponder/rpc-request.ts";
import type { SavedResults } from "../ponder/saved-results.ts";
import type { Anomaly } from "./anomalies.ts";

// What a handler gets with an event. The handlers of this folder write rows by primary key. They do not know which
// plugin calls them: src/handlers and src/plugins bind them to events.

/** A label as stored: `labelName` in its column, `part` in names. */
export type StoredLabel = { labelName: string | null; part: string };

/** How ids and names are written: as in the original subgraph, or so that several chains fit into one index. */
export type Naming = {
  isSubgraphCompatible: boolean;
  rootName: string | null;
  eventId(chainId: number, blockNumber: number, logIndex: number): string;
  resolverId(chainId: number, address: Hex, node: Hex): string;
  registrationId(node: Hex, labelhash: Hex): Hex;
  /** The form of a label from an event; undefined if names cannot use it. */
  known(labelhash: Hex, label: string | undefined): StoredLabel | undefined;
  /** The form of a label that is proven to hash to `labelhash`, such as those of the label source. */
  proven(labelhash: Hex, label: string | undefined): StoredLabel | undefined;
  /** The form of a label that is unknown, or that names cannot use. */
  unknown(labelhash: Hex): StoredLabel;
};

/** subgraph: ids and values byte-equal to the original. */
export const subgraphNaming: Naming = {
  isSubgraphCompatible: true,
  rootName: null,
  eventId: (_chainId, blockNumber, logIndex) => `${blockNumber}-${logIndex}`,
  resolverId: (_chainId, address, node) => `${address}-${node}`,
  registrationId: (_node, labelhash) => labelhash,
  known: (_labelhash, label) => toUsableLabel(label),
  proven: (_labelhash, label) => toUsableLabel(label),
  unknown: (labelhash) => ({ labelName: null, part: encodedLabel(labelhash) }),
};

/** Ids carry their chain. Labels and names are interpreted: each label is normalized or `[labelhash]`. */
export const multichainNaming: Naming = {
  isSubgraphCompatible: false,
  rootName: "",
  eventId: (chainId, blockNumber, logIndex) => `${chainId}-${blockNumber}-${logIndex}`,
  resolverId: (chainId, address, node) => `${chainId}-${address}-${node}`,
  registrationId: (node) => node,
  // Only the preimage may replace the hash: an event can carry any text.
  known: (labelhash, label) =>
    label === undefined || !isLabelOf(label, labelhash) ? undefined : toInterpretedLabel(labelhash, label),
  proven: (labelhash, label) => (label === undefined ? undefined : toInterpretedLabel(labelhash, label)),
  unknown(labelhash) {
    const part = encodedLabel(labelhash);
    return { labelName: part, part };
  },
};

function toUsableLabel(label: string | undefined): StoredLabel | undefined {
  if (label === undefined || !isUsableLabel(label)) return undefined;
  return { labelName: label === "" ? null : label, part: label };
}

function toInterpretedLabel(labelhash: Hex, label: string): StoredLabel | undefined {
  const part = interpretedLabel(labelhash, label);
  return part === label ? { labelName: part, part } : undefined;
}

/** The name of a child: `part` before the parent's name; null if the parent has none (subgraph). */
export function childName(part: string, parentName: string | null): string | null {
  if (parentName === null) return null;
  return parentName === "" ? part : `${part}.${parentName}`;
}

/** A JSON-RPC request about an event's block, with the limits of its response: bytes and milliseconds. */
export type NodeRequest = Required<RpcCall> & { params: readonly unknown[]; blockNumber: number };

/**
 * The result that a chain's RPC endpoints return; undefined if they refuse, contradict each other, have none, exceed a
 * limit, or fail on this request alone. Waits while no endpoint serves any request. Never rejects because of what a
 * chain contains.
 */
export type AskNodes = (chainId: number, request: NodeRequest) => Promise<unknown>;

declare const ponderDb: Context["db"];

/** Ponder's store as handlers use it: by primary key. Returned rows are shared, so handlers must not change them. */
export type HandlerDatabase = Omit<Context["db"], "sql" | "find"> & {
  find<T extends Table>(
    table: T,
    key: Parameters<typeof ponderDb.find<T>>[1],
  ): Promise<Readonly<InferSelectModel<T>> | null>;
};

/** Sets columns of the row with a key, or inserts the row with `first` and `set`; returns the row. */
export function upsert<T extends Table, Set extends Partial<InferInsertModel<T>>>(
  { db }: Pick<Scope, "db">,
  table: T,
  first: Omit<InferInsertModel<T>, keyof Set>,
  set: Set,
): Promise<InferSelectModel<T>> {
  return db
    .insert(table as never)
    .values({ ...first, ...set } as never)
    .onConflictDoUpdate(set as never) as Promise<InferSelectModel<T>>;
}

/** Ponder's client of the event's chain, which reads at the event's block. */
export type Client = Context["client"];

/** An event as handlers see it: its position in the chain, the store and the settings. */
export type Scope = Settings & {
  db: HandlerDatabase;
  chainId: number;
  /** Deployment whose contract emitted the event: `ens`, `basenames`, … */
  namespace: string;
  /** Ponder's checkpoint of the event: 75 digits, in processing order across all chains. */
  eventId: string;
  blockNumber: number;
  /** Block time in Unix seconds. */
  timestamp: bigint;
  transactionHash: Hex;
  sender: Hex;
  /** The contract that the transaction calls, in lower case; undefined if it creates one. */
  recipient?: Hex | undefined;
  logIndex: number;
  /** In lower case. */
  emitter: Hex;
  client: Client;
};

/** Settings and services of the handlers, the same for all events. */
export type Settings = {
  naming: Naming;
  /** Chain of the root registry; some rules hold only there. */
  rootChainId: number;
  /** Label of a labelhash, undefined if unknown; a promise only if the result must be awaited. */
  heal(labelhash: Hex): string | undefined | Promise<string | undefined>;
  /** Whether the plugin `ensv2` is active. */
  isV2Indexed?: boolean;
  v2: V2KnownContracts;
  report(anomaly: Anomaly, scope: Scope): void;
  nodes: AskNodes;
  /** RPC results that earlier indexes saved. */
  saved?: SavedResults | undefined;
  /** Whether the configuration has a contract at the address (lower case). */
  isConfigured(chainId: number, address: Hex): boolean;
};
