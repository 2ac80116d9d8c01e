import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isPortFree } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";
import { childrenOf } from "../support/process-tree.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 60, database: "embedded" });
});
afterAll(() => world?.close());

test("a node of another chain is rejected with the variable to correct", async () => {
  const service = world.start({ NAMESPACE: "sepolia", RPC_URL_11155111: world.node.url });
  expect(await service.ended).toEqual({ code: 78, signal: undefined });
  const output = service.lastLines().join("\n");
  expect(output).toContain("answers for chain 15658733, not for chain 11155111. Correct RPC_URL_11155111.");
});

test("a port in use is rejected instead of replaced by another", async () => {
  const other = createServer().listen(world.port);
  const service = world.start();
  expect(await service.ended).toEqual({ code: 78, signal: undefined });
  expect(service.lastLines().join("\n")).toContain(`Port ${world.port} is taken by another process.`);
  other.close();
});

test("an invalid configuration is rejected with all its errors at once", async () => {
  const service = world.start({ NAMESPACE: "mainet", LABELS_URL: "localhost:3223" });
  expect(await service.ended).toEqual({ code: 78, signal: undefined });
  const output = service.lastLines().join("\n");
  expect(output).toContain("mainet");
  expect(output).toContain("LABELS_URL");
});

test("SIGTERM, as sent by container runtimes, stops the service, and the next start waits for no lock", async () => {
  world.start();
  await world.waitForIndex();
  await expectCleanEnd("SIGTERM");
  await expectStartWithoutLock();
});

test("so does Ctrl-C", async () => {
  await expectCleanEnd("SIGINT");
  await expectStartWithoutLock();
});

test("when the launcher is killed, the indexing process releases its lock and ends", async () => {
  const [ponder] = await childrenOf(world.running().pid);
  process.kill(world.running().pid!, "SIGKILL");
  await waitFor("the indexing process to end", async () => {
    return isAlive(ponder!) ? { state: "it is alive" } : { done: true };
  });
  await expectStartWithoutLock();
});

test("a test chain that was recreated under its id is indexed anew, although it is shorter", async () => {
  await expectCleanEnd("SIGINT");
  const { node } = world;
  node.chain.setHead(0);
  for (let block = 0; block < 5; block++) {
    const now = Math.floor(Date.now() / 1000);
    const transactions =
      block === 0 ? node.scenario?.registerName(now, { label: "recreated", owner: 1 }) : [];
    node.mineBlock({ transactions: transactions ?? [] });
  }
  const service = world.start();
  await world.waitForIndex({ block: 5 });
  expect(service.lastLines(500).filter((line) => line.includes("The index starts over"))).toHaveLength(1);
  expect(await world.query("{ registrations { labelName } _meta { block { number } } }")).toEqual({
    registrations: [{ labelName: "recreated" }],
    _meta: { block: { number: 5 } },
  });
});

async function expectCleanEnd(signal: NodeJS.Signals) {
  expect(await world.stop(signal)).toEqual({ code: 0, signal: undefined });
  expect(await isPortFree(world.port)).toBe(true);
}

async function expectStartWithoutLock() {
  const next = world.start();
  await world.waitForIndex();
  expect(next.lastLines(500).filter((line) => /\block(ed)?\b/i.test(line))).toEqual([]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
