import { parseAbi } from "viem";

/** Function of the ENS registry that creates a subname with all of its fields. */
export const registryFunctions = parseAbi([
  "function setSubnodeRecord(bytes32 node, bytes32 label, address owner, address resolver, uint64 ttl)",
]);

/** ERC-721 functions of the `.eth` registrar, with the event of an approval. */
export const registrarFunctions = parseAbi([
  "event ApprovalForAll(address indexed owner, address indexed operator, bool approved)",
  "function setApprovalForAll(address operator, bool approved)",
  "function safeTransferFrom(address from, address to, uint256 tokenId)",
]);

/** Functions of the controller that registers unwrapped names and records a referrer (deployed in 2025). */
export const controllerFunctions = parseAbi([
  "struct Registration { string label; address owner; uint256 duration; bytes32 secret; address resolver; bytes[] data; uint8 reverseRecord; bytes32 referrer; }",
  "function register(Registration registration) payable",
  "function renew(string label, uint256 duration, bytes32 referrer) payable",
]);

/** Functions of the public resolver: address, text and content records. */
export const resolverFunctions = parseAbi([
  "function setAddr(bytes32 node, uint256 coinType, bytes a)",
  "function setText(bytes32 node, string key, string value)",
  "function setContenthash(bytes32 node, bytes hash)",
  "function multicall(bytes[] data) returns (bytes[] results)",
]);

/** Functions of the name wrapper. */
export const wrapperFunctions = parseAbi([
  "function wrapETH2LD(string label, address wrappedOwner, uint16 ownerControlledFuses, address resolver)",
  "function setSubnodeRecord(bytes32 parentNode, string label, address owner, address resolver, uint64 ttl, uint32 fuses, uint64 expiry)",
]);

/** Event of the reverse registrar under `addr.reverse`. */
export const reverseClaimAbi = parseAbi(["event ReverseClaimed(address indexed addr, bytes32 indexed node)"]);
