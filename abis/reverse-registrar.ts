import { parseAbi } from "viem";

/** Event of the default reverse registrar and of the reverse registrars of other chains (ENSIP-19). */
export const reverseRegistrarAbi = parseAbi(["event NameForAddrChanged(address indexed addr, string name)"]);
