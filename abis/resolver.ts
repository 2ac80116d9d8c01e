import { parseAbi } from "viem";

/** Events of resolvers that the subgraph knows, in all forms that were ever deployed. */
export const resolverAbi = parseAbi([
  "event AddrChanged(bytes32 indexed node, address a)",
  "event AddressChanged(bytes32 indexed node, uint256 coinType, bytes newAddress)",
  "event NameChanged(bytes32 indexed node, string name)",
  "event ABIChanged(bytes32 indexed node, uint256 indexed contentType)",
  "event PubkeyChanged(bytes32 indexed node, bytes32 x, bytes32 y)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
  "event ContenthashChanged(bytes32 indexed node, bytes hash)",
  "event InterfaceChanged(bytes32 indexed node, bytes4 indexed interfaceID, address implementer)",
  "event AuthorisationChanged(bytes32 indexed node, address indexed owner, address indexed target, bool isAuthorised)",
  "event VersionChanged(bytes32 indexed node, uint64 newVersion)",
]);

/** DNS record events of resolvers: read as text records outside subgraph mode. */
export const dnsResolverAbi = parseAbi([
  "event DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)",
  "event DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
  "event DNSRecordDeleted(bytes32 indexed node, bytes name, uint16 resource)",
]);

/** Resolver events that carry a record's value, in all forms that were ever deployed. */
export const resolverRecordsAbi = parseAbi([
  "event AddrChanged(bytes32 indexed node, address a)",
  "event AddressChanged(bytes32 indexed node, uint256 coinType, bytes newAddress)",
  "event NameChanged(bytes32 indexed node, string name)",
  "event ABIChanged(bytes32 indexed node, uint256 indexed contentType)",
  "event PubkeyChanged(bytes32 indexed node, bytes32 x, bytes32 y)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
  "event ContenthashChanged(bytes32 indexed node, bytes hash)",
  "event VersionChanged(bytes32 indexed node, uint64 newVersion)",
  "event DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)",
  "event DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
  "event DNSRecordDeleted(bytes32 indexed node, bytes name, uint16 resource)",
  "event DNSZonehashChanged(bytes32 indexed node, bytes lastzonehash, bytes zonehash)",
]);

/** The function that reads a text record, for resolvers whose event does not carry the value. */
export const textRecordAbi = parseAbi(["function text(bytes32 node, string key) view returns (string)"]);
