import type { Hex } from "viem";

/** CAIP-10 id of an account or contract: `eip155:<chain id>:<address>`, lower case. */
export function accountId(chainId: number, address: Hex): string {
  return `eip155:${chainId}:${address.toLowerCase()}`;
}

/** Chain id and address of a CAIP-10 id; throws if it is none of an EVM chain. */
export function parseAccountId(id: string): { chainId: number; address: Hex } {
  const match = /^eip155:(\d+):(0x[0-9a-f]{40})$/.exec(id);
  if (match === null) throw new Error(`"${id}" is no account id of an EVM chain.`);
  return { chainId: Number(match[1]), address: match[2] as Hex };
}
