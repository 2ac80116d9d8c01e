import { createKeccak } from "hash-wasm";
import type { Hex } from "viem";

const hasher = await createKeccak(256);

/** Length of a keccak-256 hash in bytes. */
export const digestLength = 32;

/**
 * keccak-256 of bytes, or of a text's UTF-8 bytes.
 * @example keccak256("eth") // "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"
 */
export const keccak256 = (data: Uint8Array | string): Hex => `0x${hasher.init().update(data).digest()}`;

/** keccak-256 of bytes, or of a text's UTF-8 bytes, as 32 bytes. */
export const computeDigest = (data: Uint8Array | string): Uint8Array =>
  hasher.init().update(data).digest("binary");
