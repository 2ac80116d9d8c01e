import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { LRUCache } from "lru-cache";
import { type Log, seeOperations } from "../log/json-log.ts";
import type { OtherResults } from "../ponder/shared.ts";
import { type ArchivePlace, readManifest, readResults, writeFileOf, writeManifest } from "./folder.ts";
import { ArchiveError, type Manifest, type ResultsFile } from "./manifest.ts";
import { hashOf, linesOf } from "./segment.ts";

/** What a rule asked of a node beyond logs: the key that an index keeps it by, the block, the result. */
export type ArchivedResult = [key: string, block: number, result: string];

const level = 12;

/** Adds a file of results, which are in the order of their blocks, to an archive: the file, then the manifest. */
export async function addResults(
  folder: string,
  manifest: Manifest,
  results: readonly ArchivedResult[],
): Promise<void> {
  const text = Buffer.from(results.map((one) => JSON.stringify(one)).join("\n"));
  const bytes = zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: level } });
  const hash = hashOf(bytes);
  await writeFileOf(folder, manifest.chainId, { hash, bytes });
  const [from, to] = [results[0]?.[1] ?? 0, results.at(-1)?.[1] ?? 0];
  manifest.results ??= [];
  manifest.results.push({
    hash,
    from,
    to,
    count: results.length,
    bytes: bytes.length,
    unpacked: text.length,
  });
  await writeManifest(folder, manifest);
}

/** The results of a file. Throws an ArchiveError if they are not those that the manifest lists. */
export function resultsIn(file: ResultsFile, bytes: Uint8Array): ArchivedResult[] {
  const name = `File ${file.hash.slice(0, 8)}… of results`;
  let text: string;
  try {
    text = zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, file.unpacked) }).toString();
  } catch (error) {
    throw new ArchiveError(`${name} cannot be decompressed to ${file.unpacked} bytes.`, { cause: error });
  }
  let last = file.from;
  const results = Array.from(linesOf(text, mostOfLine), (line, place) => {
    const found = resultOf(line);
    if (found === undefined) throw new ArchiveError(`${name}: line ${place + 1} is not a result.`);
    if (found[1] < last || found[1] > file.to)
      throw new ArchiveError(`${name} has block ${found[1]} out of order or outside its range.`);
    last = found[1];
    return found;
  });
  if (results.length !== file.count)
    throw new ArchiveError(`${name} has ${results.length} results, not ${file.count}.`);
  return results;
}

// A result of 64 KiB, each character of which JSON may write as six.
const mostOfLine = 512 * 1024;

function resultOf(line: string): ArchivedResult | undefined {
  try {
    const [key, block, result, ...more] = JSON.parse(line) as unknown[];
    const isResult =
      typeof key === "string" &&
      Number.isSafeInteger(block) &&
      typeof result === "string" &&
      more.length === 0;
    return isResult ? [key, Number(block), result] : undefined;
  } catch {
    return undefined;
  }
}

type ResultMap = Map<string, string>;

// Of all chains of the process, by their characters. An index goes through them block by block; several may have the same blocks.
const recent = new LRUCache<string, Promise<ResultMap>>({ maxSize: 50_000_000 });

/** Looks up the results of a chain's archive, which is opened when it is first needed. One that cannot be read is reported once. */
export function archivedResults({
  place,
  chain,
  chainId,
  log,
  retryMs = 60_000,
}: {
  place: ArchivePlace;
  chain: string;
  chainId: number;
  log: Log;
  retryMs?: number;
}): OtherResults {
  let opened: Promise<Manifest["results"]> | undefined;
  let isReported = false;
  // A host may respond again; a wrong file is not read for each result.
  const later = (forget: () => unknown) => void setTimeout(forget, retryMs).unref();
  const read = (file: ResultsFile) => {
    const key = `${place} ${chainId} ${file.hash}`;
    const known = recent.get(key);
    if (known !== undefined) return known;
    const results = readResults(place, chainId, file).then(
      (bytes) => new Map(resultsIn(file, bytes).map(([key, , result]) => [key, result])),
    );
    recent.set(key, results, { size: Math.max(1, file.unpacked) });
    results.catch(() => later(() => recent.delete(key)));
    return results;
  };
  const open = () => {
    opened ??= readManifest(place, chainId).then((manifest) => manifest?.results);
    opened.catch(() =>
      later(() => {
        opened = undefined;
      }),
    );
    return opened;
  };
  return async (key, blockNumber) => {
    try {
      for (const file of (await open()) ?? []) {
        if (blockNumber < file.from || blockNumber > file.to) continue;
        const found = (await read(file)).get(key);
        if (found !== undefined) return found;
      }
    } catch (error) {
      // What cannot be read is asked of a node.
      if (!isReported)
        log(
          "warn",
          `Results of calls cannot be read from the archive, and are asked of nodes: ${messageOf(error)}`,
          {
            chain,
            section: seeOperations("When the start is refused"),
          },
        );
      isReported = true;
    }
    return undefined;
  };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
