import { parseAbi } from "viem";

/** Event of the contract that renews .eth names through their controller and tells who referred the renewal. */
export const referralRenewalsAbi = parseAbi([
  "event RenewalReferred(string label, bytes32 indexed labelHash, uint256 cost, uint256 duration, bytes32 referrer)",
]);
