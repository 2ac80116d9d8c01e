import type { Hex } from "viem";
import { tokenIdToHex } from "./nodes.ts";

/** Token standard of an asset id (CAIP-22 for erc721, CAIP-29 for erc1155). */
export type AssetNamespace = "erc721" | "erc1155";

/** Asset id of a token (CAIP-19), lower case, the token id as 32 bytes of hex. */
export function assetId({
  chainId,
  assetNamespace,
  contract,
  tokenId,
}: {
  chainId: number;
  assetNamespace: AssetNamespace;
  contract: Hex;
  tokenId: bigint;
}): string {
  return `eip155:${chainId}/${assetNamespace}:${contract.toLowerCase()}/${tokenIdToHex(tokenId)}`;
}
