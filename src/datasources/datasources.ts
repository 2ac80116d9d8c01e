import type { Hex } from "viem";
import { devnet } from "./devnet.ts";
import { holesky } from "./holesky.ts";
import { mainnet } from "./mainnet.ts";
import { sepolia } from "./sepolia.ts";

/** One contract to index: without an address, every contract of the chain that emits one of its events. */
export type ContractSource = { address?: Hex; startBlock: number; endBlock?: number };

/** Contracts of one deployment on one chain, and the name whose subnames its registrar hands out. */
export type Datasource = {
  chainId: number;
  managedName?: string;
  contracts: Record<string, ContractSource>;
};

/** The deployments of one name service by datasource id; `ensroot` is the root chain. */
export type Namespace = Record<string, Datasource>;

/** Tables of the public deployments, by namespace id. */
export const namespaces: Record<NamespaceId, Namespace> = {
  mainnet,
  sepolia,
  holesky,
  "ens-test-env": devnet,
};

export const namespaceIds = ["mainnet", "sepolia", "holesky", "ens-test-env"] as const;

export type NamespaceId = (typeof namespaceIds)[number];

/** Names of the chains as they stand in logs and metrics, by chain id. */
export const chainNames: Record<number, string> = {
  1: "mainnet",
  10: "optimism",
  8453: "base",
  17000: "holesky",
  31337: "local",
  42161: "arbitrum",
  59141: "linea-sepolia",
  59144: "linea",
  84532: "base-sepolia",
  421614: "arbitrum-sepolia",
  534351: "scroll-sepolia",
  534352: "scroll",
  11155111: "sepolia",
  11155420: "optimism-sepolia",
  15658733: "ens-test-env",
  15658734: "ens-test-env-l2",
};

/** Name of a chain in logs and metrics: `chain-<id>` where no better one is known. */
export function chainName(chainId: number): string {
  return chainNames[chainId] ?? `chain-${chainId}`;
}
