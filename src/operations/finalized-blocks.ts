import { Gauge } from "prom-client";
import type { IndexedChain } from "../config/chains.ts";
import { type Log, seeOperations } from "../log/json-log.ts";
import { parseCheckpoint } from "../ponder/checkpoints.ts";
import { metricsRegistry } from "../ponder/process.ts";
import { requestChainId, requestHash } from "../ponder/rpc-request.ts";
import { hasTable, quoted, type Statement } from "../ponder/sql-client.ts";

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

const firstPause = 2_000;
// At most three requests for each chain: fewer than one a minute.
const longestPause = 200_000;
const metric = "nsindex_chain_contradicts_index";

/** Compares the finalized blocks that the index rests on with the nodes while it runs. */
export type ChainWatch = {
  /** The first contradiction that was found and still holds; undefined while chains and index agree. */
  current(): Contradiction | undefined;
  /** The same for clients: since when it is known (Unix seconds), and a sentence. */
  fault(): { since: number; reason: string } | undefined;
  /** Compares each chain once and keeps the hashes of newly finalized blocks; never rejects. */
  look(): Promise<void>;
  /** Looks at once, then at growing intervals up to 200 seconds, until `stop`. */
  start(): void;
  stop(): void;
};

type Options = { chains: readonly IndexedChain[]; run: Statement; schema: string; log: Log };

/** Watches chains; a contradiction is logged once and shown by the metric `nsindex_chain_contradicts_index`. */
export function createChainWatch(options: Options): ChainWatch {
  const { chains } = options;
  const watched = chains.map((chain) => ({ chain, ...watchChain(chain, options) }));
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;
  showMetric(chains, (chainId) => watched.some(({ chain, current }) => chain.id === chainId && current()));

  const look = async () => {
    await Promise.all(watched.map((one) => one.look(() => isOpen)));
  };
  const loop = async (pause: number) => {
    await look();
    if (isOpen) timer = setTimeout(() => void loop(Math.min(pause * 2, longestPause)), pause).unref();
  };
  const current = () => watched.map((one) => one.current()).find((found) => found !== undefined);
  return {
    current,
    fault: () => watched.map((one) => one.fault()).find((fault) => fault !== undefined),
    look,
    start: () => void loop(firstPause),
    stop: () => {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}

function watchChain(chain: IndexedChain, { run, schema, log }: Options) {
  const chainId = chain.id;
  const fetchHash = (number: number) => firstHash(chain.rpc.http, number);
  // Also that of a node which has not caught up: it is on no other chain as far as is known.
  let found: Contradiction | undefined;
  let since = 0;
  let kept: number | undefined;
  let isFailing = false;

  async function compare(): Promise<void> {
    if (found !== undefined && (await fetchHash(found.block)) === found.theirs) return;
    const before = found;
    // A URL of another chain says nothing about this one.
    const fetchOwn = async (number: number) => firstHash(await ownUrls(chain), number);
    const seen = await findContradiction(run, chainId, fetchHash);
    found = isContradicted(seen) ? await findContradiction(run, chainId, fetchOwn) : seen;
    if (found === undefined) kept = await keepFinalized({ run, schema }, chainId, fetchOwn, kept);
    if (found === undefined || !isContradicted(found) || isContradicted(before)) return;
    since = Math.floor(Date.now() / 1000);
    log("error", messageOf(found), { chain_id: chainId });
  }

  return {
    current: () => (isContradicted(found) ? found : undefined),
    fault: () => (found && isContradicted(found) ? { since, reason: sentenceOf(found) } : undefined),
    async look(isOpen: () => boolean): Promise<void> {
      try {
        await compare();
        isFailing = false;
      } catch (error) {
        // An outage of nodes or database says nothing about the chain.
        if (!isOpen() || isFailing) return;
        isFailing = true;
        const reason = error instanceof Error ? error.message : String(error);
        log("warn", `Could not compare the chain with the index, will try again: ${reason}`, {
          chain_id: chainId,
          section: seeOperations("While something is away"),
        });
      }
    },
  };
}

const isContradicted = (found: Contradiction | undefined) => found?.theirs !== undefined;

/** Keeps the hash of the finalized block unless it is that of `last`; returns the newest block whose hash is kept. */
async function keepFinalized(
  { run, schema }: Pick<Options, "run" | "schema">,
  chainId: number,
  fetchHash: FetchHash,
  last: number | undefined,
): Promise<number | undefined> {
  const finalized = await finalizedBlock(run, schema, chainId);
  if (finalized === undefined || finalized === last) return last;
  // Block 0 identifies a test chain that was recreated before its first event.
  for (const number of last === undefined ? [0, finalized] : [finalized]) {
    const hash = await fetchHash(number);
    if (hash === undefined) return last;
    await keepHash(run, chainId, { number, hash });
  }
  return finalized;
}

async function firstHash([first = "", ...others]: readonly string[], number: number) {
  let answer = requestHash(first, number);
  for (const url of others) answer = answer.catch(() => requestHash(url, number));
  return answer;
}

/** The URLs that say that they serve the chain. Rejects if none does. */
async function ownUrls({ id, rpc }: IndexedChain): Promise<string[]> {
  const ids = await Promise.all(rpc.http.map((url) => requestChainId(url).catch(() => undefined)));
  const own = rpc.http.filter((_, place) => ids[place] === id);
  if (own.length === 0) throw new Error(`no RPC URL serves chain ${id} now`);
  return own;
}

function sentenceOf({ chainId, block, ours, theirs }: Contradiction): string {
  return `The chain contradicts the index: block ${block} of chain ${chainId} is ${ours} in the index, ${theirs} at the node.`;
}

function messageOf(contradiction: Contradiction): string {
  const { from, chainId } = contradiction;
  return (
    `${sentenceOf(contradiction)} Stop the index, run ` +
    `"npm run cache -- purge --chain ${chainId} --from ${from}" and build a new index. ` +
    seeOperations("When the chain contradicts the index")
  );
}

function showMetric(chains: readonly IndexedChain[], isShown: (chainId: number) => boolean): void {
  const registry = metricsRegistry();
  if (registry === undefined) return;
  // A hot reload loads the API again over the same registry.
  registry.removeSingleMetric(metric);
  new Gauge({
    name: metric,
    help: "1 if a finalized block of the index is not on the chain of the node",
    labelNames: ["chain_id"],
    registers: [registry],
    collect() {
      for (const { id } of chains) this.set({ chain_id: id }, isShown(id) ? 1 : 0);
    },
  });
}
