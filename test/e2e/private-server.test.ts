import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../devnet/wait.ts";
import { startWorld, type World } from "../support/world.ts";

// Without DATABASE_URL. The tests continue each other.

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 400, databaseUrl: "" });
});
afterAll(() => world?.close());

const blocksAsked = () => world.node.counts()["eth_getBlockByNumber"] ?? 0;

test("a backfill on a private server resumes after kill -9 of the launcher", async () => {
  world.node.faults.set({ delayMs: 15 });
  world.start();
  await world.waitFor("the backfill to be in its middle", async () =>
    blocksAsked() > 100 ? { done: true } : { state: `${blocksAsked()} blocks were fetched` },
  );
  process.kill(world.running().pid ?? 0, "SIGKILL");
  await world.running().ended;
  world.node.faults.set({ delayMs: 0 });
  const before = blocksAsked();

  world.start();
  await world.waitForIndex();
  expect(blocksAsked() - before).toBeLessThan(400);
  world.node.chain.setHead(440);
  await world.waitForIndex({ block: 440 });
  const { total, differences } = await world.compareWithRecording(440);
  expect(differences).toEqual([]);
  expect(total).toBeGreaterThan(1_500);
});

test("while it runs, commands and readers use its server, and another start is refused", async () => {
  expect(await world.run("db", ["list"])).toMatchObject({
    code: 0,
    output: expect.stringContaining("public, release"),
  });
  const reader = await world.startBeside("serve");
  const text = '{"query":"{ _meta { block { number } } }"}';
  const body = await waitFor("the reader", async () => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: text };
    const response = await fetch(`${reader.url}/subgraph`, init).catch(() => undefined);
    return response?.status === 200 ? { done: await response.json() } : { state: `${response?.status}` };
  });
  expect(body).toEqual({ data: { _meta: { block: { number: 440 } } } });
  await reader.stop("SIGINT");
  const other = await world.startBeside("start");
  expect(await other.ended).toMatchObject({ code: 78 });
  expect(other.lastLines().join("\n")).toContain("Another process uses the database in ");
});

test("it stops with the service, and a command starts it for itself", async () => {
  expect(await world.stop()).toEqual({ code: 0, signal: undefined });
  expect(await world.run("db", ["list"])).toMatchObject({
    code: 0,
    output: expect.stringContaining("stopped"),
  });
});
