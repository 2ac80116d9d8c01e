import type { Context } from "ponder:registry";
import type { InferInsertModel, InferSelectModel, Table } from "drizzle-orm";
import type { Hex } from "viem";
import type { V2KnownContracts } from "../deployments/namespaces.ts";
import type { RpcCall } from "../ponder/rpc-request.ts";
import type { SavedResults } from "../ponder/saved-results.ts";
import type { Anomaly } from "./anomalies.ts";
import type { Naming } from "./naming.ts";

/** A JSON-RPC request about the block of an event, with the longest response (bytes) and time allowed. */
export type NodeRequest = Required<RpcCall> & { params: readonly unknown[]; blockNumber: number };

/**
 * The result that a chain's nodes return; undefined if they refuse, have none, exceed a limit, or fail on this request
 * while they serve others. Waits while no node serves any. Never rejects because of what a chain contains.
 */
export type AskNodes = (chainId: number, request: NodeRequest) => Promise<unknown>;

declare const ponderDb: Context["db"];

/** Ponder's store, as far as handlers use it: by primary key only. It shares the rows that it returns: nobody changes them. */
export type Database = Omit<Context["db"], "sql" | "find"> & {
  find<T extends Table>(
    table: T,
    key: Parameters<typeof ponderDb.find<T>>[1],
  ): Promise<Readonly<InferSelectModel<T>> | null>;
};

/** Sets columns of the row with a key, which is inserted, with what else it needs, where it is missing; returns the row. */
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

/** Ponder's client of the event's chain: it reads at the event's block. */
export type Client = Context["client"];

/** One event as the handlers see it: its position in the chain, the store, the settings. */
export type Scope = Settings & {
  db: Database;
  chainId: number;
  /** Names of the deployment whose contract emitted the event: `ens`, `basenames`, … */
  namespace: string;
  /** Ponder's checkpoint of the event: 75 digits, whose order is that of processing over all chains. */
  eventId: string;
  blockNumber: number;
  /** Block time in Unix seconds. */
  timestamp: bigint;
  transactionHash: Hex;
  sender: Hex;
  logIndex: number;
  /** Contract that emitted the event. */
  emitter: Hex;
  client: Client;
};

/** Settings and services of the handlers; the same for all events. */
export type Settings = {
  naming: Naming;
  /** Chain of the root registry; some rules hold there only. */
  rootChainId: number;
  /** Label of a labelhash, undefined if nobody knows it. A promise only if the result must be awaited. */
  heal(labelhash: Hex): string | undefined | Promise<string | undefined>;
  /** Whether the plugin `ensv2` is active. */
  isV2Indexed?: boolean;
  /** Contracts of ENSv2. */
  v2: V2KnownContracts;
  report(anomaly: Anomaly, scope: Scope): void;
  nodes: AskNodes;
  /** Results of nodes from earlier indexes; none without it. */
  saved?: SavedResults | undefined;
  /** Whether the configuration has a contract at the address (lower case). */
  isConfigured(chainId: number, address: Hex): boolean;
};
