import { parseAbi } from "viem";

/** Events of the linea.eth controller: owner's and proof-of-humanity registrations are free. */
export const lineanamesControllerAbi = parseAbi([
  "event NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires)",
  "event NameRenewed(string name, bytes32 indexed label, uint256 cost, uint256 expires)",
  "event OwnerNameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 expires)",
  "event PohNameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 expires)",
]);
