import type { PGlite } from "@electric-sql/pglite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  addBlocks,
  addIndex,
  type ForkedChain,
  hashOn,
  openPonderCache,
  resetPonderCache,
  serveHashes,
} from "../../test/support/ponder/cache.ts";
import { type ChainWatch, createChainWatch } from "./finalized-blocks.ts";

let database: PGlite;
let chain: ForkedChain;
let node: Awaited<ReturnType<typeof serveHashes>>;
let lines: string[];
let watch: ChainWatch;
beforeAll(async () => {
  database = await openPonderCache();
});
beforeEach(async () => {
  lines = [];
  chain = { fork: 1_000, head: 1_000 };
  node = await serveHashes(chain);
  await resetPonderCache(database);
  await addBlocks(database, 1, [40, 60]);
  await addIndex(database, "names", { chainId: 1, block: 70 });
  watch = createChainWatch({
    // The first URL does not respond.
    chains: [{ id: 1, name: "mainnet", rpc: { http: ["http://127.0.0.1:1", node.url] } }],
    run: (text, values) => database.query(text, values),
    schema: "names",
    log: (level, message) => void lines.push(`${level}: ${message}`),
  });
});
afterEach(() => node.close());
afterAll(() => database?.close());

test("keeps the hashes of block 0 and of the finalized block, and then asks for two blocks at a time", async () => {
  await watch.look();
  const { rows } = await database.query(
    "SELECT number::int, hash FROM ponder_sync.finalized_hashes ORDER BY 1",
  );
  expect(rows).toEqual([
    { number: 0, hash: hashOn("a", 0) },
    { number: 70, hash: hashOn("a", 70) },
  ]);
  node.asked.length = 0;
  await watch.look();
  expect(node.asked).toEqual([70, 60]);
  expect(watch.current()).toBeUndefined();
});

test("reports a fork once, and keeps no hash of it", async () => {
  await watch.look();
  chain.fork = 50;
  await watch.look();
  await watch.look();
  expect(watch.current()).toEqual({
    chainId: 1,
    block: 60,
    ours: hashOn("a", 60),
    theirs: hashOn("b", 60),
    from: 41,
  });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("error: The chain contradicts the index");
  expect(lines[0]).toContain("npm run cache -- purge --chain 1 --from 41");
});

test("a node that returns to the blocks of the index ends the contradiction", async () => {
  chain.fork = 50;
  await watch.look();
  expect(watch.current()?.block).toBe(60);
  chain.fork = 1_000;
  await watch.look();
  expect(watch.current()).toBeUndefined();
});

test("a node that lags behind contradicts nothing", async () => {
  chain.head = 50;
  await watch.look();
  expect(watch.current()).toBeUndefined();
  node.asked.length = 0;
  await watch.look();
  expect(node.asked).toEqual([60]);
  chain.head = 1_000;
  chain.fork = 55;
  await watch.look();
  expect(watch.current()?.block).toBe(60);
});

test("a URL that serves another chain contradicts nothing, and none of its hashes is kept", async () => {
  const stranger = await serveHashes({ fork: 0, head: 1_000, id: 5 });
  const watchOf = (http: string[]) =>
    createChainWatch({
      chains: [{ id: 1, name: "mainnet", rpc: { http } }],
      run: (text, values) => database.query(text, values),
      schema: "names",
      log: (level, message) => void lines.push(`${level}: ${message}`),
    });
  const alone = watchOf([stranger.url]);
  await alone.look();
  expect(alone.current()).toBeUndefined();
  expect(lines).toEqual([expect.stringContaining("no RPC URL serves chain 1 now")]);
  const beside = watchOf([stranger.url, node.url]);
  await beside.look();
  expect(beside.current()).toBeUndefined();
  const { rows } = await database.query(
    "SELECT number::int, hash FROM ponder_sync.finalized_hashes ORDER BY 1",
  );
  expect(rows).toEqual([0, 70].map((number) => ({ number, hash: hashOn("a", number) })));
  // A fork is seen beside it all the same.
  chain.fork = 50;
  await beside.look();
  expect(beside.current()?.block).toBe(60);
  stranger.close();
});
