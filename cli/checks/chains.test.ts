import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Config } from "../../src/config/environment.ts";
import { saveUnverified } from "../../src/operations/cache.ts";
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
import { waitForCheck } from "../checks.ts";
import { describeError } from "../command.ts";
import { examineBlocks } from "./chains.ts";

let database: TestDatabase;
let messages: string[];
const nodes: { close(): void }[] = [];
beforeAll(async () => {
  database = await openPonderCache();
});
afterAll(() => database.close());
beforeEach(async () => {
  messages = [];
  await resetPonderCache(database);
  await addBlocks(database, 1, [40, 60]);
  await addIndex(database, "public", { chainId: 1, block: 70 });
});
afterEach(() => {
  for (const node of nodes.splice(0)) node.close();
});

async function startNode(chain: ForkedChain): Promise<string> {
  const node = await serveHashes(chain);
  nodes.push(node);
  return node.url;
}

const check = (http: string[], { namespace = "mainnet", wait = async () => {} }: Partial<Options> = {}) => {
  const chains = [{ id: 1, name: "mainnet", rpc: { http } }];
  const config = { namespace, chains, databaseUrl: database.url, databaseSchema: "public" };
  return waitForCheck({ subject: "blocks", run: examineBlocks }, config as unknown as Config, {
    log: (message) => void messages.push(message),
    wait,
  });
};
type Options = { namespace: "mainnet" | "ens-test-env"; wait: () => Promise<void> };

async function cached(): Promise<number[]> {
  const { rows } = await database.query<{ number: number }>(
    "SELECT number::int FROM ponder_sync.blocks ORDER BY 1",
  );
  return rows.map(({ number }) => number);
}

test("a chain that has the index's blocks starts without a word", async () => {
  await check([await startNode({ fork: 61, head: 100 })]);
  expect(messages).toEqual([]);
  expect(await cached()).toEqual([40, 60]);
});

test("an index on another branch is refused, and the message says how to build a new one", async () => {
  const refusal = await check([await startNode({ fork: 50, head: 100 })]).catch(describeError);
  expect(refusal).toBe(
    `The chain contradicts the index: block 60 of chain 1 is ${hashOn("a", 60)} in the index, ${hashOn("b", 60)} at the node. ` +
      "Nothing was changed. Remove the blocks that the chain no longer has:\n\n" +
      "  npm run cache -- purge --chain 1 --from 41\n\n" +
      "Then build a new index. Set a new DATABASE_SCHEMA; once nothing uses the old index, npm run db -- prune public removes it.\n" +
      'See "When the chain contradicts the index" in docs/runbook.md.',
  );
  expect(await cached()).toEqual([40, 60]);
});

test("nodes that contradict each other are named without their keys", async () => {
  const [first, second] = [
    await startNode({ fork: 100, head: 100 }),
    await startNode({ fork: 50, head: 100 }),
  ];
  await expect(check([`${first}/key`, `${second}/key`])).rejects.toThrow(
    `The nodes of chain 1 contradict each other: block 60 is ${hashOn("a", 60)} at RPC_URL_1 entry 1 (${new URL(first).host}) ` +
      `and ${hashOn("b", 60)} at RPC_URL_1 entry 2 (${new URL(second).host}).`,
  );
  expect(await cached()).toEqual([40, 60]);
});

test("a node that lags behind is waited for", async () => {
  const chain = { fork: 100, head: 50 };
  const wait = async () => {
    chain.head = 100;
  };
  await check([await startNode(chain)], { wait });
  expect(messages).toEqual([
    'The node of chain 1 has no block 60 yet, which the index rests on; trying again every 2 s. See "When the chain contradicts the index" in docs/runbook.md.',
  ]);
});

test("a test chain that is shorter was recreated", async () => {
  const nodes = [await startNode({ fork: 100, head: 50 })];
  await expect(check(nodes, { namespace: "ens-test-env" })).rejects.toThrow("the node has no such block");
});

test("nodes that do not respond do not hold up the start", async () => {
  await check(["http://127.0.0.1:1"]);
  expect(messages).toEqual([expect.stringContaining("Could not compare chain 1 with the index")]);
});

test("an index with unverified blocks is refused, with the command that removes them", async () => {
  await saveUnverified((text, values) => database.query(text, values), "public", [
    { chainId: 1, from: 50, to: 70 },
  ]);
  await expect(check([await startNode({ fork: 100, head: 100 })])).rejects.toThrow(
    /^RPC endpoint returned incomplete .*npm run cache -- purge --chain 1 --from 50 --to 70\n\nThen build a new index\./s,
  );
});
