import type { Hex } from "viem";
import { chainIds, type FileTable, recordedDatasources, recordingFolder } from "../recorded-chains.ts";
import { readAddresses } from "../recording.ts";

/** Contracts on the root chain that the recordings lack, which lead to the names on the other chains. */
export const bridges = {
  universalResolver: "0xdc11f7e700a4c898ae5caddb1082cffa76512add",
  reverseResolver: "0x5eb3bc0a489c5a8288765d2336659ebca68fcd00",
  baseReverseResolver: "0xba5e000000000000000000000000000000000001",
  lineaReverseResolver: "0x11ea000000000000000000000000000000000001",
  baseResolver: "0xba5e000000000000000000000000000000000002",
  lineaResolver: "0x11ea000000000000000000000000000000000002",
} as const satisfies Record<string, Hex>;

/** Text of the datasources file for the recordings with marketplace, resolvers and bridges. */
export function demoDatasources(): string {
  const root = readAddresses(recordingFolder("root"));
  const base = readAddresses(recordingFolder("base"));
  const linea = readAddresses(recordingFolder("linea"));
  const table: FileTable = recordedDatasources();
  const more: Record<string, [chain: keyof typeof chainIds, contracts: Record<string, Hex | undefined>]> = {
    ensroot: [
      "root",
      {
        UniversalResolver: bridges.universalResolver,
        BasenamesL1Resolver: bridges.baseResolver,
        LineanamesL1Resolver: bridges.lineaResolver,
      },
    ],
    rrRoot: [
      "root",
      {
        DefaultReverseResolver3: bridges.reverseResolver,
        BaseReverseResolver: bridges.baseReverseResolver,
        LineaReverseResolver: bridges.lineaReverseResolver,
      },
    ],
    seaport: ["root", { USDC: root["TestUSDC"] }],
    basenames: ["base", { L2Resolver1: base["L2Resolver1"], L2Resolver2: base["L2Resolver2"] }],
    lineanames: ["linea", { DefaultPublicResolver: linea["DefaultPublicResolver"] }],
  };
  for (const [id, [chain, addresses]] of Object.entries(more)) {
    const contracts = table[id]?.[chainIds[chain]]?.contracts;
    if (contracts === undefined) throw new Error(`The recordings have no datasource ${id}.`);
    for (const [name, address] of Object.entries(addresses)) contracts[name] = { address, startBlock: 0 };
  }
  return JSON.stringify({ "ens-test-env": table });
}
