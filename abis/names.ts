import { parseAbi } from "viem";

const newOwner = "event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)";
const newResolver = "event NewResolver(bytes32 indexed node, address resolver)";

/** Events of the ENS registry, old and new. */
export const registryAbi = parseAbi([
  "event Transfer(bytes32 indexed node, address owner)",
  newOwner,
  newResolver,
  "event NewTTL(bytes32 indexed node, uint64 ttl)",
]);

/** Registry events that move resolvers. */
export const registryResolverAbi = parseAbi([newOwner, newResolver]);

/** Events of the name wrapper (token id: the node). */
export const nameWrapperAbi = parseAbi([
  "event NameWrapped(bytes32 indexed node, bytes name, address owner, uint32 fuses, uint64 expiry)",
  "event NameUnwrapped(bytes32 indexed node, address owner)",
  "event FusesSet(bytes32 indexed node, uint32 fuses)",
  "event ExpiryExtended(bytes32 indexed node, uint64 expiry)",
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)",
]);

/** ERC-721: the owner of a token changed. */
export const erc721TransferAbi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
]);

/** ERC-1155: the owner of one or of several tokens changed. */
export const erc1155TransferAbi = parseAbi([
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)",
]);

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
]);

/** The function of the 3DNS token that returns a token's metadata document. */
export const threednsMetadataAbi = parseAbi(["function uri(uint256 tokenId) view returns (string)"]);

/** Event of the 3DNS token that creates a name. */
export const threednsNamesAbi = parseAbi([newOwner]);
