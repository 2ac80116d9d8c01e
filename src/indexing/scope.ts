import type { Context } from "ponder:registry";
import type { Hex } from "viem";
import type { LabelSource } from "../labels/source.ts";
import { multichainNaming, type Naming, subgraphNaming } from "./naming.ts";
import type { AskNodes } from "./node-reads.ts";

/** Ponder's store, as far as rules use it: by primary key only. */
export type Database = Context["db"];

/** Ponder's client of the event's chain: it reads at the event's block. */
type Client = Context["client"];

/** Contradictory or unknown things in the events of a chain that a rule skipped or repaired. */
export type Anomaly =
  | "unknown-node"
  | "unknown-registration"
  | "unhealed-reverse-label"
  | "unreadable-contract"
  | "too-many-reads"
  | "malformed-name"
  | "unknown-lifecycle"
  | "negative-duration"
  | "controller-without-registrar"
  | "contradictory-token-transfer"
  | "odd-token-batch"
  | "odd-token-amount";

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

/** The part of Ponder's event that a scope is made of. */
export type PonderEvent = {
  id: string;
  block: { number: bigint; timestamp: bigint };
  transaction: { hash: Hex; from: Hex };
  log: { address: Hex; logIndex: number };
};

/** The part of Ponder's context that a scope is made of. */
export type PonderContext = { db: Database; chain: { id: number }; client: Client };

/** The scope of an event. Values are copied: Ponder reuses event and context for the next event. */
export function scopeOf(
  settings: Settings,
  context: PonderContext,
  { id, block, transaction, log }: PonderEvent,
): Scope {
  return {
    naming: settings.naming,
    rootChainId: settings.rootChainId,
    heal: settings.heal,
    report: settings.report,
    nodes: settings.nodes,
    isConfigured: settings.isConfigured,
    db: context.db,
    chainId: context.chain.id,
    eventId: id,
    blockNumber: Number(block.number),
    timestamp: block.timestamp,
    transactionHash: transaction.hash,
    sender: transaction.from,
    logIndex: log.logIndex,
    emitter: log.address.toLowerCase() as Hex,
    client: context.client,
  };
}

/** Where an anomaly happened: enough to find the log on any explorer. */
export type AnomalyReport = { anomaly: Anomaly; chainId: number; transactionHash: string; logIndex: number };

/** The settings of the rules for a label source, the chains' nodes and a mode. */
export function createSettings(
  labels: Pick<LabelSource, "heal">,
  {
    isSubgraphCompatible,
    report,
    ...services
  }: Pick<Settings, "rootChainId" | "nodes" | "isConfigured"> & {
    isSubgraphCompatible: boolean;
    report: (report: AnomalyReport) => void;
  },
): Settings {
  return {
    naming: isSubgraphCompatible ? subgraphNaming : multichainNaming,
    ...services,
    heal: (labelhash) => labels.heal(labelhash),
    report: (anomaly: Anomaly, { chainId, transactionHash, logIndex }: Scope) =>
      report({ anomaly, chainId, transactionHash, logIndex }),
  };
}
