import { parseAbi } from "viem";

const recordEvents = [
  "event AddrChanged(bytes32 indexed node, address a)",
  "event AddressChanged(bytes32 indexed node, uint256 coinType, bytes newAddress)",
  "event NameChanged(bytes32 indexed node, string name)",
  "event ABIChanged(bytes32 indexed node, uint256 indexed contentType)",
  "event PubkeyChanged(bytes32 indexed node, bytes32 x, bytes32 y)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
  "event ContenthashChanged(bytes32 indexed node, bytes hash)",
  "event VersionChanged(bytes32 indexed node, uint64 newVersion)",
] as const;

const dnsRecordEvents = [
  "event DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)",
  "event DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
  "event DNSRecordDeleted(bytes32 indexed node, bytes name, uint16 resource)",
] as const;

/** Events of resolvers that the subgraph knows, in all forms that were ever deployed. */
export const resolverAbi = parseAbi([
  ...recordEvents,
  "event InterfaceChanged(bytes32 indexed node, bytes4 indexed interfaceID, address implementer)",
  "event AuthorisationChanged(bytes32 indexed node, address indexed owner, address indexed target, bool isAuthorised)",
]);

/** DNS record events of resolvers: read as text records outside subgraph mode. */
export const dnsResolverAbi = parseAbi(dnsRecordEvents);

/** Resolver events that carry a record's value, in all forms that were ever deployed. */
export const resolverRecordsAbi = parseAbi([
  ...recordEvents,
  ...dnsRecordEvents,
  "event DNSZonehashChanged(bytes32 indexed node, bytes lastzonehash, bytes zonehash)",
  "event DataChanged(bytes32 indexed node, string indexed indexedKey, string key, bytes indexed indexedData)",
]);

/** The older form of TextChanged, which does not carry the value. */
export const textChanged = "TextChanged(bytes32 indexed node, string indexed indexedKey, string key)";

/** The function that reads a text record, for resolvers whose event does not carry the value. */
export const textRecordAbi = parseAbi(["function text(bytes32 node, string key) view returns (string)"]);

/** The universal resolver's look-up of the resolver that answers for a name (ENSIP-10). */
export const universalResolverAbi = parseAbi([
  "function findResolver(bytes name) view returns (address resolver, bytes32 node, uint256 offset)",
]);

/** The registry's look-up of a node's own resolver. */
export const registryReadAbi = parseAbi(["function resolver(bytes32 node) view returns (address)"]);

/** Functions of resolvers (ENSIP-1, 3, 5, 7, 9, 10, 24; EIP-165, 205, 619). */
export const resolverReadAbi = parseAbi([
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
  "function resolve(bytes name, bytes data) view returns (bytes)",
  "function name(bytes32 node) view returns (string)",
  "function addr(bytes32 node) view returns (address)",
  "function addr(bytes32 node, uint256 coinType) view returns (bytes)",
  "function text(bytes32 node, string key) view returns (string)",
  "function data(bytes32 node, string key) view returns (bytes)",
  "function contenthash(bytes32 node) view returns (bytes)",
  "function pubkey(bytes32 node) view returns (bytes32 x, bytes32 y)",
  "function zonehash(bytes32 node) view returns (bytes)",
  "function recordVersions(bytes32 node) view returns (uint64)",
  "function ABI(bytes32 node, uint256 contentTypes) view returns (uint256, bytes)",
  "function interfaceImplementer(bytes32 node, bytes4 interfaceId) view returns (address)",
]);
