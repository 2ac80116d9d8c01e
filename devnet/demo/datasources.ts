import { fileURLToPath } from "node:url";
import type { Hex } from "viem";
import { chainIds, readTable } from "../recorded-chains.ts";

/** The datasources file for the recordings with marketplace, resolvers and bridges. */
export const demoDatasources = fileURLToPath(new URL("datasources.json", import.meta.url));

const table = readTable("demo/datasources.json");
const findAddress = (source: string, name: string) =>
  table[source]?.[chainIds.root]?.contracts[name]?.address as Hex;

/** Contracts on the root chain that the recordings lack, which lead to the names on the other chains. */
export const bridges = {
  reverseResolver: findAddress("rrRoot", "DefaultReverseResolver3"),
  baseReverseResolver: findAddress("rrRoot", "BaseReverseResolver"),
  lineaReverseResolver: findAddress("rrRoot", "LineaReverseResolver"),
  baseResolver: findAddress("ensroot", "BasenamesL1Resolver"),
  lineaResolver: findAddress("ensroot", "LineanamesL1Resolver"),
};
