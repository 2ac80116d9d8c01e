import type { Hex } from "viem";

/**
 * Labels of a name in DNS wire format, as raw bytes, first label first; undefined if the bytes are malformed: empty,
 * without the final zero, or with a length past the end. Bytes after the final zero are ignored.
 * @example dnsLabels("0x0474657374036574680000") // [Buffer.from("test"), Buffer.from("eth")]
 */
export function dnsLabels(wire: Hex): Buffer[] | undefined {
  const bytes = Buffer.from(wire.slice(2), "hex");
  const labels: Buffer[] = [];
  let offset = 0;
  for (;;) {
    const length = bytes[offset];
    if (length === undefined) return undefined;
    if (length === 0) return labels;
    const end = offset + 1 + length;
    if (end > bytes.length) return undefined;
    labels.push(bytes.subarray(offset + 1, end));
    offset = end;
  }
}
