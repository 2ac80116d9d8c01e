import { hasTable, type Statement } from "../ponder/sql-client.ts";
import { matches } from "../rpc/log-answers.ts";
import { cachedBlocks, cachedLogs, cachedParts } from "./cached-blocks.ts";
import { openManifest } from "./folder.ts";
import { gapsOf, type Manifest, queryOfFilter, stretchesOf } from "./manifest.ts";
import { type BlockSource, closeGaps, logsOfSegment, type RecordOptions } from "./record.ts";
import { type ArchivedResult, addResults, readResults } from "./results.ts";

/**
 * Writes what Ponder's cache has of a chain into an archive: blocks as Ponder stores them, which lack the newer fields of
 * headers, so that not every block's hash can be recomputed.
 */
export async function exportCache(
  run: Statement,
  { folder, chainId, progress }: Pick<RecordOptions, "folder" | "chainId" | "progress">,
): Promise<Manifest> {
  const manifest = await openManifest(folder, chainId);
  const cached = await cachedParts(run, manifest);
  const whole = { from: 0, to: Math.max(-1, ...cached.map(({ to }) => to)) };
  const gaps = stretchesOf(cached, whole).flatMap(({ within, ...range }) => {
    const filters = within.map(({ filter }) => filter);
    return gapsOf(manifest, filters, range);
  });
  const source: BlockSource = {
    async logsFrom({ from, to, filters }) {
      const first = await cachedLogs(run, chainId, { from, to }, logsOfSegment);
      const end = first.length < logsOfSegment ? to : Number(first.at(-1)?.blockNumber);
      // The last block may be cut off.
      const logs = end === to ? first : await cachedLogs(run, chainId, { from, to: end });
      const queries = filters.map((filter) => queryOfFilter(manifest, filter, { from, to }));
      // Of other filters the cache may have some logs here, and lack others.
      return { logs: logs.filter((log) => queries.some((query) => matches(log, query))), end };
    },
    blocksOf: (logs) => cachedBlocks(run, chainId, logs),
  };
  await closeGaps(folder, manifest, { gaps, source, progress });
  await exportResults(run, folder, manifest);
  return manifest;
}

const resultsOfFile = 1_000;

/** Writes results of calls up to the newest archived block, which are final; those that the archive has are left out. */
async function exportResults(run: Statement, folder: string, manifest: Manifest): Promise<void> {
  if (!(await hasTable(run, "ponder_sync.rpc_request_results"))) return;
  const { chainId, results = [] } = manifest;
  const known = new Set<string>();
  for (const file of results) for (const [key] of await readResults(folder, chainId, file)) known.add(key);
  const newest = Math.max(-1, ...manifest.segments.map(({ to }) => to));
  for (let [block, key, rows] = [-1, "", resultsOfFile]; rows === resultsOfFile; ) {
    const found = await run(
      `SELECT request_hash, block_number::text AS block, result FROM ponder_sync.rpc_request_results
      WHERE chain_id = $1 AND (block_number, request_hash) > ($2, $3) AND block_number <= $4 ORDER BY block_number, request_hash LIMIT $5`,
      [chainId, block, key, newest, resultsOfFile],
    );
    const all = found.rows.map((row): ArchivedResult => {
      return [String(row["request_hash"]), Number(row["block"]), String(row["result"])];
    });
    const fresh = all.filter(([one]) => !known.has(one));
    if (fresh.length > 0) await addResults(folder, manifest, fresh);
    [key, block] = all.at(-1) ?? [key, block];
    rows = all.length;
  }
}
