import { LRUCache } from "lru-cache";
import { keccak256 } from "../ens/keccak.ts";
import { headerRlp } from "../rpc/block-proofs.ts";
import { type BlockRange, type NodesOptions, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { type ArchiveLocation, addFile, packLines, readLines } from "./folder.ts";
import { ArchiveError, type HeadersFile, type Manifest } from "./manifest.ts";

// The RLP forms of the headers of consecutive blocks: each names its parent, so the last hash proves all others.

const headersOfFile = 10_000;

type HeaderOptions = {
  folder: string;
  range: BlockRange;
  ask: (body: RpcRequest) => Promise<unknown>;
  width: number;
  progress: (at: number) => void;
};

/**
 * Records the headers of all blocks of a range that an archive lacks, file by file. Throws an ArchiveError if one does
 * not follow the last.
 */
export async function recordHeaders(
  manifest: Manifest,
  { folder, range, ask, width, progress }: HeaderOptions,
): Promise<void> {
  const files = manifest.headers ?? [];
  manifest.headers = files;
  const headerAt = async (number: number) => {
    const params = [toHex(number), false];
    const rlp = headerRlp((await ask({ method: "eth_getBlockByNumber", params })) as Record<string, unknown>);
    if (rlp === undefined) throw new ArchiveError(`The header of block ${number} does not hash to its hash.`);
    return rlp;
  };
  for (let from = (files.at(-1)?.to ?? range.from - 1) + 1; from <= range.to; from += headersOfFile) {
    const to = Math.min(range.to, from + headersOfFile - 1);
    const headers: Buffer[] = [];
    for (let at = from; at <= to; at += width) {
      const numbers = Array.from({ length: Math.min(width, to - at + 1) }, (_, offset) => at + offset);
      headers.push(...(await Promise.all(numbers.map(headerAt))));
    }
    const parent = files.at(-1)?.last ?? readParentHash(headers[0]);
    const last = linkHeaders(headers, { from, to, parent }).at(-1)?.hash ?? parent;
    const file = await packLines(headers.map((rlp) => rlp.toString("hex")));
    files.push({ ...file.listed, from, to, parent, last });
    await addFile(folder, manifest, file);
    progress(to);
  }
}

/** A block as its archived header shows it. */
type HeaderOfBlock = { number: number; hash: string; logsBloom: string };

// Yellow paper, 4.4: fields up to the bloom have fixed lengths. Three bytes begin the list, one begins each field.
const parentAt = 3 + 1;
const bloomAt = 3 + 5 * 33 + 21 + 33 + 3;

const sliceHex = (rlp: Buffer | undefined, from: number, length: number) =>
  `0x${rlp?.toString("hex", from, from + length) ?? ""}`;
const readParentHash = (rlp: Buffer | undefined) => sliceHex(rlp, parentAt, 32);

/**
 * The blocks of consecutive headers. Throws an ArchiveError unless they are those of the range, and each follows the
 * one before.
 */
function linkHeaders(
  headers: readonly Buffer[],
  { from, to, parent }: Pick<HeadersFile, "from" | "to" | "parent">,
): HeaderOfBlock[] {
  let before = parent;
  if (headers.length !== to - from + 1)
    throw new ArchiveError(`There are ${headers.length} headers of blocks ${from} to ${to}.`);
  return headers.map((rlp, index) => {
    if (readParentHash(rlp) !== before)
      throw new ArchiveError(`The header of block ${from + index} does not follow the block before it.`);
    before = keccak256(rlp);
    return { number: from + index, hash: before, logsBloom: sliceHex(rlp, bloomAt, 256) };
  });
}

const parseHeader = (line: string) =>
  /^"f9[0-9a-f]{1000,4000}"$/.test(line) ? Buffer.from(line.slice(1, -1), "hex") : undefined;

/** Reads a file of headers. Throws an ArchiveError unless they lead from its `parent` to its `last`. */
export async function readHeaders(
  location: ArchiveLocation,
  chainId: number,
  file: HeadersFile,
): Promise<HeaderOfBlock[]> {
  const blocks = linkHeaders(await readLines(location, { chainId, file }, parseHeader), file);
  const last = blocks.at(-1)?.hash;
  if (last === file.last) return blocks;
  throw new ArchiveError(
    `Block ${file.to} is ${last} in the archived headers, ${file.last} in the manifest.`,
  );
}

/** Throws an ArchiveError that says both hashes of a block unless they are one. */
export function requireSame(
  { chainId, number }: { chainId: number; number: number },
  { archived, known, who }: { archived: string | undefined; known: string | undefined; who: string },
): void {
  if (archived === known) return;
  throw new ArchiveError(
    `Block ${number} of chain ${chainId} is ${archived} in the archive, and ${known ?? "not there"} ${who}. Take ARCHIVE out, or use another.`,
  );
}

type HashesOptions = {
  location: ArchiveLocation;
  manifest: Pick<Manifest, "chainId" | "headers">;
  trustedBlock?: NodesOptions["trustedBlock"];
  /** The hash that nodes name for a block. */
  named: (number: number) => Promise<string | undefined>;
};

/**
 * The hash of an archived block by its headers, which lead to the trusted block, and else to one that nodes name.
 * Undefined outside of the archived headers. Throws an ArchiveError if that block is another. All headers are read
 * once, when the first hash is wanted.
 */
export function archivedHashes({ location, manifest, trustedBlock, named }: HashesOptions) {
  const { chainId, headers: files = [] } = manifest;
  const recent = new LRUCache<string, string[], HeadersFile>({
    max: 8,
    ignoreFetchAbort: true,
    fetchMethod: async (_hash, _stale, { context }) =>
      (await readHeaders(location, chainId, context)).map(({ hash }) => hash),
  });
  const hashIn = async (file: HeadersFile, number: number) =>
    (await recent.forceFetch(file.hash, { context: file }))[number - file.from];
  const fileOf = (number: number) => files.find(({ from, to }) => from <= number && number <= to);
  const verify = async () => {
    for (const file of files) await hashIn(file, file.to);
    const { number: trusted = -1, hash: known } = trustedBlock ?? {};
    const file = fileOf(trusted);
    const archived = file && (await hashIn(file, trusted));
    if (file) requireSame({ number: trusted, chainId }, { archived, known, who: "as the trusted block" });
    const { to: number, last } = files.at(-1) ?? {};
    if (number === undefined || number === trusted) return;
    requireSame({ number, chainId }, { archived: last, known: await named(number), who: "at the nodes" });
  };
  let verified: Promise<void> | undefined;
  return async (number: number): Promise<string | undefined> => {
    const file = fileOf(number);
    if (file === undefined) return undefined;
    verified ??= verify().catch((error: unknown) => {
      verified = undefined;
      throw error;
    });
    await verified;
    return hashIn(file, number);
  };
}
