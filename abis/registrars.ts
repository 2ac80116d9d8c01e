import { parseAbi } from "viem";

/** Events of base registrars (token id: labelhash). Only base.eth's has registrations with records. */
export const baseRegistrarAbi = parseAbi([
  "event NameRegistered(uint256 indexed id, address indexed owner, uint256 expires)",
  "event NameRegisteredWithRecord(uint256 indexed id, address indexed owner, uint256 expires, address resolver, uint64 ttl)",
  "event NameRenewed(uint256 indexed id, uint256 expires)",
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
]);

/** Events of the base.eth controllers, without prices. The early-access controller has no renewals. */
export const basenamesControllerAbi = parseAbi([
  "event NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 expires)",
  "event NameRenewed(string name, bytes32 indexed label, uint256 expires)",
]);

/** Events of the first .eth controller of the permanent registrar. */
export const legacyControllerAbi = parseAbi([
  "event NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 cost, uint256 expires)",
  "event NameRenewed(string name, bytes32 indexed label, uint256 cost, uint256 expires)",
]);

/** Events of the .eth controller that registers through the name wrapper. */
export const wrappedControllerAbi = parseAbi([
  "event NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires)",
  "event NameRenewed(string name, bytes32 indexed label, uint256 cost, uint256 expires)",
]);

/** Events of the .eth controller that registers unwrapped names and carries referrers. */
export const unwrappedControllerAbi = parseAbi([
  "event NameRegistered(string label, bytes32 indexed labelhash, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires, bytes32 referrer)",
  "event NameRenewed(string label, bytes32 indexed labelhash, uint256 cost, uint256 expires, bytes32 referrer)",
]);

/** Event of the contract that renews .eth names through their controller and reports who referred the renewal. */
export const referralRenewalsAbi = parseAbi([
  "event RenewalReferred(string label, bytes32 indexed labelHash, uint256 cost, uint256 duration, bytes32 referrer)",
]);

/** Events of the linea.eth controller: owner's and proof-of-humanity registrations are free. */
export const lineaControllerAbi = parseAbi([
  "event NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires)",
  "event NameRenewed(string name, bytes32 indexed label, uint256 cost, uint256 expires)",
  "event OwnerNameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 expires)",
  "event PohNameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 expires)",
]);

/** Event of the default reverse registrar and of the reverse registrars of other chains (ENSIP-19). */
export const reverseRegistrarAbi = parseAbi(["event NameForAddrChanged(address indexed addr, string name)"]);
