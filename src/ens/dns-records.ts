import type { Hex } from "viem";
import { dnsLabels } from "./names.ts";

const txt = 16;

const keySuffix = ".ens";

type DnsRecord = { name: Hex; resource: number; record?: Hex };
type TextRecord = { key: string; value: string | undefined };

/**
 * Text record of a DNSRecordChanged or DNSRecordDeleted event: its key is the record name `<key>.ens`, its value the
 * first string of the first TXT record (ENSNode's rule). Undefined for other resources and for malformed records.
 * @example dnsTextRecord({ name: "0x0661766174617203656e7300", resource: 16 }) // { key: "avatar", value: undefined }
 */
export function dnsTextRecord({ name, resource, record }: DnsRecord): TextRecord | undefined {
  if (resource !== txt) return undefined;
  const recordName = dnsLabels(name)
    ?.map((label) => label.toString("utf8"))
    .join(".");
  if (!recordName?.endsWith(keySuffix)) return undefined;
  const key = recordName.slice(0, -keySuffix.length);
  if (record === undefined) return { key, value: undefined };
  const records = parseResourceRecords(Buffer.from(record.slice(2), "hex"));
  if (records === undefined) return undefined;
  const data = records.find(({ type }) => type === txt)?.data;
  return { key, value: data && readFirstString(data) };
}

type ResourceRecord = { type: number; data: Buffer };

// RFC 1035 section 3.2.1: one record after another. DNSSEC signs names uncompressed.
function parseResourceRecords(bytes: Buffer): ResourceRecord[] | undefined {
  const records: ResourceRecord[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const fixed = findEndOfName(bytes, offset);
    if (fixed === undefined || fixed + 10 > bytes.length) return undefined;
    const start = fixed + 10;
    const end = start + bytes.readUInt16BE(fixed + 8);
    if (end > bytes.length) return undefined;
    records.push({ type: bytes.readUInt16BE(fixed), data: bytes.subarray(start, end) });
    offset = end;
  }
  return records;
}

function findEndOfName(bytes: Buffer, start: number): number | undefined {
  let offset = start;
  for (;;) {
    const length = bytes[offset];
    if (length === undefined || length > 63) return undefined;
    offset += 1 + length;
    if (length === 0) return offset;
  }
}

// TXT data is a list of strings, each prefixed by its length.
function readFirstString(data: Buffer): string {
  return data.subarray(1, 1 + (data[0] ?? 0)).toString("utf8");
}
