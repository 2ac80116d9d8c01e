import type { Abi, Hex } from "viem";
import packageJson from "../../package.json" with { type: "json" };
import type { Datasource } from "../deployments/deployment.ts";
import { chainName } from "./chains.ts";
import type { Config } from "./environment.ts";
import { pluginIds } from "./plugins.ts";

const normalizationVersion = packageJson.dependencies["@adraffy/ens-normalize"];

/** What a contract entry carries besides its addresses: settings that decide rows, so that Ponder's build id covers them. */
type RowRules = {
  namespace: string;
  plugins: readonly string[];
  isSubgraphCompatible: boolean;
  labelSetId: string;
  labelSetVersion: number;
  normalization: string;
};

/** One of Ponder's contract entries: the logs of one contract, by the chain's name. */
export type ContractEntry = {
  abi: Abi;
  chain: Record<string, { address?: Hex; startBlock: number; endBlock?: number }>;
  rowRules: RowRules;
};

/** A contract entry before the entries of resolvers are fitted to each other. */
export type PlannedEntry = {
  key: string;
  entry: ContractEntry;
  /** For resolvers: which of their events a names plugin reads; `every` for those of `protocol-acceleration`. */
  resolver?: "records" | "dns" | "every";
};

/** The entry of a datasource's contract; undefined where the namespace or the block range lacks it. */
export function entryOf(
  config: Config,
  { datasourceId, contract, abi }: { datasourceId: string; contract: string; abi: Abi },
): ContractEntry | undefined {
  const datasource = config.datasources[datasourceId];
  const range = datasource && rangeOf(config, datasource, contract);
  if (datasource === undefined || range === undefined) return undefined;
  return { abi, chain: { [chainName(datasource.chainId)]: range }, rowRules: rowRulesOf(config) };
}

/** The settings that decide rows besides contracts and code. Their change changes the build id (ponder: only contract entries are hashed). */
function rowRulesOf({ namespace, plugins, isSubgraphCompatible, labelSet }: Config): RowRules {
  // Handlers run in the fixed order, in whichever order the plugins were named.
  const active = pluginIds.filter((id) => plugins.includes(id));
  return {
    namespace,
    plugins: active,
    isSubgraphCompatible,
    ...labelSet,
    normalization: normalizationVersion,
  };
}

// START_BLOCK and END_BLOCK cut a contract's own range; a contract that lies wholly outside has nothing to index.
function rangeOf({ blockRange }: Config, datasource: Datasource, contract: string) {
  const source = datasource.contracts[contract];
  if (source === undefined) return undefined;
  const startBlock = Math.max(source.startBlock, blockRange.startBlock ?? 0);
  const endBlock = Math.min(
    source.endBlock ?? Number.POSITIVE_INFINITY,
    blockRange.endBlock ?? Number.POSITIVE_INFINITY,
  );
  if (startBlock > endBlock) return undefined;
  return {
    ...(source.address === undefined ? {} : { address: source.address }),
    startBlock,
    ...(endBlock === Number.POSITIVE_INFINITY ? {} : { endBlock }),
  };
}
