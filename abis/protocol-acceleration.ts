import { parseAbi } from "viem";

/** Registry events that move resolvers. */
export const registryResolverAbi = parseAbi([
  "event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)",
  "event NewResolver(bytes32 indexed node, address resolver)",
]);

/** Resolver events that tell a record's value, in all forms that were ever deployed. */
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

/** Event of the 3DNS token that makes a name. */
export const threednsNamesAbi = parseAbi([
  "event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)",
]);

/** The function that reads a text record, for resolvers whose event does not tell the value. */
export const textRecordAbi = parseAbi(["function text(bytes32 node, string key) view returns (string)"]);
