import { LRUCache } from "lru-cache";
import { z } from "zod/v4";
import { type Log, parsedJson, seeOperations } from "../log/json-log.ts";
import type { OtherResults } from "../ponder/shared.ts";
import { type ArchiveLocation, addFile, packLines, readLines, readManifest } from "./folder.ts";
import { ArchiveError, type Manifest, type ResultsFile } from "./manifest.ts";

const archivedResult = z.tuple([z.string(), z.number().int(), z.string()]);

/** A handler's request: the key by which an index caches it, the block, the result. */
export type ArchivedResult = z.infer<typeof archivedResult>;

/** Adds a file of results, ordered by block, to an archive. */
export async function addResults(
  folder: string,
  manifest: Manifest,
  results: readonly ArchivedResult[],
): Promise<void> {
  const file = await packLines(results);
  const [from, to] = [results[0]?.[1] ?? 0, results.at(-1)?.[1] ?? 0];
  manifest.results = [...(manifest.results ?? []), { ...file.listed, from, to, count: results.length }];
  await addFile(folder, manifest, file);
}

/** Reads a file of results. Throws an ArchiveError if they do not match the manifest. */
export async function readResults(
  location: ArchiveLocation,
  chainId: number,
  file: ResultsFile,
): Promise<ArchivedResult[]> {
  const read = (line: string) => archivedResult.safeParse(parsedJson(line)).data;
  const results = await readLines(location, { chainId, file }, read);
  const isOrdered = results.every(
    ([, block], i) => block >= (results[i - 1]?.[1] ?? file.from) && block <= file.to,
  );
  if (isOrdered && results.length === file.count) return results;
  throw new ArchiveError(
    `File ${file.hash.slice(0, 12)}… has ${results.length} results, not ${file.count} in the order of their blocks.`,
  );
}

type ResultOptions = {
  location: ArchiveLocation;
  chain: string;
  chainId: number;
  log: Log;
  retryMs?: number;
};

/**
 * Looks up results in a chain's archive, opened on first use. A failure is reported once; nodes are asked for `retryMs`
 * then.
 */
export function archivedResults({
  location,
  chain,
  chainId,
  log,
  retryMs = 60_000,
}: ResultOptions): OtherResults {
  let manifest: Promise<Manifest | undefined> | undefined;
  let [silentUntil, isReported] = [0, false];
  // An index reads results block by block; several files may have the same blocks.
  const recent = new LRUCache<string, ReadonlyMap<string, string>, ResultsFile>({
    maxSize: 50_000_000,
    ignoreFetchAbort: true,
    fetchMethod: async (_hash, _stale, { context }) =>
      new Map((await readResults(location, chainId, context)).map(([key, , result]) => [key, result])),
  });
  return async (key, blockNumber) => {
    if (Date.now() < silentUntil) return undefined;
    try {
      manifest ??= readManifest(location, chainId);
      for (const file of (await manifest)?.results ?? []) {
        if (blockNumber < file.from || blockNumber > file.to) continue;
        const results = await recent.fetch(file.hash, { context: file, size: Math.max(1, file.unpacked) });
        const found = results?.get(key);
        if (found !== undefined) return found;
      }
    } catch (error) {
      manifest = undefined;
      silentUntil = Date.now() + retryMs;
      const reason = error instanceof Error ? error.message : String(error);
      const message = `Results of calls cannot be read from the archive, and nodes are used instead: ${reason}`;
      if (!isReported) log("warn", message, { chain, section: seeOperations("When the start is refused") });
      isReported = true;
    }
    return undefined;
  };
}
