import { parseAbi } from "viem";

/** Events of the base.eth registrar (token id: the labelhash). */
export const basenamesBaseRegistrarAbi = parseAbi([
  "event NameRegistered(uint256 indexed id, address indexed owner, uint256 expires)",
  "event NameRegisteredWithRecord(uint256 indexed id, address indexed owner, uint256 expires, address resolver, uint64 ttl)",
  "event NameRenewed(uint256 indexed id, uint256 expires)",
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
]);

/** Events of the early access controller: registrations only, without a price. */
export const earlyAccessControllerAbi = parseAbi([
  "event NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 expires)",
]);

/** Events of the controllers behind it, the upgradeable one too: no price. */
export const basenamesControllerAbi = parseAbi([
  "event NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 expires)",
  "event NameRenewed(string name, bytes32 indexed label, uint256 expires)",
]);
