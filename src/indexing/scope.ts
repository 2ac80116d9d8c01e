import type { Context } from "ponder:registry";
import type { Hex } from "viem";
import type { Anomaly } from "./anomalies.ts";
import type { Naming } from "./naming.ts";
import type { AskNodes } from "./node-reads.ts";

/** Ponder's store, as far as rules use it: by primary key only. */
export type Database = Context["db"];

/** Ponder's client of the event's chain: it reads at the event's block. */
export type Client = Context["client"];

/** One event as the rules see it: its place in the chain, the store, the settings. */
export type Scope = Settings & {
  db: Database;
  chainId: number;
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

/** Settings and services of the rules; the same for all events. */
export type Settings = {
  naming: Naming;
  /** Chain of the root registry; some rules hold there only. */
  rootChainId: number;
  /** Label of a labelhash, undefined if nobody knows it. A promise only if the result must be awaited. */
  heal(labelhash: Hex): string | undefined | Promise<string | undefined>;
  report(anomaly: Anomaly, scope: Scope): void;
  nodes: AskNodes;
  /** Whether the configuration has a contract at the address (lower case). */
  isConfigured(chainId: number, address: Hex): boolean;
};
