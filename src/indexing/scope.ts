import type { Context } from "ponder:registry";
import type { InferInsertModel, InferSelectModel, Table } from "drizzle-orm";
import type { Hex } from "viem";
import type { V2KnownContracts } from "../deployments/namespaces.ts";
import type { RpcCall } from "../ponder/rpc-request.ts";
import type { SavedResults } from "../ponder/saved-results.ts";
import type { Anomaly } from "./anomalies.ts";
import type { Naming } from "./naming.ts";

/** A JSON-RPC request about an event's block, with the limits of its response: bytes and milliseconds. */
export type NodeRequest = Required<RpcCall> & { params: readonly unknown[]; blockNumber: number };

/**
 * The result that a chain's RPC endpoints return; undefined if they refuse, contradict each other, have none, exceed a limit, or fail on
 * this request alone. Waits while no endpoint serves any request. Never rejects because of what a chain contains.
 */
export type AskNodes = (chainId: number, request: NodeRequest) => Promise<unknown>;

declare const ponderDb: Context["db"];

/** Ponder's store as handlers use it: by primary key. Returned rows are shared, so nobody changes them. */
export type Database = Omit<Context["db"], "sql" | "find"> & {
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
  db: Database;
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
