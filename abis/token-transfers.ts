import { parseAbi } from "viem";

/** ERC-721: the owner of a token changed. */
export const erc721TransferAbi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
]);

/** ERC-1155: the owner of one or of several tokens changed. */
export const erc1155TransferAbi = parseAbi([
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)",
]);
