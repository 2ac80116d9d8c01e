import { varint } from "multiformats";
import { base32 } from "multiformats/bases/base32";
import { base36 } from "multiformats/bases/base36";
import { base64url } from "multiformats/bases/base64";
import { CID } from "multiformats/cid";
import { type DecodedRecord, dnsName, ipfsGateway, malformed, unsupported } from "./record-schemas.ts";

// Content hashes (ENSIP-7).

const keyCodec = 0x72;
const identity = 0;

function formatCid(bytes: Uint8Array): string {
  const { code, multihash } = CID.decode(bytes);
  return CID.createV1(code, multihash).toString(code === keyCodec ? base36 : base32);
}

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

type Protocol = {
  protocol: string;
  scheme: string;
  decode: (bytes: Uint8Array) => string | undefined;
  /** Where browsers find the content. */
  gateway?: string;
};

// By multicodec, with the names of `@ensdomains/content-hash`.
const protocols = new Map<number, Protocol>([
  [0xe3, { protocol: "ipfs", scheme: "ipfs", decode: formatCid, gateway: `${ipfsGateway}/ipfs/` }],
  [
    0xe4,
    {
      ...{ protocol: "swarm", scheme: "bzz", gateway: "https://gateway.ethswarm.org/bzz/" },
      decode: (bytes) => hex(CID.decode(bytes).multihash.digest),
    },
  ],
  [0xe5, { protocol: "ipns", scheme: "ipns", decode: formatIpnsName, gateway: `${ipfsGateway}/ipns/` }],
  [0x1bc, { protocol: "onion", scheme: "onion", decode: matchForm(/^[a-z2-7]{16}$/) }],
  [0x1bd, { protocol: "onion3", scheme: "onion3", decode: matchForm(/^[a-z2-7]{56}$/) }],
  [0xb19910, { protocol: "skynet", scheme: "sia", decode: matchLength(34, encodeBase64) }],
  [
    0xb29910,
    {
      ...{ protocol: "arweave", scheme: "ar", gateway: "https://arweave.net/" },
      decode: matchLength(32, encodeBase64),
    },
  ],
  [0xb69910, { protocol: "adnl", scheme: "adnl", decode: hex }],
]);

// Encoding takes time by the square of the length. Hashes are shorter.
const contentForm = /^0x(?:[0-9a-f]{2}){1,256}$/i;

/**
 * Protocol, URI and page at a public gateway of a content hash (ENSIP-7).
 * @example decodeContentHash("0xe30101701220d3…") // { protocol: "ipfs", uri: "ipfs://bafybei…", url: "https://ipfs.io/ipfs/bafybei…" }
 */
export function decodeContentHash(hash: string): DecodedRecord {
  if (!contentForm.test(hash)) return malformed;
  try {
    const bytes = Buffer.from(hash.slice(2), "hex");
    const [code, length] = varint.decode(bytes);
    const found = protocols.get(code);
    if (found === undefined) return unsupported;
    const { protocol, scheme, decode, gateway } = found;
    const content = decode(bytes.subarray(length));
    if (content === undefined) return malformed;
    return { protocol, uri: `${scheme}://${content}`, ...(gateway && { url: `${gateway}${content}` }) };
  } catch {
    // Malformed numbers and hashes.
    return malformed;
  }
}
