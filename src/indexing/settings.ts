import type { LabelSource } from "../labels/source.ts";
import { multichainNaming, subgraphNaming } from "./naming.ts";
import type { Anomaly, Scope, Settings } from "./scope.ts";

/** Where an anomaly happened: enough to find the log on any explorer. */
export type AnomalyReport = { anomaly: Anomaly; chainId: number; transactionHash: string; logIndex: number };

/** The settings of the rules for a label source and a mode. */
export function createSettings(
  labels: Pick<LabelSource, "heal">,
  {
    isSubgraphCompatible,
    rootChainId,
    report,
  }: { isSubgraphCompatible: boolean; rootChainId: number; report: (report: AnomalyReport) => void },
): Settings {
  return {
    naming: isSubgraphCompatible ? subgraphNaming : multichainNaming,
    rootChainId,
    heal: (labelhash) => labels.heal(labelhash),
    report: (anomaly: Anomaly, { chainId, transactionHash, logIndex }: Scope) =>
      report({ anomaly, chainId, transactionHash, logIndex }),
  };
}
