import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isAnswered } from "../../devnet/indexing-service.ts";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";
import { childrenOf } from "../support/process-tree.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 60 });
});
afterAll(() => world?.close());

test("an invalid configuration is rejected with all its errors at once", async () => {
  world.start({ NAMESPACE: "mainet", LABELS_URL: "localhost:3223" });
  const output = await world.refusal();
  expect(output).toContain("mainet");
  expect(output).toContain("LABELS_URL");
});

test("when npm is killed, nothing that it started stays behind, and the next start waits for no lock", async () => {
  const npm = spawn("npm", ["start"], { env: world.environment, stdio: "ignore", detached: true });
  await waitUntilReady(world.url);
  npm.kill("SIGKILL");
  await waitFor("the port to be free", async () => ({ done: await freePort(world.port) }));
  await expectStartWithoutLock();
});

test("so it is when the launcher is killed", async () => {
  const [ponder] = await childrenOf(world.running().pid);
  process.kill(world.running().pid!, "SIGKILL");
  await waitFor("the indexing process to end", async () => {
    return isAlive(ponder!) ? { state: "it is alive" } : { done: true };
  });
  await expectStartWithoutLock();
});

test("SIGTERM, as sent by container runtimes, stops the service, and the next start waits for no lock", async () => {
  await expectCleanEnd("SIGTERM");
  await expectStartWithoutLock();
});

test("a second indexer says at once that it waits and for whom, and takes over when Ctrl-C stops the first", async (context) => {
  context.skip(world.databaseUrl === "", "Postgres is not installed");
  const second = await world.startBeside("start");
  const line = await waitFor("a line that says so", async () => {
    const said = second.lastLines().find((text) => text.includes("Another indexer holds schema"));
    return said === undefined ? { state: second.lastLines(3).join("\n") } : { done: said };
  });
  expect(line).toContain('schema "public", connected from 127.0.0.1. Waiting until it stops');
  await expectCleanEnd("SIGINT");
  await waitUntilReady(second.url);
  await second.stop();
});

const waitUntilReady = (url: string) => waitFor("the index", isAnswered(`${url}/ready`));

async function expectCleanEnd(signal: NodeJS.Signals) {
  expect(await world.stop(signal)).toEqual({ code: 0, signal: undefined });
  await freePort(world.port);
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
