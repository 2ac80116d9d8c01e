import type { Hex } from "viem";
import { keccak256 } from "./keccak.ts";

/** Node of the root. */
export const rootNode: Hex = `0x${"0".repeat(64)}`;

/** Node of `addr.reverse`, whose subnames are the hex addresses of accounts. */
export const addrReverseNode: Hex = "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2";

/** The zero address, which stands for nobody. */
export const zeroAddress: Hex = `0x${"0".repeat(40)}`;

/**
 * Node of the direct subname of `parentNode` whose label hashes to `labelhash` (ENSIP-1).
 * @example subnode(rootNode, labelhash("eth")) // "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae"
 */
export function subnode(parentNode: Hex, labelhash: Hex): Hex {
  return keccak256(Buffer.from(parentNode.slice(2) + labelhash.slice(2), "hex"));
}

/** Token id as 32 bytes: the labelhash for a base registrar, the node for a name wrapper. */
export function tokenIdToHex(tokenId: bigint): Hex {
  return `0x${tokenId.toString(16).padStart(64, "0")}`;
}

/**
 * CAIP-10 id of an account or contract, in lower case.
 * @example accountId(1, "0x57f1887a8BF19b14fC0dF6Fd9B2acc9Af147eA85") // "eip155:1:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85"
 */
export function accountId(chainId: number, address: Hex): string {
  return `eip155:${chainId}:${address.toLowerCase()}`;
}

type Token = { chainId: number; assetNamespace: "erc721" | "erc1155"; contract: Hex; tokenId: bigint };

/**
 * CAIP-19 id of a token, in lower case, with the token id as 32 bytes of hex.
 * @example assetId({ chainId: 1, assetNamespace: "erc1155", contract: "0xD4416b13d2b3a9aBae7AcD5D6C2BbDBE25686401", tokenId: 255n }) // "eip155:1/erc1155:0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401/0x00000000000000000000000000000000000000000000000000000000000000ff"
 */
export function assetId({ chainId, assetNamespace, contract, tokenId }: Token): string {
  return `eip155:${chainId}/${assetNamespace}:${contract.toLowerCase()}/${tokenIdToHex(tokenId)}`;
}
