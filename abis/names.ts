import { parseAbi } from "viem";

const newOwner = "event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)";
const tokenTransfers = [
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)",
] as const;

/** Events of the ENS registry, old and new. */
export const registryAbi = parseAbi([
  "event Transfer(bytes32 indexed node, address owner)",
  newOwner,
  "event NewResolver(bytes32 indexed node, address resolver)",
  "event NewTTL(bytes32 indexed node, uint64 ttl)",
]);

/** Events of the name wrapper (token id: the node). */
export const nameWrapperAbi = parseAbi([
  "event NameWrapped(bytes32 indexed node, bytes name, address owner, uint32 fuses, uint64 expiry)",
  "event NameUnwrapped(bytes32 indexed node, address owner)",
  "event FusesSet(bytes32 indexed node, uint32 fuses)",
  "event ExpiryExtended(bytes32 indexed node, uint64 expiry)",
  ...tokenTransfers,
]);

/** ERC-1155: the owner of one or of several tokens changed. */
export const erc1155TransferAbi = parseAbi(tokenTransfers);

/** The event of a filled order, the same in Seaport 1.5 and 1.6. */
export const seaportAbi = parseAbi([
  "struct SpentItem { uint8 itemType; address token; uint256 identifier; uint256 amount; }",
  "struct ReceivedItem { uint8 itemType; address token; uint256 identifier; uint256 amount; address recipient; }",
  "event OrderFulfilled(bytes32 orderHash, address indexed offerer, address indexed zone, address recipient, SpentItem[] offer, ReceivedItem[] consideration)",
]);

/** Events of the 3DNS token (token id: the node). */
export const threednsTokenAbi = parseAbi([
  newOwner,
  "event Transfer(bytes32 indexed node, address owner)",
  "event RegistrationCreated(bytes32 indexed node, bytes32 indexed tld, bytes fqdn, address registrant, uint32 controlBitmap, uint64 expiry)",
  "event RegistrationExtended(bytes32 indexed node, uint64 indexed duration, uint64 indexed newExpiry)",
  ...tokenTransfers,
]);

/** The function of the 3DNS token that returns a token's metadata document. */
export const threednsMetadataAbi = parseAbi(["function uri(uint256 tokenId) view returns (string)"]);
