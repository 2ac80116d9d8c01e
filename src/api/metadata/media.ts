import { pipeline } from "node:stream";
import { createUnzip } from "node:zlib";
import { imageSize } from "image-size";
import { LRUCache } from "lru-cache";
import { HttpError } from "../../http/error.ts";
import { readUpTo, send } from "../../rpc/public-address.ts";
import type { Store } from "./store.ts";
import { cleanSvg } from "./svg.ts";

/** Limits of what is fetched, safe on the public internet. */
export const mediaLimits = {
  /** For one URL, redirects included. */
  timeoutMs: 10_000,
  imageBytes: 5 * 1024 * 1024,
  /** Of an SVG document, which is parsed. */
  svgBytes: 2 * 1024 * 1024,
  /** Of the metadata of a token. */
  jsonBytes: 1024 * 1024,
  redirects: 3,
  /** Pixels of a side. */
  side: 16_384,
  /** Whether hosts in private networks may be asked, for tests. */
  allowsPrivateHosts: false,
};

/** An image whose type is that of its bytes. */
export type Image = { type: string; bytes: Buffer };

/** What a URI leads to cannot be used. `status`: 404, or 504 if it did not arrive in time. */
export class MediaError extends HttpError {
  override name = "MediaError";
  constructor(message: string, status: 404 | 504 = 404) {
    super(status, message);
  }
}

// Servers accept no longer URLs.
const maxUrlCharacters = 16_384;

// Content identifiers of the lengths and bases in which libraries take them without a scheme, and those that hold their
// content.
const cid =
  /^\/?(Qm[1-9A-HJ-NP-Za-km-z]{44}|[bB][A-Za-z2-7]{58}|z[1-9A-HJ-NP-Za-km-z]{48}|F[0-9A-F]{50}|bafk[a-z2-7]{4})/;

/**
 * The URL (http, https or data) that a URI of ENSIP-12 or of a token's metadata stands for, in each form that viem or
 * `@ensdomains/ens-avatar` takes: CIDs and paths of IPFS need no scheme. Throws a MediaError for any other.
 */
export function locate(uri: string, ipfsGateway: string): URL {
  const text = parseMediaUrl(uri.trim(), `${ipfsGateway.replace(/\/+$/, "")}/`);
  const found = URL.canParse(text) ? new URL(text) : undefined;
  if (found?.protocol === "data:") return found;
  if (found && /^https?:$/.test(found.protocol) && found.href.length <= maxUrlCharacters) return found;
  throw new MediaError("The record is no URL of an image that is supported.");
}

function parseMediaUrl(given: string, gateway: string): string {
  // Metadata may have the SVG document in place of its URL.
  if (given.startsWith("<")) return `data:image/svg+xml,${encodeURIComponent(given.toWellFormed())}`;
  // Contracts leave these as they are, which URLs cut off or leave out.
  if (/^data:/i.test(given)) return given.replaceAll(/[#\t\n\r]/g, encodeURIComponent);
  if (cid.test(given)) return `${gateway}ipfs/${given.replace(/^\//, "")}`;
  const [, scheme = "", folder = scheme, path] =
    /^(?:(ipfs|ipns):)?\/*(?:(ipfs|ipns)\/)?([^/].*)$/is.exec(given) ?? [];
  if (folder !== "") return `${gateway}${folder.toLowerCase()}/${path}`;
  return given.replace(/^ar:\/+/i, "https://arweave.net/");
}

/**
 * Creates a reader of images and of metadata of tokens. What it fetched stays in the store, and failures for a minute
 * in memory.
 */
export function createMedia(options: {
  /** URL of the gateway, whose folders `ipfs` and `ipns` alone may be in a private network. */
  ipfsGateway: string;
  store?: Store | undefined;
  limits?: typeof mediaLimits;
}) {
  const { ipfsGateway, store, limits = mediaLimits } = options;
  const folders = ["ipfs", "ipns"].map(
    (folder) => `${new URL(ipfsGateway).href.replace(/\/+$/, "")}/${folder}/`,
  );
  const isOwn = ({ href }: URL) => folders.some((folder) => href.startsWith(folder));
  const failures = new LRUCache<string, MediaError>({ max: 10_000, ttl: 60_000 });

  type Wanted = { kind: string; max: number; check: (bytes: Buffer) => Buffer; signal: AbortSignal };
  async function read(uri: string, { kind, max, check, signal }: Wanted): Promise<Buffer> {
    const url = locate(uri, ipfsGateway);
    if (url.protocol === "data:") return check(await decodeDataUrl(url));
    const key = `${kind} ${url}`;
    const kept = await store?.read(key);
    if (kept !== undefined) return kept;
    const failure = failures.get(key);
    if (failure !== undefined) throw failure;
    try {
      const bytes = check(await download(url, { ...limits, max, isOwn, signal }));
      await store?.write(key, bytes);
      return bytes;
    } catch (error) {
      if (error instanceof MediaError) failures.set(key, error);
      throw error;
    }
  }

  return {
    /** The image that a URI names: a raster as it is, or an SVG document that was cleaned. Throws a MediaError. */
    async image(uri: string, signal: AbortSignal): Promise<Image> {
      const check = (bytes: Buffer) => checkImage(bytes, limits);
      const bytes = await read(uri, { kind: "image", max: limits.imageBytes, check, signal });
      return { bytes, type: isXml(bytes) ? svgType : (rasters[measureImage(bytes).type ?? ""] ?? "") };
    },
    /** The metadata of a token: a JSON object at a URI, or in its place. Throws a MediaError. */
    async metadata(uri: string, signal: AbortSignal): Promise<Record<string, unknown>> {
      // JSON that a contract wrote as it is, in a data URL too, may have what a URL would decode.
      const plain = /^\s*(?:data:[^,]*,)?\s*(\{.*)$/is.exec(uri)?.[1];
      const check = (given: Buffer) => given;
      const value =
        parseObject(plain ?? "") ??
        parseObject(String(await read(uri, { kind: "json", max: limits.jsonBytes, check, signal })));
      if (value === undefined) throw new MediaError("The metadata of the token is no JSON object.");
      return value;
    },
  };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

async function decodeDataUrl(dataUrl: URL): Promise<Buffer> {
  const response = await fetch(dataUrl).catch(() => undefined);
  if (response === undefined) throw new MediaError("The data URL is malformed.");
  return Buffer.from(await response.arrayBuffer());
}

const svgType = "image/svg+xml";
// By the names that the library has for them.
const rasters: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
};

const isXml = (bytes: Buffer) => /^(\xef\xbb\xbf)?\s*</.test(bytes.toString("latin1", 0, 1_000));

// The type is that of the first bytes. Rasters are not decoded.
function checkImage(bytes: Buffer, limits: typeof mediaLimits): Buffer {
  const isSvg = isXml(bytes);
  const max = isSvg ? limits.svgBytes : limits.imageBytes;
  const clean = bytes.length > max || !isSvg ? bytes : Buffer.from(cleanSvg(bytes.toString().trim()) ?? "");
  if (bytes.length > max || clean.length > limits.imageBytes) throw new MediaError("The image is too large.");
  const { type = "", width, height } = isSvg ? { width: 0, height: 0 } : measureImage(bytes);
  if (isSvg ? clean.length === 0 : rasters[type] === undefined)
    throw new MediaError("The record leads to no image.");
  if (Math.max(width, height) > limits.side) throw new MediaError("The image has too many pixels.");
  return clean;
}

function measureImage(bytes: Buffer): { type?: string; width: number; height: number } {
  try {
    return imageSize(bytes);
  } catch {
    return { width: 0, height: 0 };
  }
}

type Download = typeof mediaLimits & { max: number; isOwn: (url: URL) => boolean; signal: AbortSignal };

// Each host on the way is checked when it is connected to. Only what the operator's gateway has of IPFS may be in a
// private network.
async function download(first: URL, { signal: leaving, ...limits }: Download): Promise<Buffer> {
  const late = AbortSignal.timeout(limits.timeoutMs);
  let url = first;
  try {
    for (let left = limits.redirects; left >= 0; left -= 1) {
      const response = await send(url, undefined, {
        // RFC 8586: this service refuses requests that it sent itself.
        headers: { accept: "image/*, application/json", "accept-encoding": "gzip", "cdn-loop": "nsindex" },
        signal: AbortSignal.any([leaving, late]),
        allowsPrivate: limits.allowsPrivateHosts || (limits.isOwn(first) && limits.isOwn(url)),
        refusal: () => new MediaError("The record leads to a host that is not public."),
      });
      const { statusCode = 0, headers } = response.on("error", () => undefined);
      if (statusCode === 200) {
        const isPacked = /gzip|deflate/i.test(headers["content-encoding"] ?? "");
        // An error also ends the loop over it.
        const body = isPacked ? pipeline(response, createUnzip(), () => undefined) : response;
        return await readUpTo(limits.max, body, () => new MediaError("The response is too long."));
      }
      response.destroy();
      const next = statusCode >= 300 && statusCode < 400 ? (headers.location ?? "") : undefined;
      if (next === undefined) throw new MediaError(`The host responds with ${statusCode}.`);
      url = locate(URL.canParse(next, url) ? new URL(next, url).href : next, "");
      if (url.protocol === "data:") break;
    }
    throw new MediaError("The host redirects elsewhere again and again.");
  } catch (error) {
    leaving.throwIfAborted();
    if (error instanceof MediaError) throw error;
    throw late.aborted
      ? new MediaError("The host does not respond in time.", 504)
      : new MediaError("The host cannot be asked.");
  }
}
