import { parseAbi } from "viem";

/** The universal resolver's look-up of the resolver that answers for a name (ENSIP-10). */
export const universalResolverAbi = parseAbi([
  "function findResolver(bytes name) view returns (address resolver, bytes32 node, uint256 offset)",
]);

/** The registry's look-up of a node's own resolver. */
export const registryReadAbi = parseAbi(["function resolver(bytes32 node) view returns (address)"]);

/** What a resolver can be asked (ENSIP-1, 3, 5, 7, 9, 10; EIP-165, 205, 619). */
export const resolverReadAbi = parseAbi([
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
  "function resolve(bytes name, bytes data) view returns (bytes)",
  "function name(bytes32 node) view returns (string)",
  "function addr(bytes32 node) view returns (address)",
  "function addr(bytes32 node, uint256 coinType) view returns (bytes)",
  "function text(bytes32 node, string key) view returns (string)",
  "function contenthash(bytes32 node) view returns (bytes)",
  "function pubkey(bytes32 node) view returns (bytes32 x, bytes32 y)",
  "function zonehash(bytes32 node) view returns (bytes)",
  "function recordVersions(bytes32 node) view returns (uint64)",
  "function ABI(bytes32 node, uint256 contentTypes) view returns (uint256, bytes)",
  "function interfaceImplementer(bytes32 node, bytes4 interfaceId) view returns (address)",
]);
