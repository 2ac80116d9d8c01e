import { concatHex, type Hex, hexToBytes, keccak256, zeroHash } from "viem";

/** A name in DNS form: the node of each of its suffixes, from the whole name to the root, and where it begins. */
export function suffixesOf(dnsName: Hex): { node: Hex; offset: number }[] {
  const bytes = hexToBytes(dnsName);
  const labels: { label: Uint8Array; offset: number }[] = [];
  for (let offset = 0; (bytes[offset] ?? 0) > 0; offset += 1 + (bytes[offset] ?? 0)) {
    labels.push({ label: bytes.subarray(offset + 1, offset + 1 + (bytes[offset] ?? 0)), offset });
  }
  const end = labels.reduce((sum, { label }) => sum + 1 + label.length, 0);
  const suffixes = [{ node: zeroHash as Hex, offset: end }];
  for (const { label, offset } of labels.toReversed()) {
    const [above = { node: zeroHash }] = suffixes;
    suffixes.unshift({ node: keccak256(concatHex([above.node, labelhashOfBytes(label)])), offset });
  }
  return suffixes;
}

// ENSIP-10's resolvers read `[<64 hex digits>]` as the hash of a label that is too long for the DNS form.
function labelhashOfBytes(label: Uint8Array): Hex {
  const [, digits] = /^\[([0-9a-f]{64})\]$/.exec(Buffer.from(label).toString("latin1")) ?? [];
  return digits === undefined ? keccak256(label) : `0x${digits}`;
}

/** The first label of a name in DNS form. */
export function firstLabel(dnsName: Hex): string {
  const bytes = hexToBytes(dnsName);
  return Buffer.from(bytes.subarray(1, 1 + (bytes[0] ?? 0))).toString("utf8");
}
