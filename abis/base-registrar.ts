import { parseAbi } from "viem";

/** Events of the .eth base registrar (token id: the labelhash). */
export const baseRegistrarAbi = parseAbi([
  "event NameRegistered(uint256 indexed id, address indexed owner, uint256 expires)",
  "event NameRenewed(uint256 indexed id, uint256 expires)",
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
]);
