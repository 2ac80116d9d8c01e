import type { Hex } from "viem";
import { keccak256 } from "./keccak.ts";

/** Node of the root. */
export const rootNode: Hex = `0x${"0".repeat(64)}`;

/** Node of `addr.reverse`, whose subnames are the hex addresses of accounts. */
export const addrReverseNode: Hex = "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2";

/** The zero address: "nobody". */
export const zeroAddress: Hex = `0x${"0".repeat(40)}`;

/**
 * Node of the subname whose label hashes to `labelhash`, directly under `parentNode` (ENSIP-1).
 * @example subnode(rootNode, labelhashOf("eth")) // "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae"
 */
export function subnode(parentNode: Hex, labelhash: Hex): Hex {
  return keccak256(Buffer.from(parentNode.slice(2) + labelhash.slice(2), "hex"));
}

/**
 * The 32 bytes of a token id: the labelhash for a base registrar, the node for a name wrapper.
 * @example tokenIdToHex(255n) // "0x00000000000000000000000000000000000000000000000000000000000000ff"
 */
export function tokenIdToHex(tokenId: bigint): Hex {
  return `0x${tokenId.toString(16).padStart(64, "0")}`;
}
