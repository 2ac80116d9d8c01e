import type { Hex } from "viem";
import type { Anomaly, AnomalyReport } from "../indexing/anomalies.ts";
import { multichainNaming, subgraphNaming } from "../indexing/naming.ts";
import type { Client, Database, Scope, Settings } from "../indexing/scope.ts";
import type { LabelSource } from "../labels/source.ts";

/** The settings of the rules for a label source, the chains' nodes and a mode. */
export function createSettings(
  labels: Pick<LabelSource, "heal">,
  {
    isSubgraphCompatible,
    report,
    ...services
  }: Pick<Settings, "rootChainId" | "nodes" | "isConfigured" | "hasLabelStore"> & {
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
    hasLabelStore: settings.hasLabelStore ?? false,
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
