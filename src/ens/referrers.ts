import type { Hex } from "viem";
import { zeroAddress } from "./nodes.ts";

const padding = `0x${"0".repeat(24)}`;

/** Address that the 32 bytes of a referrer stand for: behind 12 zero bytes; the zero address if they are no address. */
export function decodedReferrer(encoded: Hex): Hex {
  const bytes = encoded.toLowerCase();
  return bytes.startsWith(padding) ? `0x${bytes.slice(padding.length)}` : zeroAddress;
}
