import { afterAll, beforeAll, expect, test } from "vitest";
import { storedRows } from "../support/stored-rows.ts";
import { startWorld, type World } from "../support/world.ts";

// The recording of the root chain, indexed with this project's stores and with those that Ponder comes with: each index
// begins with one kind and goes on with the other, from a block on that is not finalized.

const [restartedAt, last] = [1_630, 1_666];
const environment = {
  PLUGINS: "subgraph,registrars,protocol-acceleration,tokenscope",
  SUBGRAPH_COMPAT: "false",
};

let own: World;
let stock: World;
beforeAll(async () => {
  own = await startWorld({ head: restartedAt, environment });
  stock = await startWorld({ chain: own.node, environment });
});
afterAll(async () => {
  await stock?.close();
  await own?.close();
});

test("an index is the same with either kind of stores, and goes on with the other", async () => {
  own.start();
  stock.start({ PONDER_STORES: "stock" });
  for (const world of [own, stock]) {
    await world.waitForIndex({ block: restartedAt });
    await world.stop();
  }
  own.node.chain.setHead(last);
  own.start({ PONDER_STORES: "stock" });
  stock.start();
  for (const world of [own, stock]) await world.waitForIndex({ block: last });
  const [rows, others] = [await storedRows(own.databaseUrl), await storedRows(stock.databaseUrl)];
  expect(new Set(rows.map((row) => row.split(" ")[0])).size).toBeGreaterThan(12);
  expect(rows.filter((row) => row.startsWith("domain ")).length).toBeGreaterThan(100);
  expect(others).toEqual(rows);
});
