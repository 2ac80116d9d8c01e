import type { Hex } from "viem";
import type { Namespace } from "./deployment.ts";
import { ensv2Datasources } from "./ensv2.ts";

/** What a name can be paid in: ETH and WETH in wei, USDC with 6 decimals, DAI with 18. */
export type Currency = "ETH" | "WETH" | "USDC" | "DAI";

/** The currency of a token address on a chain; undefined if unsupported. The native one has the zero address. */
export type CurrencyOf = (chainId: number, token: Hex) => Currency | undefined;

const tokenNames = ["WETH", "USDC", "DAI"] as const;

// The issuers' own addresses, by chain id.
const tokens: Record<number, Partial<Record<Currency, Hex>>> = {
  1: {
    WETH: "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
    USDC: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
    DAI: "0x6b175474e89094c44da98b954eedeac495271d0f",
  },
  10: {
    WETH: "0x4200000000000000000000000000000000000006",
    USDC: "0x0b2c639c533813f4aa9d7837caf62653d097ff85",
    DAI: "0xda10009cbd5d07dd0cecc66161fc93d7c9000da1",
  },
  8453: {
    WETH: "0x4200000000000000000000000000000000000006",
    USDC: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
    DAI: "0x50c5725949a6f0c72e6c4a641f24049a917db0cb",
  },
  59144: {
    WETH: "0xe5d7c2a44ffddf6b295a15c148167daaaf5cf34f",
    USDC: "0x176211869ca2b568f2a7d4ee941e073a821ee1ff",
    DAI: "0x4af15ec2a0bd43db75dd04e62faa3b8ef36b00d5",
  },
  84532: {
    WETH: "0x4200000000000000000000000000000000000006",
    USDC: "0x036cbd53842c5426634e7929541ec2318f3dcf7e",
  },
  11155111: {
    WETH: "0xfff9976782d46cc05630d1f6ebab18b2324d6b14",
    USDC: "0x1c7d4b196cb0c7b01d743fbc6116a902379c7238",
    DAI: "0x3e622317f8c93f7328350cf0b56d9ed4c620c5d6",
  },
};

/**
 * Look-up of the currencies of a namespace's chains. Contracts named WETH, USDC or DAI in the datasource `seaport` or in a set of
 * ENSv2 count too, for networks with their own tokens; those of `seaport` replace the built-in addresses on its chain.
 */
export function currencies(namespace: Namespace): CurrencyOf {
  const byToken = new Map<string, Currency>();
  for (const [chainId, addresses] of Object.entries(tokens)) {
    for (const name of tokenNames) if (addresses[name]) byToken.set(`${chainId}:${addresses[name]}`, name);
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
