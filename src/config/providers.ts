type ProviderNetworks = { alchemy?: string; quicknode?: string; drpc?: string };

// Network names of the hosted providers. QuickNode serves mainnet under the endpoint's name alone ("").
const providerNetworks: Record<number, ProviderNetworks> = {
  1: { alchemy: "eth-mainnet", quicknode: "", drpc: "ethereum" },
  10: { alchemy: "opt-mainnet", quicknode: "optimism", drpc: "optimism" },
  8453: { alchemy: "base-mainnet", quicknode: "base-mainnet", drpc: "base" },
  42161: { alchemy: "arb-mainnet", quicknode: "arbitrum-mainnet", drpc: "arbitrum" },
  59141: { alchemy: "linea-sepolia", drpc: "linea-sepolia" },
  59144: { alchemy: "linea-mainnet", quicknode: "linea-mainnet", drpc: "linea" },
  84532: { alchemy: "base-sepolia", quicknode: "base-sepolia", drpc: "base-sepolia" },
  421614: { alchemy: "arb-sepolia", quicknode: "arbitrum-sepolia", drpc: "arbitrum-sepolia" },
  534351: { alchemy: "scroll-sepolia", quicknode: "scroll-testnet", drpc: "scroll-sepolia" },
  534352: { alchemy: "scroll-mainnet", quicknode: "scroll-mainnet", drpc: "scroll" },
  11155111: { alchemy: "eth-sepolia", quicknode: "ethereum-sepolia", drpc: "ethereum-sepolia" },
  11155420: { alchemy: "opt-sepolia", quicknode: "optimism-sepolia", drpc: "optimism-sepolia" },
};

export type ProviderKeys = {
  alchemy?: string;
  quicknode?: string;
  quicknodeEndpoint?: string;
  drpc?: string;
};

/** URLs of the hosted providers for a chain, for the keys that are set: Alchemy, QuickNode, dRPC; then Alchemy's websocket. */
export function providerUrls(chainId: number, keys: ProviderKeys): RpcUrls | undefined {
  const networks = providerNetworks[chainId];
  if (networks === undefined) return undefined;
  const alchemy = keys.alchemy && networks.alchemy && `${networks.alchemy}.g.alchemy.com/v2/${keys.alchemy}`;
  const quicknodeHost =
    networks.quicknode !== undefined &&
    [keys.quicknodeEndpoint, networks.quicknode].filter(Boolean).join(".");
  const http = [
    alchemy && `https://${alchemy}`,
    keys.quicknode && quicknodeHost && `https://${quicknodeHost}.quiknode.pro/${keys.quicknode}`,
    keys.drpc && networks.drpc && `https://lb.drpc.live/${networks.drpc}/${keys.drpc}`,
  ].filter((url) => typeof url === "string" && url !== "");
  if (http.length === 0) return undefined;
  return { http: http as string[], ...(alchemy ? { ws: `wss://${alchemy}` } : {}) };
}

/** The URLs under which a chain is read: one or more http(s), at most one ws(s). */
export type RpcUrls = { http: string[]; ws?: string };
