import { decodeContentHash } from "./content-hashes.ts";
import { decodeAddress } from "./native-addresses.ts";
import { decodeText } from "./profile-texts.ts";
import { type DecodedRecord, malformed } from "./record-schemas.ts";

// What records stand for: native addresses, URIs and pages. Records are texts and bytes of anybody, so each rule has a
// form that the value must have, and nothing here throws.

type ValuesByKey = Readonly<Record<string, string | null>>;
type RecordValues = {
  addresses?: ValuesByKey | undefined;
  texts?: ValuesByKey | undefined;
  data?: ValuesByKey | undefined;
  contenthash?: string | null | undefined;
};

// Anybody may store an address for each of 2^31 chains.
const maxAddresses = 200;

/** The member `decoded` of an object with records of a name; nothing if no rule covers any. */
export function describeRecords(name: string, { addresses, texts, data, contenthash }: RecordValues) {
  const decodeAll = (prefix: string, values: ValuesByKey = {}, max = Number.POSITIVE_INFINITY) => {
    const entries = Object.entries(values).slice(0, max);
    const decoded = entries.flatMap(([key, value]) => {
      const found = value === null ? undefined : decodeRecord(name, `${prefix}${key}`, value);
      return found === undefined ? [] : [[key, found] as const];
    });
    return decoded.length === 0 ? undefined : Object.fromEntries(decoded);
  };
  const decoded = {
    addresses: decodeAll("addr:", addresses, maxAddresses),
    texts: decodeAll("text:", texts),
    data: decodeAll("data:", data),
    contenthash: contenthash ? decodeContentHash(contenthash) : undefined,
  };
  return Object.values(decoded).some((kind) => kind !== undefined) ? { decoded } : {};
}

/** A record of a name by its key (`addr:60`, `text:url`, `avatar`, `data:abc`, `contenthash`), if a rule covers it. */
export function decodeRecord(name: string, key: string, value: string): DecodedRecord | undefined {
  if (key.startsWith("addr:")) return decodeAddress(key.slice("addr:".length), value);
  if (key.startsWith("data:")) return decodeData(value);
  if (key === "contenthash") return decodeContentHash(value);
  return key === "name" ? undefined : decodeText(name, key.replace(/^text:/, ""), value);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

// ENSIP-24 leaves the meaning of bytes to the key: what reads as a text is one.
function decodeData(value: string): DecodedRecord {
  if (!/^0x(?:[0-9a-f]{2}){1,4096}$/i.test(value)) return malformed;
  try {
    const text = utf8.decode(Buffer.from(value.slice(2), "hex"));
    return /[\p{Cc}\p{Cs}]/u.test(text.replaceAll(/[\t\n\r]/g, "")) ? { reason: "binary" } : { text };
  } catch {
    return { reason: "binary" };
  }
}
