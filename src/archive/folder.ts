import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompressSync } from "node:zlib";
import { rpcTarget } from "../ponder/rpc-request.ts";
import { fetchFollowing } from "../rpc/public-address.ts";
import {
  ArchiveError,
  archiveLimits,
  listFiles,
  type Manifest,
  newManifest,
  parseManifest,
  type Segment,
} from "./manifest.ts";

/** The folder of an archive, or its URL on a file host. Each chain has a subfolder named by its id. */
export type ArchiveLocation = string;

const isUrl = (location: ArchiveLocation) => /^https?:\/\//.test(location);

/** A location as messages name it: a folder, or only the host of a URL, whose path may hold a key. */
export const nameOfLocation = (location: ArchiveLocation) =>
  isUrl(location) ? new URL(location).host : location;

const buildPath = (location: ArchiveLocation, chainId: number, file: string) =>
  isUrl(location)
    ? `${location.replace(/\/+$/, "")}/${chainId}/${file}`
    : join(location, String(chainId), file);

type ListedSegment = Pick<Segment, "hash" | "bytes" | "from" | "to">;

// The name is a hash, so that no manifest can name a file elsewhere.
const buildFileName = ({ hash }: Pick<ListedSegment, "hash">) => `${hash}.seg`;

/** The manifest of a chain; undefined if there is none. Throws an ArchiveError if it is invalid. */
export async function readManifest(
  location: ArchiveLocation,
  chainId: number,
): Promise<Manifest | undefined> {
  const bytes = await readBytes(buildPath(location, chainId, "manifest.json"), archiveLimits.manifest);
  return bytes && parseManifest(bytes.toString("utf8"), chainId);
}

/** The manifest of a chain in a folder, or a new one. */
export const openManifest = async (folder: string, chainId: number): Promise<Manifest> =>
  (await readManifest(folder, chainId)) ?? newManifest(chainId);

/** Reads a file. Throws an ArchiveError if it is missing or does not match its hash. */
async function readFile(location: ArchiveLocation, chainId: number, file: ListedSegment): Promise<Buffer> {
  const name = describe(chainId, file);
  const bytes = await readBytes(buildPath(location, chainId, buildFileName(file)), file.bytes);
  if (bytes === undefined) throw new ArchiveError(`${name} is missing.`);
  if (bytes.length !== file.bytes)
    throw new ArchiveError(`${name} has ${bytes.length} bytes, not ${file.bytes}: it is cut off.`);
  if (hashBytes(bytes) !== file.hash) throw new ArchiveError(`${name} does not match its hash.`);
  return bytes;
}

const describe = (chainId: number, { hash, from, to }: ListedSegment) =>
  `File ${hash.slice(0, 12)}… (blocks ${from} to ${to} of chain ${chainId})`;

const hashBytes = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Reads the lines of a file with `read`. Throws an ArchiveError that names the file if it cannot. */
export async function readLines<Line>(
  location: ArchiveLocation,
  { chainId, file }: { chainId: number; file: ListedSegment & { unpacked: number } },
  read: (text: string) => Line | undefined,
): Promise<Line[]> {
  const bytes = await readFile(location, chainId, file);
  try {
    return unpackLines(bytes, file.unpacked, read);
  } catch (error) {
    throw new ArchiveError(`${describe(chainId, file)} ${(error as Error).message}.`, { cause: error });
  }
}

const compress = promisify(zstdCompress);

/** Packs values into a file of JSON lines, compressed with zstd. */
export async function packLines(lines: readonly unknown[]) {
  const text = Buffer.from(lines.map((line) => JSON.stringify(line)).join("\n"));
  const content = await compress(text, { params: { [constants.ZSTD_c_compressionLevel]: level } });
  return { content, listed: { hash: hashBytes(content), bytes: content.length, unpacked: text.length } };
}

// Level 16 takes six times as long and saves an eighth of the size.
const level = 12;
const maxLineBytes = 32 * 1024 * 1024;

/**
 * Reads lines of at most `unpacked` bytes in all, so that no file fills memory. Throws an ArchiveError, also if `read`
 * gives undefined.
 */
export function unpackLines<Line>(
  content: Uint8Array,
  unpacked: number,
  read: (text: string) => Line | undefined,
): Line[] {
  let text: string;
  try {
    text = zstdDecompressSync(content, { maxOutputLength: Math.max(1, unpacked) }).toString();
  } catch (error) {
    throw new ArchiveError(`cannot be decompressed to ${unpacked} bytes`, { cause: error });
  }
  const lines: Line[] = [];
  // No split(): a text of nothing but line ends would become a huge list.
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    const line = text.slice(start, end < 0 ? text.length : end);
    const found = line.length > maxLineBytes ? undefined : read(line);
    if (found === undefined) throw new ArchiveError(`has another form in line ${lines.length + 1}`);
    lines.push(found);
    start += line.length + 1;
  }
  return lines;
}

async function readBytes(path: string, max: number): Promise<Buffer | undefined> {
  if (isUrl(path)) return download(path, { max });
  try {
    const { size } = await fs.stat(path);
    if (size > max) throw new ArchiveError(`${path} has ${size} bytes, more than ${max}.`);
    return await fs.readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Downloads a file; undefined on 404. Throws an ArchiveError beyond `max` bytes, if nothing arrives for `idleMs` or not
 * all in `wholeMs`, and for a redirect to a host that is not public.
 */
export async function download(
  url: string,
  { max, idleMs = 30_000, wholeMs = 600_000 }: { max: number; idleMs?: number; wholeMs?: number },
): Promise<Buffer | undefined> {
  const { host, pathname } = new URL(url);
  // The path before it may hold a key.
  const file = pathname.split("/").at(-1);
  const stopped = new AbortController();
  const stopAfter = (ms: number, what: string) =>
    setTimeout(() => stopped.abort(new ArchiveError(`${host} ${what} ${file} in ${ms / 1_000} s.`)), ms);
  const idle = stopAfter(idleMs, "sends nothing of");
  const whole = stopAfter(wholeMs, "does not send all of");
  try {
    const { url: target, headers } = rpcTarget(url);
    const refusal = (problem: string) => new ArchiveError(problem);
    const response = await fetchFollowing(target, { headers, signal: stopped.signal, refusal });
    if (response.status === 404) return undefined;
    if (response.status !== 200)
      throw new ArchiveError(`${host} responds with ${response.status} to ${file}.`);
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of response.body ?? []) {
      idle.refresh();
      length += chunk.length;
      if (length > max) throw new ArchiveError(`${host} sends more than ${max} bytes for ${file}.`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(idle);
    clearTimeout(whole);
    // Discards an unread response.
    stopped.abort();
  }
}

/**
 * Downloads the files of a chain's archive that a folder lacks; calls `progress` after each. The next run resumes
 * there.
 */
export async function fetchArchive(
  from: ArchiveLocation,
  folder: string,
  chainId: number,
  progress: (done: number, of: number, bytes: number) => void,
): Promise<Manifest> {
  if (!isUrl(from)) throw new ArchiveError("What an archive is fetched from is not an http(s):// URL.");
  const manifest = await readManifest(from, chainId);
  if (manifest === undefined)
    throw new ArchiveError(`${nameOfLocation(from)} has no archive of chain ${chainId}.`);
  const files = listFiles(manifest);
  for (const [index, file] of files.entries()) {
    const isThere = await readFile(folder, chainId, file).then(
      () => true,
      () => false,
    );
    if (!isThere) await writeBytes(folder, chainId, buildFileName(file), await readFile(from, chainId, file));
    progress(index + 1, files.length, isThere ? 0 : file.bytes);
  }
  await writeManifest(folder, manifest);
  return manifest;
}

/** Adds a file to an archive, then the manifest that lists it. */
export async function addFile(
  folder: string,
  manifest: Manifest,
  { listed, content }: Awaited<ReturnType<typeof packLines>>,
): Promise<void> {
  await writeBytes(folder, manifest.chainId, buildFileName(listed), content);
  await writeManifest(folder, manifest);
}

/** Writes a manifest. */
export const writeManifest = (folder: string, manifest: Manifest): Promise<void> =>
  writeBytes(
    folder,
    manifest.chainId,
    "manifest.json",
    JSON.stringify(manifest).replaceAll('{"hash"', '\n{"hash"'),
  );

// Atomic: readers see the old file or the new one.
async function writeBytes(folder: string, chainId: number, file: string, content: string | Buffer) {
  const path = buildPath(folder, chainId, file);
  await fs.mkdir(dirname(path), { recursive: true });
  await fs.writeFile(`${path}.new`, content);
  await fs.rename(`${path}.new`, path);
}
