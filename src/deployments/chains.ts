import type { Hex } from "viem";

/** Tokens that a name can be paid in besides ETH: WETH in wei, USDC with 6 decimals, DAI with 18. */
export type PaymentToken = "WETH" | "USDC" | "DAI";

type Chain = {
  /** In logs and metrics. */
  name: string;
  /** In `/v1`, if names live there. */
  network?: string;
  /** Its names at hosted providers. QuickNode serves mainnet under the endpoint's name alone (""). */
  providers?: { alchemy?: string; quicknode?: string; drpc?: string };
  /** The issuers' own addresses. */
  tokens?: { readonly [Name in PaymentToken]?: Hex };
};

const wethOfOpStack = "0x4200000000000000000000000000000000000006";

const chains: Readonly<Record<number, Chain>> = {
  1: {
    name: "mainnet",
    network: "ethereum",
    providers: { alchemy: "eth-mainnet", quicknode: "", drpc: "ethereum" },
    tokens: {
      WETH: "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
      USDC: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
      DAI: "0x6b175474e89094c44da98b954eedeac495271d0f",
    },
  },
  10: {
    name: "optimism",
    network: "optimism",
    providers: { alchemy: "opt-mainnet", quicknode: "optimism", drpc: "optimism" },
    tokens: {
      WETH: wethOfOpStack,
      USDC: "0x0b2c639c533813f4aa9d7837caf62653d097ff85",
      DAI: "0xda10009cbd5d07dd0cecc66161fc93d7c9000da1",
    },
  },
  8453: {
    name: "base",
    network: "base",
    providers: { alchemy: "base-mainnet", quicknode: "base-mainnet", drpc: "base" },
    tokens: {
      WETH: wethOfOpStack,
      USDC: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
      DAI: "0x50c5725949a6f0c72e6c4a641f24049a917db0cb",
    },
  },
  17000: { name: "holesky", network: "ethereum-holesky" },
  31337: { name: "local" },
  42161: {
    name: "arbitrum",
    providers: { alchemy: "arb-mainnet", quicknode: "arbitrum-mainnet", drpc: "arbitrum" },
  },
  59141: {
    name: "linea-sepolia",
    network: "linea-sepolia",
    providers: { alchemy: "linea-sepolia", drpc: "linea-sepolia" },
  },
  59144: {
    name: "linea",
    network: "linea",
    providers: { alchemy: "linea-mainnet", quicknode: "linea-mainnet", drpc: "linea" },
    tokens: {
      WETH: "0xe5d7c2a44ffddf6b295a15c148167daaaf5cf34f",
      USDC: "0x176211869ca2b568f2a7d4ee941e073a821ee1ff",
      DAI: "0x4af15ec2a0bd43db75dd04e62faa3b8ef36b00d5",
    },
  },
  84532: {
    name: "base-sepolia",
    network: "base-sepolia",
    providers: { alchemy: "base-sepolia", quicknode: "base-sepolia", drpc: "base-sepolia" },
    tokens: { WETH: wethOfOpStack, USDC: "0x036cbd53842c5426634e7929541ec2318f3dcf7e" },
  },
  421614: {
    name: "arbitrum-sepolia",
    providers: { alchemy: "arb-sepolia", quicknode: "arbitrum-sepolia", drpc: "arbitrum-sepolia" },
  },
  534351: {
    name: "scroll-sepolia",
    providers: { alchemy: "scroll-sepolia", quicknode: "scroll-testnet", drpc: "scroll-sepolia" },
  },
  534352: {
    name: "scroll",
    providers: { alchemy: "scroll-mainnet", quicknode: "scroll-mainnet", drpc: "scroll" },
  },
  11155111: {
    name: "sepolia",
    network: "ethereum-sepolia",
    providers: { alchemy: "eth-sepolia", quicknode: "ethereum-sepolia", drpc: "ethereum-sepolia" },
    tokens: {
      WETH: "0xfff9976782d46cc05630d1f6ebab18b2324d6b14",
      USDC: "0x1c7d4b196cb0c7b01d743fbc6116a902379c7238",
      DAI: "0x3e622317f8c93f7328350cf0b56d9ed4c620c5d6",
    },
  },
  11155420: {
    name: "optimism-sepolia",
    providers: { alchemy: "opt-sepolia", quicknode: "optimism-sepolia", drpc: "optimism-sepolia" },
  },
  15658733: { name: "ens-test-env" },
  15658734: { name: "ens-test-env-l2" },
};

/** What is known of a chain; an unknown one is named by its id. */
export const findChain = (id: number): Chain & { network: string } => {
  const chain = chains[id] ?? { name: `chain-${id}` };
  return { ...chain, network: chain.network ?? `chain-${id}` };
};
