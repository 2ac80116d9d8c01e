import { readFileSync } from "node:fs";
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
type FileTable = Record<string, Record<string, { contracts: Record<string, FileContract> }>>;

/** The table of a datasources file in this folder. */
export const readTable = (path: string): FileTable =>
  JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"))["ens-test-env"];

/** The datasources of the recordings; `ranges` sets the block range of all contracts of a chain. */
export function recordedDatasources(ranges: Partial<Record<ChainName, BlockRange>> = {}): FileTable {
  const table = readTable("recording/datasources.json");
  for (const chain of chainNames)
    for (const source of Object.values(table))
      for (const contract of Object.values(source[chainIds[chain]]?.contracts ?? {}))
        Object.assign(contract, ranges[chain]);
  return table;
}

/** Folder of the recorded chain with the contracts of both generations. */
export const v2Folder: string = fileURLToPath(new URL("recording/v2-a", import.meta.url));

/** Its chain id. */
export const v2ChainId = 15_658_742;

/** Its contracts by the names of the deployment. */
export const v2Addresses: Readonly<Record<string, Hex>> = readAddresses(v2Folder);

/** The contracts of ENSv2, by the names of the deployment. */
export const contractsOfV2 = Object.keys(
  readTable("recording/v2-a/datasources.json")["ensv2"]?.[v2ChainId]?.contracts ?? {},
);

/** A datasources file for the recorded chain, or for one with other addresses and without those that it lacks. */
export function v2DatasourcesFile(addresses: Readonly<Record<string, Hex>> = v2Addresses): string {
  const nameOf = new Map(Object.entries(v2Addresses).map(([name, address]) => [address, name]));
  const table = readTable("recording/v2-a/datasources.json");
  return JSON.stringify({ "ens-test-env": table }, (_, value) => {
    if (!value?.address) return value;
    const address = addresses[nameOf.get(value.address) ?? ""];
    return address && { ...value, address };
  });
}

/** Settings of an index of the recorded chain with the plugins that answers about names need. */
export const v2Environment = {
  NAMESPACE: "ens-test-env",
  PLUGINS: "subgraph,ensv2,protocol-acceleration,registrars,tokenscope",
};
