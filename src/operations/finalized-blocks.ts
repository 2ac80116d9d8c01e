import type { IndexedChain } from "../config/chains.ts";
import { type Log, seeOperations } from "../log/json-log.ts";
import { buildCheckpointParts } from "../ponder/checkpoints.ts";
import { addGauge } from "../ponder/gauge.ts";
import { metricsRegistry } from "../ponder/process.ts";
import { requestChainId, requestHash } from "../ponder/rpc-request.ts";
import { createTable, hasTable, quoted, type Statement } from "../ponder/sql-client.ts";
import { purgeCommands } from "./cache.ts";
import { repeat } from "./repeat.ts";

/** Fetches a block's hash from the node; undefined if it has no such block. Rejects if no node responds. */
type FetchHash = (number: number) => Promise<string | undefined>;

/**
 * A finalized cached block that the node does not have. `ours` is its cached hash, `theirs` the node's, undefined while
 * its chain ends before. Both agree on the newest cached block below `from`.
 */
export type Contradiction = {
  chainId: number;
  block: number;
  ours: string;
  theirs: string | undefined;
  from: number;
};

type Pin = { number: number; hash: string };

// ponder: it caches only blocks with events, so a fork of empty blocks would go unseen. Hashes of finalized blocks are
// stored beside its cache, and dropped together with it.
const hashes = `ponder_sync.finalized_hashes
  (chain_id bigint NOT NULL, number bigint NOT NULL, hash text NOT NULL, PRIMARY KEY (chain_id, number))`;

/**
 * Compares the newest finalized hash and the newest cached block of a chain with the node; undefined if they agree or
 * nothing is cached. After a difference it goes back, in doubling steps, to a block that both have.
 */
export async function findContradiction(
  run: Statement,
  chainId: number,
  fetchHash: FetchHash,
): Promise<Contradiction | undefined> {
  if (!(await hasTable(run, "ponder_sync.blocks"))) return undefined;
  // Creates no table: `doctor` calls this too.
  const hasHashes = await hasTable(run, "ponder_sync.finalized_hashes");
  const tables = ["blocks", ...(hasHashes ? ["finalized_hashes"] : [])];
  const newestUpTo = (atMost: number) => readNewestPins(run, tables, chainId, atMost);
  for (const pin of await newestUpTo(Number.MAX_SAFE_INTEGER)) {
    let [ours, theirs] = [pin, await fetchHash(pin.number)];
    if (theirs === ours.hash) continue;
    for (let step = 1; ; step *= 2) {
      const [older] = await newestUpTo(ours.number - step);
      const hash = older && (await fetchHash(older.number));
      if (older === undefined || hash === older.hash)
        return { chainId, block: ours.number, ours: ours.hash, theirs, from: older ? older.number + 1 : 0 };
      [ours, theirs] = [older, hash];
    }
  }
  return undefined;
}

/** The newest block of each table (cached blocks, finalized hashes) up to a block, highest first. */
async function readNewestPins(
  run: Statement,
  tables: readonly string[],
  chainId: number,
  atMost: number,
): Promise<Pin[]> {
  const newest = tables.map(
    (table) =>
      `(SELECT number, hash FROM ponder_sync.${table} WHERE chain_id = $1 AND number <= $2 ORDER BY number DESC LIMIT 1)`,
  );
  const { rows } = await run(
    `SELECT number::text, hash FROM (${newest.join(" UNION ")}) pins ORDER BY pins.number DESC`,
    [chainId, atMost],
  );
  return rows.map(({ number, hash }) => ({ number: Number(number), hash: String(hash) }));
}

/**
 * A chain's last block whose events are final in the cache or the index, which Ponder never reverts; undefined before
 * the first.
 */
export async function finalizedBlock(
  run: Statement,
  schema: string,
  chainId: number,
): Promise<number | undefined> {
  // ponder: a cached range ends one above its last block. With several chains, the finalized checkpoint may be another
  // chain's; the one of a start, which no event has reached, ends with zeros.
  const { block, chain, isStart } = buildCheckpointParts("finalized_checkpoint");
  const { rows } = await run(
    `SELECT greatest((SELECT max(upper(blocks)) - 1 FROM ponder_sync.intervals WHERE chain_id = $1),
      (SELECT ${block}::numeric FROM ${quoted(schema)}._ponder_checkpoint
        WHERE chain_id = $1 AND ${chain}::bigint = $1 AND NOT ${isStart}))::text AS block`,
    [chainId],
  );
  const found = rows[0]?.["block"];
  return typeof found === "string" ? Number(found) : undefined;
}

/** Stores the hash of a finalized block. */
export async function keepHash(run: Statement, chainId: number, { number, hash }: Pin): Promise<void> {
  await createTable(run, hashes);
  const text = "INSERT INTO ponder_sync.finalized_hashes VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
  await run(text, [chainId, number, hash]);
}

// A round without a contradiction sends at most three requests per chain, and one per URL.
const [firstPause, longestPause] = [2_000, 200_000];

type ChainWatchOptions = { run: Statement; schema: string; log: Log };

/**
 * Watches if nodes have the index's finalized blocks: logs a contradiction once, and sets
 * `nsindex_chain_contradicts_index`.
 */
export function createChainWatches(chains: readonly IndexedChain[], options: ChainWatchOptions) {
  const watches = chains.map((chain) => watchChain(chain, options));
  const metric = {
    name: "nsindex_chain_contradicts_index",
    help: "1 if a finalized block of the index is not on the chain of the node",
    labelNames: ["chain_id"],
  };
  addGauge(metricsRegistry(), metric, (gauge) => {
    for (const { id, fault } of watches) gauge.set({ chain_id: id }, fault() === undefined ? 0 : 1);
  });
  return watches;
}

/** The watch of one chain. */
export type ChainWatch = ReturnType<typeof watchChain>;

function watchChain(chain: IndexedChain, { run, schema, log }: ChainWatchOptions) {
  const { id } = chain;
  // Includes one with a node that has not caught up, which may still be on the same chain.
  let found: Contradiction | undefined;
  let [since, kept] = [0, -1];
  const look = async () => {
    const urls = await listOwnUrls(chain);
    const fetchHash = (number: number) => requestFirstHash(urls, number);
    if (found !== undefined && (await fetchHash(found.block)) === found.theirs) return;
    const before = found;
    found = await findContradiction(run, id, fetchHash);
    if (isContradicted(found) && !isContradicted(before)) {
      since = Math.floor(Date.now() / 1000);
      log("error", describeRepair(found), { chain_id: id });
    }
    const number = found === undefined ? await finalizedBlock(run, schema, id) : undefined;
    const hash = number === undefined || number === kept ? undefined : await fetchHash(number);
    if (number === undefined || hash === undefined) return;
    await keepHash(run, id, { number, hash });
    kept = number;
  };
  const everyMs = (round: number) =>
    round === 0 ? 0 : Math.min(firstPause * 2 ** (round - 1), longestPause);
  const failure = "Could not compare the chain with the index";
  const fields = { chain_id: id, section: seeOperations("When a dependency is unavailable") };
  return {
    id,
    /** The current contradiction for clients: since when it is known (Unix seconds), and a sentence. */
    fault: () => (isContradicted(found) ? { since, reason: formatSentence(found) } : undefined),
    /** Compares once, and stores the hash of a newly finalized block. */
    look,
    /** Calls `look` at once, then at growing intervals up to 200 seconds, until the returned function is called. */
    start: () => repeat(look, { everyMs, log, failure, fields }),
  };
}

const isContradicted = (found: Contradiction | undefined): found is Contradiction =>
  found?.theirs !== undefined;

async function requestFirstHash([first = "", ...others]: readonly string[], number: number) {
  let answer = requestHash(first, number);
  for (const url of others) answer = answer.catch(() => requestHash(url, number));
  return answer;
}

/** The URLs that report the chain's id; others prove nothing. Rejects if there is none. */
async function listOwnUrls({ id, rpc }: IndexedChain): Promise<string[]> {
  const ids = await Promise.all(rpc.http.map((url) => requestChainId(url).catch(() => undefined)));
  const own = rpc.http.filter((_, index) => ids[index] === id);
  if (own.length === 0) throw new Error(`no RPC URL serves chain ${id} now`);
  return own;
}

/** Contradictions in words. */
export const describeContradictions = (found: readonly Contradiction[]) =>
  `The chain contradicts the index: block ${found.map(describe).join("; block ")}`;

const describe = ({ chainId, block, ours, theirs }: Contradiction) =>
  `${block} of chain ${chainId} is ${ours} in the index, ${theirs === undefined ? "and the node has no such block" : `${theirs} at the node`}`;

const formatSentence = (found: Contradiction) => `${describeContradictions([found])}.`;

const describeRepair = (found: Contradiction) =>
  `${formatSentence(found)} Stop the index, run "${purgeCommands([found], "")}" and build a new index. ` +
  seeOperations("When the chain contradicts the index");
