import type { Hex } from "viem";
import { findChain, type PaymentToken } from "./chains.ts";
import type { Namespace } from "./deployment.ts";
import { ensv2Datasources } from "./ensv2.ts";

/** What a name can be paid in; ETH in wei. */
export type Currency = "ETH" | PaymentToken;

/** The currency of a token address on a chain; undefined if unsupported. ETH has the zero address. */
export type CurrencyOf = (chainId: number, token: Hex) => Currency | undefined;

const tokenNames = ["WETH", "USDC", "DAI"] as const;

/**
 * Lookup of currencies by token. Contracts named WETH, USDC or DAI under `seaport` or in a set of ENSv2 add to the
 * built-in ones.
 */
export function currencies(namespace: Namespace): CurrencyOf {
  const byToken = new Map<string, Currency>();
  for (const chainId of new Set(Object.values(namespace).map((source) => source.chainId))) {
    const { tokens } = findChain(chainId);
    for (const name of tokenNames) if (tokens?.[name]) byToken.set(`${chainId}:${tokens[name]}`, name);
  }
  for (const datasourceId of [...ensv2Datasources, "seaport"]) {
    const source = namespace[datasourceId];
    for (const name of tokenNames) {
      const address = source?.contracts[name]?.address;
      if (source && address) byToken.set(`${source.chainId}:${address.toLowerCase()}`, name);
    }
  }
  return (chainId, token) =>
    /^0x0{40}$/.test(token) ? "ETH" : byToken.get(`${chainId}:${token.toLowerCase()}`);
}
