import { parseAbi } from "viem";

/** ENS registry: the events and functions that the scenario plays. */
export const registryAbi = parseAbi([
  "event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)",
  "event Transfer(bytes32 indexed node, address owner)",
  "event NewResolver(bytes32 indexed node, address resolver)",
  "function setSubnodeRecord(bytes32 node, bytes32 label, address owner, address resolver, uint64 ttl)",
  "function setResolver(bytes32 node, address resolver)",
]);

/** ERC-721 registrar of `.eth` names. */
export const baseRegistrarAbi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
  "event NameRegistered(uint256 indexed id, address indexed owner, uint256 expires)",
  "event NameRenewed(uint256 indexed id, uint256 expires)",
  "event ApprovalForAll(address indexed owner, address indexed operator, bool approved)",
  "function setApprovalForAll(address operator, bool approved)",
  "function safeTransferFrom(address from, address to, uint256 tokenId)",
]);

/** Controller that registers unwrapped names and names a referrer (deployed in 2025). */
export const controllerAbi = parseAbi([
  "struct Registration { string label; address owner; uint256 duration; bytes32 secret; address resolver; bytes[] data; uint8 reverseRecord; bytes32 referrer; }",
  "event NameRegistered(string label, bytes32 indexed labelhash, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires, bytes32 referrer)",
  "event NameRenewed(string label, bytes32 indexed labelhash, uint256 cost, uint256 expires, bytes32 referrer)",
  "function register(Registration registration) payable",
  "function renew(string label, uint256 duration, bytes32 referrer) payable",
]);

/** Public resolver: address, text and content records. */
export const resolverAbi = parseAbi([
  "event AddrChanged(bytes32 indexed node, address a)",
  "event AddressChanged(bytes32 indexed node, uint256 coinType, bytes newAddress)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
  "event ContenthashChanged(bytes32 indexed node, bytes hash)",
  "event NameChanged(bytes32 indexed node, string name)",
  "function setAddr(bytes32 node, uint256 coinType, bytes a)",
  "function setText(bytes32 node, string key, string value)",
  "function setContenthash(bytes32 node, bytes hash)",
  "function multicall(bytes[] data) returns (bytes[] results)",
]);

/** ERC-1155 wrapper of names. */
export const nameWrapperAbi = parseAbi([
  "event NameWrapped(bytes32 indexed node, bytes name, address owner, uint32 fuses, uint64 expiry)",
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "function wrapETH2LD(string label, address wrappedOwner, uint16 ownerControlledFuses, address resolver)",
  "function setSubnodeRecord(bytes32 parentNode, string label, address owner, address resolver, uint64 ttl, uint32 fuses, uint64 expiry)",
]);

/** Reverse registrars: the one under `addr.reverse` and the one for every chain. */
export const reverseRegistrarAbi = parseAbi([
  "event ReverseClaimed(address indexed addr, bytes32 indexed node)",
  "event NameForAddrChanged(address indexed addr, string name)",
]);
