import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestDatabase } from "../../test/support/database.ts";
import {
  addBlocks,
  addIndex,
  type ForkedChain,
  hashOn,
  openPonderCache,
  resetPonderCache,
  serveHashes,
} from "../../test/support/ponder/cache.ts";
import type { Statement } from "../ponder/sql-client.ts";
import {
  type ChainWatch,
  createChainWatches,
  finalizedBlock,
  findContradiction,
  keepHash,
} from "./finalized-blocks.ts";

let database: TestDatabase;
const run: Statement = (text, values) => database.query(text, values);
beforeAll(async () => {
  database = await openPonderCache();
});
beforeEach(() => resetPonderCache(database));
afterAll(() => database?.close());

const keptHashes = async () =>
  (await run("SELECT number::int, hash FROM ponder_sync.finalized_hashes ORDER BY 1")).rows;

// Its branch differs from block `fork` on, and ends with `head`.
function node(fork: number, head = 100_000_000) {
  const asked: number[] = [];
  return {
    asked,
    async fetchHash(number: number) {
      asked.push(number);
      return number > head ? undefined : hashOn(number >= fork ? "b" : "a", number);
    },
  };
}

test("a database without a cache, and an empty one, contradict nothing", async () => {
  for (const text of ["SELECT 1", "DROP SCHEMA ponder_sync CASCADE"]) {
    await database.exec(text);
    expect(await findContradiction(run, 1, node(0).fetchHash)).toBeUndefined();
  }
});

test("a chain that has the cached blocks is asked for the newest only", async () => {
  await addBlocks(database, 1, [3, 50, 90]);
  await addBlocks(database, 2, [95], "b");
  await keepHash(run, 1, { number: 97, hash: hashOn("a", 97) });
  const { fetchHash, asked } = node(98);
  expect(await findContradiction(run, 1, fetchHash)).toBeUndefined();
  expect(asked).toEqual([97, 90]);
});

test("a fork in blocks without events differs from the finalized hash; of a chain that ends early no hash is known", async () => {
  await addBlocks(database, 1, [3, 50]);
  await keepHash(run, 1, { number: 97, hash: hashOn("a", 97) });
  const found = { chainId: 1, block: 97, ours: hashOn("a", 97), from: 51 };
  const forked = await findContradiction(run, 1, node(60).fetchHash);
  expect(forked).toEqual({ ...found, theirs: hashOn("b", 97) });
  const short = await findContradiction(run, 1, node(1_000, 60).fetchHash);
  expect(short).toEqual({ ...found, theirs: undefined });
});

test("what remains is on the chain, wherever the fork is, at the cost of few requests; nothing is created", async () => {
  const blocks = fc.uniqueArray(fc.integer({ min: 0, max: 30_000_000 }), { minLength: 1, maxLength: 40 });
  const forked = blocks.chain((numbers) =>
    fc.tuple(fc.constant(numbers), fc.integer({ min: 0, max: Math.max(...numbers) })),
  );
  await fc.assert(
    fc.asyncProperty(forked, async ([numbers, fork]) => {
      await database.exec("TRUNCATE ponder_sync.blocks");
      await addBlocks(database, 1, numbers);
      const { fetchHash, asked } = node(fork);
      const found = await findContradiction(run, 1, fetchHash);
      const newest = Math.max(...numbers);
      const common = Math.max(-1, ...numbers.filter((number) => number < fork));
      expect(found?.block).toBeGreaterThanOrEqual(fork);
      expect(found?.from).toBeLessThanOrEqual(common + 1);
      // As far below the common block as that is below the newest, and the gap to the next cached one.
      const deepest = numbers.filter((number) => number <= newest - 2 * (newest - common) - 1);
      expect(found?.from).toBeGreaterThanOrEqual(Math.max(-1, ...deepest) + 1);
      expect(asked.length).toBeLessThanOrEqual(26);
    }),
    { numRuns: 30 },
  );
  // `doctor` asks as well.
  const { rows } = await run("SELECT to_regclass('ponder_sync.finalized_hashes') AS found");
  expect(rows).toEqual([{ found: null }]);
});

test("the finalized block is the end of the cache, or the index's own where nothing is cached", async () => {
  await addIndex(database, "names", { chainId: 1, block: 70 });
  expect(await finalizedBlock(run, "names", 1)).toBe(70);
  expect(await finalizedBlock(run, "names", 2)).toBeUndefined();
  // Ponder stores blocks 3 to 90 in this form.
  await database.exec("INSERT INTO ponder_sync.intervals VALUES ('log_1', 1, '{[3,91]}')");
  expect(await finalizedBlock(run, "names", 1)).toBe(90);
});

describe("a watch", () => {
  let chain: ForkedChain;
  let url: Awaited<ReturnType<typeof serveHashes>>;
  let lines: string[];
  let watch: ChainWatch;
  const watchOf = (http: string[]): ChainWatch => {
    const log = (level: string, message: string) => void lines.push(`${level}: ${message}`);
    const chains = [{ id: 1, name: "mainnet", rpc: { http } }];
    return createChainWatches(chains, { run, schema: "names", log })[0]!;
  };
  beforeEach(async () => {
    lines = [];
    chain = { fork: 1_000, head: 1_000 };
    url = await serveHashes(chain);
    await addBlocks(database, 1, [40, 60]);
    await addIndex(database, "names", { chainId: 1, block: 70 });
    // The first URL does not respond.
    watch = watchOf(["http://127.0.0.1:1", url.url]);
  });
  afterEach(() => url.close());

  const kept = [{ number: 70, hash: hashOn("a", 70) }];
  const fault = {
    since: expect.any(Number),
    reason: `The chain contradicts the index: block 60 of chain 1 is ${hashOn("a", 60)} in the index, ${hashOn("b", 60)} at the node.`,
  };

  test("keeps the hash of the finalized block, and then asks for two blocks at a time", async () => {
    await watch.look();
    expect(await keptHashes()).toEqual(kept);
    url.asked.length = 0;
    await watch.look();
    expect(url.asked).toEqual([70, 60]);
    expect(watch.fault()).toBeUndefined();
  });

  test("reports a fork once, until the node returns to the blocks of the index", async () => {
    await watch.look();
    chain.fork = 50;
    await watch.look();
    await watch.look();
    expect(watch.fault()).toEqual(fault);
    expect(lines).toEqual([
      `error: ${fault.reason} Stop the index, run "npm run cache -- purge --chain 1 --from 41" and build a new index. ` +
        'See "When the chain contradicts the index" in docs/runbook.md.',
    ]);
    chain.fork = 1_000;
    await watch.look();
    expect(watch.fault()).toBeUndefined();
  });

  test("takes a node that lags behind for no fork", async () => {
    chain.head = 50;
    await watch.look();
    expect(watch.fault()).toBeUndefined();
    url.asked.length = 0;
    await watch.look();
    expect(url.asked).toEqual([60]);
  });

  test("leaves a URL aside that serves another chain, and keeps none of its hashes", async () => {
    const stranger = await serveHashes({ fork: 0, head: 1_000, id: 5 });
    await expect(watchOf([stranger.url]).look()).rejects.toThrow("no RPC URL serves chain 1 now");
    const beside = watchOf([stranger.url, url.url]);
    await beside.look();
    expect(beside.fault()).toBeUndefined();
    expect(await keptHashes()).toEqual(kept);
    // A fork is seen beside it all the same.
    chain.fork = 50;
    await beside.look();
    expect(beside.fault()).toEqual(fault);
    stranger.close();
  });
});
