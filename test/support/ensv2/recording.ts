import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { Hex } from "viem";
import { projectRoot } from "../../../devnet/indexing-service.ts";
import { readAddresses } from "../../../devnet/recording.ts";

/** Folder of the recorded chain with the contracts of both generations. */
export const v2Folder = join(projectRoot, "devnet/recording/v2-a");

/** Its chain id. */
export const v2ChainId = 15_658_742;

/** Its contracts by the names of the deployment. */
export const v2Addresses = readAddresses(v2Folder);

/** An entry as the registry's views return it; null where a call fails. */
export type TrueEntry = {
  raw: Hex;
  status: number | null;
  expiry: string | null;
  latestOwner: Hex | null;
  tokenId: Hex | null;
  resource: Hex | null;
  owner: Hex | null;
  resolver: Hex | null;
  subregistry: Hex | null;
  roles: Record<Hex, Hex>;
};

/** What calls said of the chain at a block. */
export type Snapshot = {
  block: number;
  timestamp: number;
  registries: Record<
    Hex,
    {
      hostile?: true;
      contract: boolean;
      parentClaim: { registry: Hex; label: string } | null;
      canonicalName: Hex | null;
      rootRoles: Record<Hex, Hex>;
      entries: TrueEntry[];
    }
  >;
  names: {
    name: string;
    labels: Hex[];
    node: Hex;
    registry: Hex | null;
    exists?: number | null;
    owner: Hex;
    resolver: { address: Hex; offset: number } | null;
    subregistry: Hex | null;
    /** Of made-up histories: no event tells what the chain would return. */
    isUnsure?: true;
    answers: Record<"addr" | "coin80000001" | "description" | "avatar" | "contenthash", Hex | null>;
  }[];
  authority: {
    label: string;
    raw: Hex;
    status: number;
    authority: "v2" | "reserved" | "v1" | "none";
    v1: { expires: string; holder: Hex | null; owner: Hex; resolver: Hex; graveyard?: true } | null;
  }[];
};

/** What calls said at twenty blocks. */
export function readTruth(): Snapshot[] {
  const path = join(projectRoot, "test/fixtures/ensv2-truth.json.br");
  return JSON.parse(brotliDecompressSync(readFileSync(path)).toString()).snapshots;
}

const contractsOfRoot = {
  ENSv1Registry: "ENSRegistry",
  BaseRegistrar: "BaseRegistrar",
  WrappedEthRegistrarController: "WrappedETHRegistrarController",
  UnwrappedEthRegistrarController: "ETHRegistrarController",
  NameWrapper: "NameWrapper",
  UniversalResolver: "UpgradableUniversalResolverProxy",
};

const contractsOfV2 = [
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
];

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
