import { varint } from "multiformats";
import { base32 } from "multiformats/bases/base32";
import { base36 } from "multiformats/bases/base36";
import { base64url } from "multiformats/bases/base64";
import { CID } from "multiformats/cid";
import { z } from "zod/v4";

const keyCodec = 0x72;
const identity = 0;

function formatCid(bytes: Uint8Array): string {
  const { code, multihash } = CID.decode(bytes);
  return CID.createV1(code, multihash).toString(code === keyCodec ? base36 : base32);
}

const dnsName = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/i;
const decodeLatin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

// A key, or in old records a name of DNS in place of one, which is shorter than a key.
function formatIpnsName(bytes: Uint8Array): string | undefined {
  const { code, multihash } = CID.decode(bytes);
  const text = multihash.code === identity ? decodeLatin1(multihash.digest) : "";
  if (dnsName.test(text)) return text;
  const isKey = multihash.code !== identity || multihash.size >= 36;
  return isKey ? CID.createV1(code, multihash).toString(base36) : undefined;
}

const matchForm = (form: RegExp) => (bytes: Uint8Array) =>
  form.test(decodeLatin1(bytes)) ? decodeLatin1(bytes) : undefined;
const matchLength = (length: number, encode: (bytes: Uint8Array) => string) => (bytes: Uint8Array) =>
  bytes.length === length ? encode(bytes) : undefined;
const hex = matchLength(32, (bytes) => Buffer.from(bytes).toString("hex"));
const encodeBase64 = (bytes: Uint8Array) => base64url.encode(bytes).slice(1);

// By multicodec, as `@ensdomains/content-hash` has them: the scheme of the URI, and what follows it.
const protocols = new Map<number, [scheme: string, decode: (bytes: Uint8Array) => string | undefined]>([
  [0xe3, ["ipfs", formatCid]],
  [0xe4, ["bzz", (bytes) => hex(CID.decode(bytes).multihash.digest)]],
  [0xe5, ["ipns", formatIpnsName]],
  [0x1bc, ["onion", matchForm(/^[a-z2-7]{16}$/)]],
  [0x1bd, ["onion3", matchForm(/^[a-z2-7]{56}$/)]],
  [0xb19910, ["sia", matchLength(34, encodeBase64)]],
  [0xb29910, ["ar", matchLength(32, encodeBase64)]],
  [0xb69910, ["adnl", hex]],
]);

// Encoding takes time by the square of the length. Hashes are shorter.
const form = /^0x(?:[0-9a-f]{2}){1,256}$/i;

/**
 * The URI of a content hash (ENSIP-7); undefined for other protocols, and for bytes that are not what their protocol
 * has.
 * @example decodeContentHash("0xe30101701220d3…") // "ipfs://bafybei…"
 */
export function decodeContentHash(hash: string): string | undefined {
  if (!form.test(hash)) return undefined;
  try {
    const bytes = Buffer.from(hash.slice(2), "hex");
    const [code, length] = varint.decode(bytes);
    const [scheme, decode] = protocols.get(code) ?? [];
    const decoded = decode?.(bytes.subarray(length));
    return decoded === undefined ? undefined : `${scheme}://${decoded}`;
  } catch {
    // Malformed numbers and hashes.
    return undefined;
  }
}

/** The schema of a decoded content hash. */
export const uriSchema = z
  .string()
  .describe(
    "The URI of a content hash: `ipfs:`, `ipns:`, `bzz:`, `onion:`, `onion3:`, `sia:`, `ar:` or `adnl:`",
  );

/** The schema of decoded records. */
export const decodedSchema = z.strictObject({ contenthash: uriSchema });

/** The member `decoded` of an object with a content hash; nothing if there is none that can be decoded. */
export function describeContentHash(contenthash: string | null | undefined) {
  const uri = decodeContentHash(contenthash ?? "");
  return uri === undefined ? {} : { decoded: { contenthash: uri } };
}
