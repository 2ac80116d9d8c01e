import { digestLength, digestOfText } from "../ens/keccak.ts";

// Labelhashes as their 32 bytes, lists of them one after another, for the innermost loops.

/**
 * Writes the bytes of a canonical labelhash (`0x` and 64 lower-case digits) at `start`. False if `text` is anything else;
 * the bytes written are then meaningless.
 * @example writeDigest("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0", new Uint8Array(32)) // true
 */
export function writeDigest(text: string, target: Uint8Array, start = 0): boolean {
  if (text.length !== 2 + 2 * digestLength || !text.startsWith("0x")) return false;
  let codes = 0;
  let values = 0;
  for (let i = 0; i < digestLength; i++) {
    const high = text.charCodeAt(2 * i + 2);
    const low = text.charCodeAt(2 * i + 3);
    const value = ((digitValues[high & 127] ?? 0) << 4) | (digitValues[low & 127] ?? 0);
    target[start + i] = value;
    codes |= high | low;
    values |= value;
  }
  // Checked once for all digits: all are ASCII, all are hex digits.
  return codes < 128 && values < 256;
}

/**
 * As `writeDigest`, of a labelhash that is text in `bytes`, from `at` on.
 * @example readDigest(Buffer.from("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"), 0, new Uint8Array(32)) // true
 */
export function readDigest(bytes: Uint8Array, at: number, target: Uint8Array, start = 0): boolean {
  if (bytes[at] !== zero || bytes[at + 1] !== x) return false;
  let values = 0;
  for (let i = 0, digit = at + 2; i < digestLength; i++, digit += 2) {
    const high = digitValues[bytes[digit] ?? 0] ?? 0;
    const low = digitValues[bytes[digit + 1] ?? 0] ?? 0;
    const value = (high << 4) | low;
    target[start + i] = value;
    values |= value;
  }
  return values < 256;
}

const [zero, x] = [0x30, 0x78];
const digitValues = new Uint16Array(256).fill(256);
for (const [value, digit] of [..."0123456789abcdef"].entries()) digitValues[digit.charCodeAt(0)] = value;

/**
 * The key under which a label is stored: the first 52 bits of its labelhash, which a JavaScript number holds exactly.
 * Labels that share a key are distinguished by their keccak-256; the second one is kept in `collisions`.
 * @example labelKey(digestOfText("eth")) // 0x4f5b812789fc6
 */
export function labelKey(digests: Uint8Array, start = 0): number {
  const byte = (i: number) => digests[start + i] ?? 0;
  const first = ((byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3)) >>> 0;
  return first * 2 ** 20 + ((byte(4) << 12) | (byte(5) << 4) | (byte(6) >> 4));
}

/**
 * Whether the 32 bytes from `start` on are the keccak-256 of the label's UTF-8 bytes.
 * @example isPreimage("eth", Buffer.from(digestOfText("eth"))) // true
 */
export function isPreimage(label: string, digests: Uint8Array, start = 0): boolean {
  const digest = digestOfText(label);
  let difference = 0;
  for (let i = 0; i < digestLength; i++) difference |= (digest[i] ?? 0) ^ (digests[start + i] ?? 0);
  return difference === 0;
}
