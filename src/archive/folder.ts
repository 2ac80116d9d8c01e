import { lookup } from "node:dns/promises";
import { mkdir, open as openFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rpcTarget } from "../ponder/rpc-request.ts";
import { isPublicAddress } from "../rpc/public-address.ts";
import {
  ArchiveError,
  limits,
  type Manifest,
  newManifest,
  parseManifest,
  type ResultsFile,
  type Segment,
} from "./manifest.ts";
import { hashOf } from "./segment.ts";

/** Where an archive is: a folder, or the URL of one on a file host. In it, each chain has a folder named by its id. */
export type ArchivePlace = string;

const isUrl = (place: ArchivePlace) => /^https?:\/\//.test(place);

/** A place as messages name it: a folder, or the host of a URL, the rest of which may hold a key. */
export const nameOfPlace = (place: ArchivePlace) => (isUrl(place) ? new URL(place).host : place);

const chainPlace = (place: ArchivePlace, chainId: number) =>
  isUrl(place) ? `${place.replace(/\/+$/, "")}/${chainId}` : join(place, String(chainId));

/** A file as a manifest lists it. */
type Listed = Pick<Segment, "hash" | "bytes">;

// The name is the hash, which a manifest can't choose freely: no manifest names files elsewhere.
const fileName = ({ hash }: Pick<Listed, "hash">) => `${hash}.seg`;

/** The manifest of a chain; undefined if the archive has none of it. Throws an ArchiveError if it cannot be used. */
export async function readManifest(place: ArchivePlace, chainId: number): Promise<Manifest | undefined> {
  const bytes = await readBytes(`${chainPlace(place, chainId)}/manifest.json`, limits.manifest);
  return bytes && parseManifest(bytes.toString("utf8"), chainId);
}

/** The bytes of a segment, whose hash is checked. Throws an ArchiveError if it is missing or another. */
export const readSegment = (place: ArchivePlace, chainId: number, segment: Segment): Promise<Buffer> =>
  readListed(place, chainId, { kind: "Segment", ...segment });

/** The bytes of a file of results, as those of a segment. */
export const readResults = (place: ArchivePlace, chainId: number, file: ResultsFile): Promise<Buffer> =>
  readListed(place, chainId, { kind: "Results", ...file });

async function readListed(
  place: ArchivePlace,
  chainId: number,
  file: Listed & { kind: string; from: number; to: number },
): Promise<Buffer> {
  const name = fileName(file);
  const range = `${file.kind} ${name.slice(0, 12)}… (blocks ${file.from} to ${file.to} of chain ${chainId})`;
  const bytes = await readBytes(`${chainPlace(place, chainId)}/${name}`, file.bytes);
  if (bytes === undefined) throw new ArchiveError(`${range} is missing.`);
  if (bytes.length !== file.bytes)
    throw new ArchiveError(`${range} has ${bytes.length} bytes, not ${file.bytes}: it is cut off.`);
  if (hashOf(bytes) !== file.hash) throw new ArchiveError(`${range} does not match its hash.`);
  return bytes;
}

async function readBytes(path: string, most: number): Promise<Buffer | undefined> {
  if (!isUrl(path)) return readLocal(path, most);
  const chunks: Buffer[] = [];
  const isThere = await download(path, { most, start: 0, take: async (chunk) => void chunks.push(chunk) });
  return isThere ? Buffer.concat(chunks) : undefined;
}

async function readLocal(path: string, most: number): Promise<Buffer | undefined> {
  try {
    const file = await openFile(path);
    try {
      const { size } = await file.stat();
      if (size > most) throw new ArchiveError(`${path} has ${size} bytes, more than ${most}.`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

type Download = {
  most: number;
  start: number;
  take: (chunk: Buffer) => Promise<void>;
  /** How long nothing may come, and how long all of it may take. */
  idleMs?: number;
  wholeMs?: number;
};

/**
 * Takes a file of a host from byte `start` on; false if it is not there. Throws an ArchiveError beyond `most` bytes, of a host that is too
 * slow, and of one that redirects to hosts that are not public.
 */
export async function download(
  url: string,
  { most, start, take, idleMs = 30_000, wholeMs = 600_000 }: Download,
): Promise<boolean> {
  const { host, pathname } = new URL(url);
  // What comes before it may be a key.
  const file = pathname.split("/").at(-1);
  const stopped = new AbortController();
  const stopAfter = (ms: number, what: string) =>
    setTimeout(() => stopped.abort(new ArchiveError(`${host} ${what} ${file} in ${ms / 1_000} s.`)), ms);
  const idle = stopAfter(idleMs, "sends nothing of");
  const whole = stopAfter(wholeMs, "does not send all of");
  try {
    const response = await open(url, start === 0 ? {} : { range: `bytes=${start}-` }, stopped.signal);
    if (response.status === 404) return false;
    if (response.status !== 200 && response.status !== 206)
      throw new ArchiveError(`${host} responds with ${response.status} to ${file}.`);
    // A host without ranges sends the whole file.
    let skipped = response.status === 200 ? start : 0;
    let length = response.status === 200 ? 0 : start;
    for await (const chunk of response.body ?? []) {
      idle.refresh();
      length += chunk.length;
      if (length > most) throw new ArchiveError(`${host} sends more than ${most} bytes for ${file}.`);
      const fresh = Buffer.from(chunk).subarray(skipped);
      skipped = Math.max(0, skipped - chunk.length);
      if (fresh.length > 0) await take(fresh);
    }
    return true;
  } finally {
    clearTimeout(idle);
    clearTimeout(whole);
    // Leaves nothing of a response behind that was not read.
    stopped.abort();
  }
}

const mostRedirects = 5;

/** A response of a host, or of where it redirects to: itself, or over TLS a host whose addresses all are public. */
async function open(url: string, range: Record<string, string>, signal: AbortSignal): Promise<Response> {
  const { host, origin } = new URL(url);
  const { url: first, headers: given } = rpcTarget(url);
  let target = new URL(first);
  for (let redirects = 0; ; redirects++) {
    const { authorization } = target.origin === origin ? given : {};
    const headers = { ...range, ...(authorization === undefined ? {} : { authorization }) };
    const response = await fetch(target, { headers, signal, redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null || response.status < 300 || response.status > 399) return response;
    if (redirects === mostRedirects || !URL.canParse(location, target))
      throw new ArchiveError(`${host} redirects without an end.`);
    target = new URL(location, target);
    if (target.origin !== origin && !(await isPublic(target)))
      throw new ArchiveError(`${host} redirects to ${target.origin}, which is not a public host over TLS.`);
  }
}

async function isPublic({ protocol, hostname }: URL): Promise<boolean> {
  if (protocol !== "https:") return false;
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ""), { all: true });
  return addresses.every(({ address }) => isPublicAddress(address));
}

/** Downloads what a folder lacks of a chain's archive, a file at a time; `progress` is told after each. Resumes. */
export async function fetchArchive(
  from: ArchivePlace,
  folder: string,
  chainId: number,
  progress: (done: number, of: number, bytes: number) => void,
): Promise<Manifest> {
  if (!isUrl(from)) throw new ArchiveError("What an archive is fetched from is not an http(s):// URL.");
  const manifest = await readManifest(from, chainId);
  if (manifest === undefined)
    throw new ArchiveError(`${nameOfPlace(from)} has no archive of chain ${chainId}.`);
  const target = chainPlace(folder, chainId);
  await mkdir(target, { recursive: true });
  const files: Listed[] = [...manifest.segments, ...(manifest.results ?? [])];
  for (const [place, file] of files.entries()) {
    const bytes = await fetchFile({ from, target, chainId }, file);
    progress(place + 1, files.length, bytes);
  }
  await writeManifest(folder, manifest);
  return manifest;
}

async function fetchFile(
  { from, target, chainId }: { from: ArchivePlace; target: string; chainId: number },
  file: Listed,
): Promise<number> {
  const name = fileName(file);
  const path = join(target, name);
  const described = `File ${name} of ${nameOfPlace(from)}`;
  if (await isWhole(path, file)) return 0;
  const partial = `${path}.part`;
  const start = await sizeOf(partial, file.bytes);
  const opened = await openFile(partial, start === 0 ? "w" : "a");
  const take = async (chunk: Buffer) => void (await opened.write(chunk));
  try {
    const isThere = await download(`${chainPlace(from, chainId)}/${name}`, {
      most: file.bytes,
      start,
      take,
    });
    if (!isThere) throw new ArchiveError(`${described} is missing.`);
  } finally {
    await opened.close();
  }
  if (await isWhole(partial, file)) {
    await rename(partial, path);
    return file.bytes - start;
  }
  const isCut = (await sizeOf(partial, file.bytes)) < file.bytes;
  // What is whole and wrong is fetched anew by the next attempt.
  if (!isCut) await rm(partial);
  throw new ArchiveError(`${described} ${isCut ? "is cut off" : "does not match its hash"}.`);
}

async function isWhole(path: string, { bytes, hash }: Listed): Promise<boolean> {
  if ((await sizeOf(path, bytes)) !== bytes) return false;
  const content = await readLocal(path, bytes);
  return content !== undefined && hashOf(content) === hash;
}

// 0 for what is not there, or too large to be the segment.
async function sizeOf(path: string, most: number): Promise<number> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  return size > most ? 0 : size;
}

/** Writes a manifest in one step: a reader sees the old one or the new one. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const target = chainPlace(folder, manifest.chainId);
  await mkdir(target, { recursive: true });
  const text = JSON.stringify(manifest).replaceAll('{"hash"', '\n{"hash"');
  await writeFile(join(target, "manifest.json.new"), text);
  await rename(join(target, "manifest.json.new"), join(target, "manifest.json"));
}

/** The manifest of a chain in a folder, or a new one. */
export const openManifest = async (folder: string, chainId: number): Promise<Manifest> =>
  (await readManifest(folder, chainId)) ?? newManifest(chainId);

/** Writes a file into the folder of its chain, in one step. */
export async function writeFileOf(folder: string, chainId: number, file: { hash: string; bytes: Buffer }) {
  const target = chainPlace(folder, chainId);
  await mkdir(target, { recursive: true });
  const path = join(target, fileName(file));
  await writeFile(`${path}.new`, file.bytes);
  await rename(`${path}.new`, path);
}
