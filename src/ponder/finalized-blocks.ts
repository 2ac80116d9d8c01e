import { parseCheckpoint } from "./checkpoints.ts";
import { quoted, type Statement } from "./sql-client.ts";

/** The node's hash of a block; undefined if it has no such block. Rejects if no node responds. */
export type FetchHash = (number: number) => Promise<string | undefined>;

/**
 * A finalized block of the cache that the node does not have: `ours` is its cached hash, `theirs` the node's, undefined
 * while the node's chain ends before it. They agree below block `from`.
 */
export type Contradiction = {
  chainId: number;
  block: number;
  ours: string;
  theirs: string | undefined;
  from: number;
};

type Pin = { number: number; hash: string };

// ponder: caches only blocks with events, so a fork of empty blocks would go unseen: hashes of finalized blocks are kept
// beside its cache, and are dropped together with it.
const createTable = `CREATE TABLE IF NOT EXISTS ponder_sync.finalized_hashes
  (chain_id bigint NOT NULL, number bigint NOT NULL, hash text NOT NULL, PRIMARY KEY (chain_id, number))`;

const newestIn = (table: string) =>
  `(SELECT number, hash FROM ponder_sync.${table} WHERE chain_id = $1 AND number <= $2 ORDER BY number DESC LIMIT 1)`;

/** Whether the database has this table, given as `schema.table`, each part quoted where needed. */
export async function hasTable(run: Statement, table: string): Promise<boolean> {
  const { rows } = await run("SELECT to_regclass($1) IS NOT NULL AS found", [table]);
  return rows[0]?.["found"] === true;
}

/**
 * Compares the newest finalized hash and the newest cached block of a chain with the node; undefined if they agree, and
 * for a chain without a cache. On a difference the newest common block is found by bisection over cached blocks.
 */
export async function findContradiction(
  run: Statement,
  chainId: number,
  fetchHash: FetchHash,
): Promise<Contradiction | undefined> {
  const newest = await pinReader(run, chainId);
  for (const pin of await newest(Number.MAX_SAFE_INTEGER)) {
    const theirs = await fetchHash(pin.number);
    if (theirs !== pin.hash) return bisect({ chainId, ours: pin, theirs }, newest, fetchHash);
  }
  return undefined;
}

type Pins = (atMost: number) => Promise<Pin[]>;

async function bisect(
  suspect: { chainId: number; ours: Pin; theirs: string | undefined },
  newest: Pins,
  fetchHash: FetchHash,
): Promise<Contradiction> {
  let { ours, theirs } = suspect;
  let common = -1;
  // Invariant: no cached block up to `common` differs, and `ours` does.
  while (common + 1 < ours.number) {
    const middle = Math.floor((common + ours.number) / 2);
    const [pin] = await newest(middle);
    if (pin === undefined || pin.number <= common) {
      common = middle;
      continue;
    }
    const hash = await fetchHash(pin.number);
    if (hash === pin.hash) common = middle;
    else [ours, theirs] = [pin, hash];
  }
  const [last] = await newest(ours.number - 1);
  return {
    chainId: suspect.chainId,
    block: ours.number,
    ours: ours.hash,
    theirs,
    from: last ? last.number + 1 : 0,
  };
}

/** Reads the newest finalized hash and cached block up to a block, highest first. */
async function pinReader(run: Statement, chainId: number): Promise<Pins> {
  const tables: string[] = [];
  for (const name of ["blocks", "finalized_hashes"]) {
    if (await hasTable(run, `ponder_sync.${name}`)) tables.push(newestIn(name));
  }
  return async (atMost) => {
    if (tables.length === 0) return [];
    const sql = `SELECT DISTINCT number::text, hash FROM (${tables.join(" UNION ALL ")}) AS pins`;
    const { rows } = await run(sql, [chainId, atMost]);
    return rows
      .map(({ number, hash }) => ({ number: Number(number), hash: String(hash) }))
      .sort((a, b) => b.number - a.number);
  };
}

/**
 * The last block of the chain whose events are final in the cache or in the rows of the index in `schema`; undefined
 * before the first. It is the highest that Ponder can no longer take back.
 */
export async function finalizedBlock(
  run: Statement,
  schema: string,
  chainId: number,
): Promise<number | undefined> {
  // ponder: a cached range is stored with its end raised by one.
  const { rows } = await run(
    `SELECT (SELECT max(upper(blocks)) - 1 FROM ponder_sync.intervals WHERE chain_id = $1)::text AS cached,
      (SELECT finalized_checkpoint FROM ${quoted(schema)}._ponder_checkpoint WHERE chain_id = $1) AS checkpoint`,
    [chainId],
  );
  const { cached, checkpoint } = rows[0] ?? {};
  const indexed = typeof checkpoint === "string" ? parseCheckpoint(checkpoint) : undefined;
  // ponder: with several chains the finalized checkpoint may be another chain's.
  const isOwn = indexed !== undefined && indexed.chainId === chainId && !indexed.isStart;
  const known = [...(cached === null ? [] : [Number(cached)]), ...(isOwn ? [indexed.block.number] : [])];
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Keeps the hash of a finalized block, and of older ones the lowest of each thousand blocks. */
export async function keepHash(run: Statement, chainId: number, { number, hash }: Pin): Promise<void> {
  await run(createTable);
  await run("INSERT INTO ponder_sync.finalized_hashes VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [
    chainId,
    number,
    hash,
  ]);
  await run(
    `DELETE FROM ponder_sync.finalized_hashes kept WHERE chain_id = $1 AND number < $2 AND EXISTS (
      SELECT 1 FROM ponder_sync.finalized_hashes lower WHERE lower.chain_id = $1
        AND lower.number >= kept.number / 1000 * 1000 AND lower.number < kept.number)`,
    [chainId, number - 1_000],
  );
}

/** The result of a JSON-RPC request, as the node gives it. Rejects without a response in JSON within 10 seconds. */
export async function requestResult(url: string, method: string, params: unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(10_000),
  });
  return ((await response.json()) as { result?: unknown }).result;
}

/** The hash of a block at an RPC URL; undefined if it has no such block. Rejects without a valid response in 10 seconds. */
export async function requestHash(url: string, number: number): Promise<string | undefined> {
  const result = await requestResult(url, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
  if (result === null) return undefined;
  const hash = (result as { hash?: unknown } | undefined)?.hash;
  if (typeof hash !== "string" || !/^0x[0-9a-fA-F]{64}$/.test(hash))
    throw new Error("no block hash in the response");
  return hash.toLowerCase();
}
