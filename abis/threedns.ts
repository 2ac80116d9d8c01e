import { parseAbi } from "viem";

/** Events of the 3DNS token (token id: the node). */
export const threednsTokenAbi = parseAbi([
  "event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)",
  "event Transfer(bytes32 indexed node, address owner)",
  "event RegistrationCreated(bytes32 indexed node, bytes32 indexed tld, bytes fqdn, address registrant, uint32 controlBitmap, uint64 expiry)",
  "event RegistrationExtended(bytes32 indexed node, uint64 indexed duration, uint64 indexed newExpiry)",
]);

/** The function of the 3DNS token that returns a token's metadata document. */
export const threednsMetadataAbi = parseAbi(["function uri(uint256 tokenId) view returns (string)"]);

/** DNS record events of the 3DNS resolver: the form with a time to live, and deletion. */
export const threednsDnsResolverAbi = parseAbi([
  "event DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
  "event DNSRecordDeleted(bytes32 indexed node, bytes name, uint16 resource)",
]);

/** Event of the 3DNS token that creates a name. */
export const threednsNamesAbi = parseAbi([
  "event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)",
]);
