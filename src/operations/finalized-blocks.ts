import { Gauge } from "prom-client";
import type { IndexedChain } from "../config/chains.ts";
import { type Log, seeOperations } from "../log/json-log.ts";
import { metricsRegistry } from "../ponder/process.ts";
import { requestChainId, requestHash } from "../ponder/rpc-request.ts";
import { createTable, hasTable, quoted, type Statement } from "../ponder/sql-client.ts";
import { purgeCommands } from "./cache.ts";
import { repeat } from "./repeat.ts";

/** The node's hash of a block; undefined if it has no such block. Rejects if no node responds. */
type FetchHash = (number: number) => Promise<string | undefined>;

/**
 * A finalized block of the cache that the node does not have: `ours` is its cached hash, `theirs` the node's, undefined
 * while the node's chain ends before it. They agree on the newest cached block below `from`.
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
const hashes = `ponder_sync.finalized_hashes
  (chain_id bigint NOT NULL, number bigint NOT NULL, hash text NOT NULL, PRIMARY KEY (chain_id, number))`;

/**
 * Compares the newest finalized hash and the newest cached block of a chain with the node; undefined if they agree, and
 * for a chain without a cache. After a difference it goes back, twice as far each time, to a block that both have.
 */
export async function findContradiction(
  run: Statement,
  chainId: number,
  fetchHash: FetchHash,
): Promise<Contradiction | undefined> {
  if (!(await hasTable(run, "ponder_sync.blocks"))) return undefined;
  // Creates nothing: `doctor` asks as well.
  const hasHashes = await hasTable(run, "ponder_sync.finalized_hashes");
  const tables = ["blocks", ...(hasHashes ? ["finalized_hashes"] : [])];
  const newestUpTo = (atMost: number) => newestPins(run, tables, chainId, atMost);
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

/** The newest block up to a block of each table (cached blocks, finalized hashes), highest first. */
async function newestPins(
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
 * The last block of the chain whose events are final in the cache or in the rows of the index in `schema`; undefined
 * before the first. It is the highest that Ponder can no longer take back.
 */
export async function finalizedBlock(
  run: Statement,
  schema: string,
  chainId: number,
): Promise<number | undefined> {
  // ponder: a cached range is stored with its end raised by one. With several chains the finalized checkpoint may be another chain's; that
  // of a start, which no event has reached, ends with zeros.
  const { rows } = await run(
    `SELECT greatest((SELECT max(upper(blocks)) - 1 FROM ponder_sync.intervals WHERE chain_id = $1),
      (SELECT substr(finalized_checkpoint, 27, 16)::numeric FROM ${quoted(schema)}._ponder_checkpoint
        WHERE chain_id = $1 AND substr(finalized_checkpoint, 11, 16)::bigint = $1 AND finalized_checkpoint !~ '0{33}$'))::text AS block`,
    [chainId],
  );
  const block = rows[0]?.["block"];
  return typeof block === "string" ? Number(block) : undefined;
}

/** Keeps the hash of a finalized block. */
export async function keepHash(run: Statement, chainId: number, { number, hash }: Pin): Promise<void> {
  await createTable(run, hashes);
  const text = "INSERT INTO ponder_sync.finalized_hashes VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
  await run(text, [chainId, number, hash]);
}

// At most three requests for each chain, and one for each URL.
const [firstPause, longestPause] = [2_000, 200_000];
const metric = "nsindex_chain_contradicts_index";

type Options = { run: Statement; schema: string; log: Log };

/**
 * Compares the finalized blocks that the index rests on with the nodes while it runs, for each chain; a contradiction is logged once and
 * shown by the metric `nsindex_chain_contradicts_index`.
 */
export function createChainWatches(chains: readonly IndexedChain[], options: Options) {
  const watches = chains.map((chain) => watchChain(chain, options));
  const registry = metricsRegistry();
  // A hot reload loads the API again over the same registry.
  registry?.removeSingleMetric(metric);
  new Gauge({
    name: metric,
    help: "1 if a finalized block of the index is not on the chain of the node",
    labelNames: ["chain_id"],
    registers: registry === undefined ? [] : [registry],
    collect() {
      for (const { id, fault } of watches) this.set({ chain_id: id }, fault() === undefined ? 0 : 1);
    },
  });
  return watches;
}

/** The watch of one chain. */
export type ChainWatch = ReturnType<typeof watchChain>;

function watchChain(chain: IndexedChain, { run, schema, log }: Options) {
  const { id } = chain;
  // Also that of a node which has not caught up: it is on no other chain as far as is known.
  let found: Contradiction | undefined;
  let [since, kept] = [0, -1];
  const look = async () => {
    const urls = await ownUrls(chain);
    const fetchHash = (number: number) => firstHash(urls, number);
    if (found !== undefined && (await fetchHash(found.block)) === found.theirs) return;
    const before = found;
    found = await findContradiction(run, id, fetchHash);
    if (isContradicted(found) && !isContradicted(before)) {
      since = Math.floor(Date.now() / 1000);
      log("error", messageOf(found), { chain_id: id });
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
  const fields = { chain_id: id, section: seeOperations("While something is away") };
  return {
    id,
    /** A contradiction that was found and still holds, for clients: since when it is known (Unix seconds), and a sentence. */
    fault: () => (isContradicted(found) ? { since, reason: sentenceOf(found) } : undefined),
    /** Compares once, and keeps the hash of a newly finalized block. */
    look,
    /** Looks at once, then at growing intervals up to 200 seconds, until the returned function is called. */
    start: () => repeat(look, { everyMs, log, failure, fields }),
  };
}

const isContradicted = (found: Contradiction | undefined): found is Contradiction =>
  found?.theirs !== undefined;

async function firstHash([first = "", ...others]: readonly string[], number: number) {
  let answer = requestHash(first, number);
  for (const url of others) answer = answer.catch(() => requestHash(url, number));
  return answer;
}

/** The URLs that say that they serve the chain: others say nothing about it. Rejects if none does. */
async function ownUrls({ id, rpc }: IndexedChain): Promise<string[]> {
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

const sentenceOf = (found: Contradiction) => `${describeContradictions([found])}.`;

const messageOf = (found: Contradiction) =>
  `${sentenceOf(found)} Stop the index, run "${purgeCommands([found], "")}" and build a new index. ` +
  seeOperations("When the chain contradicts the index");
