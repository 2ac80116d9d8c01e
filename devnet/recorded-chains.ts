import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Hex } from "viem";
import { readAddresses } from "./recording.ts";

/** The chains of the recordings: root chain, Base and Linea. */
export type ChainName = "root" | "base" | "linea";

/** Chain ids of the recordings. */
export const chainIds: Record<ChainName, string> = { root: "15658733", base: "15658734", linea: "15658735" };

/** All of them, the root chain first. */
export const chainNames = Object.keys(chainIds) as ChainName[];

const folders: Record<ChainName, string> = { root: "a", base: "a-base", linea: "a-linea" };

/** Folder of a chain's recording. */
export const recordingFolder = (chain: ChainName): string =>
  fileURLToPath(new URL(join("recording", folders[chain]), import.meta.url));

/** Blocks of a chain's contracts: from 0 to the head unless set. */
export type BlockRange = { startBlock?: number; endBlock?: number };

/** A contract in a datasources file. */
type FileContract = BlockRange & { address?: Hex | null | undefined };

/** A datasources file's table of one namespace: datasource, chain id, contracts by name. */
export type FileTable = Record<string, Record<string, { contracts: Record<string, FileContract> }>>;

const contractNames = {
  ensroot: [
    "ENSv1RegistryOld",
    "ENSv1Registry",
    "Resolver",
    "BaseRegistrar",
    "LegacyEthRegistrarController",
    "WrappedEthRegistrarController",
    "UnwrappedEthRegistrarController",
    "UniversalRegistrarRenewalWithReferrer",
    "NameWrapper",
  ],
  basenames: [
    "Registry",
    "Resolver",
    "BaseRegistrar",
    "EARegistrarController",
    "RegistrarController",
    "UpgradeableRegistrarController",
  ],
  lineanames: ["Registry", "Resolver", "BaseRegistrar", "EthRegistrarController", "NameWrapper"],
  threedns: ["ThreeDNSToken", "Resolver"],
};

/** The datasources of the recordings; `ranges` sets the block range of all contracts of a chain. */
export function recordedDatasources(ranges: Partial<Record<ChainName, BlockRange>> = {}): FileTable {
  const of = (chain: ChainName, names: readonly string[]) => {
    const addresses = readAddresses(recordingFolder(chain));
    const renamed: Record<string, Hex | undefined> = {
      Resolver: addresses["ThreeDNSResolver"],
      Seaport1_5: addresses["Seaport"],
    };
    const range = { startBlock: 0, ...ranges[chain] };
    const contracts = names.map((name): [string, FileContract] => {
      const isAny = name === "Resolver" && !names.includes("ThreeDNSToken");
      return [name, { ...(isAny ? {} : { address: renamed[name] ?? addresses[name] }), ...range }];
    });
    return { [chainIds[chain]]: { contracts: Object.fromEntries(contracts) } };
  };
  return {
    ensroot: of("root", contractNames.ensroot),
    basenames: of("base", contractNames.basenames),
    lineanames: of("linea", contractNames.lineanames),
    threednsOptimism: of("linea", contractNames.threedns),
    threednsBase: of("base", contractNames.threedns),
    rrRoot: of("root", ["DefaultReverseRegistrar"]),
    rrBase: of("base", ["L2ReverseRegistrar"]),
    rrLinea: of("linea", ["L2ReverseRegistrar"]),
    seaport: of("root", ["Seaport1_5"]),
  };
}

/** Folder of the recorded chain with the contracts of both generations. */
export const v2Folder: string = fileURLToPath(new URL("recording/v2-a", import.meta.url));

/** Its chain id. */
export const v2ChainId = 15_658_742;

/** Its contracts by the names of the deployment. */
export const v2Addresses: Readonly<Record<string, Hex>> = readAddresses(v2Folder);

const contractsOfRoot = {
  ENSv1Registry: "ENSRegistry",
  BaseRegistrar: "BaseRegistrar",
  WrappedEthRegistrarController: "WrappedETHRegistrarController",
  UnwrappedEthRegistrarController: "ETHRegistrarController",
  NameWrapper: "NameWrapper",
  UniversalResolver: "UpgradableUniversalResolverProxy",
};

/** The contracts of ENSv2, by the names of the deployment. */
export const contractsOfV2 = [
  "RootRegistry",
  "ETHRegistry",
  "ETHRegistrar",
  "ETHRenewerV1",
  "VerifiableFactory",
  "LabelStore",
  "PermissionedResolverImpl",
  "RecordResolverImpl",
  "UserRegistryImpl",
  "UserRegistryImpl2",
  "WrapperRegistryImpl",
  "PublicResolverV2",
  "UniversalResolverV2",
  "ENSV1Resolver",
  "UnlockedMigrationController",
  "LockedMigrationController",
  "Graveyard",
] as const;

/** A datasources file for the recorded chain, or for one with other addresses. */
export function v2DatasourcesFile(addresses: Readonly<Record<string, Hex>> = v2Addresses): string {
  const source = (name: string) => ({ address: addresses[name], startBlock: 0 });
  const root = Object.entries(contractsOfRoot).map(([name, recorded]) => [name, source(recorded)]);
  const table = {
    ensroot: {
      [v2ChainId]: { contracts: { ...Object.fromEntries(root), Resolver: { startBlock: 0 } } },
    },
    rrRoot: {
      [v2ChainId]: {
        contracts: {
          DefaultReverseRegistrar: source("DefaultReverseRegistrar"),
          DefaultPublicResolver5: source("PublicResolver"),
        },
      },
    },
    ensv2: {
      [v2ChainId]: {
        contracts: {
          ...Object.fromEntries(
            contractsOfV2.flatMap((name) => (name in addresses ? [[name, source(name)]] : [])),
          ),
          ...("MockUSDC" in addresses ? { USDC: source("MockUSDC"), DAI: source("MockDAI") } : {}),
        },
      },
    },
  };
  return JSON.stringify({ "ens-test-env": table });
}

/** Settings of an index of the recorded chain with the plugins that answers about names need. */
export const v2Environment = {
  NAMESPACE: "ens-test-env",
  PLUGINS: "subgraph,ensv2,protocol-acceleration,registrars,tokenscope",
};
