import { afterEach, expect, test } from "vitest";
import { type Liar, type Lying, startLiar } from "../../devnet/rpc/liar.ts";
import { waitFor } from "../../devnet/wait.ts";
import { chainIds } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const opened of open.splice(0).reverse()) await opened.close();
});

/** An index of the recorded chain up to `head`, by a node that lies, and an honest one if `isAlone` is not set. */
async function startWithLiar(
  lying: Lying,
  { isAlone, head = 1600 }: { isAlone: boolean; head?: number },
): Promise<[World, Liar]> {
  const world = await startWorld({ head });
  open.push(world);
  const liar = await startLiar({ target: world.node.url, lying, seed: 7 });
  open.push(liar);
  world.start({
    [`RPC_URL_${chainIds.root}`]: isAlone ? liar.url : `${liar.url},${world.node.url}`,
    RPC_CROSS_CHECK_PERCENT: "100",
  });
  return [world, liar];
}

const checks = async (world: World) => {
  const metrics = await (await fetch(`${world.url}/metrics`)).text();
  return metrics.split("\n").filter((line) => line.startsWith("names_rpc_checks_total{"));
};

test("a second URL shows which one leaves out logs of the backfill, and answers in its place", async () => {
  const [world, liar] = await startWithLiar(
    { kinds: ["drop", "dropBlock", "truncate", "empty"], rate: 1, of: "ranges", limit: 9 },
    { isAlone: false },
  );
  await world.waitForIndex();
  world.node.chain.setHead(1666);
  await world.waitForIndex();
  expect((await world.compareWithRecording()).differences).toEqual([]);
  expect(liar.told()).toBeGreaterThan(0);
  const counted = await checks(world);
  expect(counted.some((line) => /host="localhost",kind="put-aside"/.test(line))).toBe(true);
  expect(counted.some((line) => /host="127.0.0.1",kind="(put-aside|missing-logs)"/.test(line))).toBe(false);
});

test("answers out of form, order or range are asked for again, and live logs that do not fit the header too", async () => {
  const forms = ["duplicate", "disorder", "outside"] as const;
  const [world, liar] = await startWithLiar({ kinds: forms, rate: 0.2, of: "ranges" }, { isAlone: true });
  await world.waitForIndex();
  const toldOfRanges = liar.told();
  expect(toldOfRanges).toBeGreaterThan(0);
  liar.lie({ kinds: ["drop", "empty", "foreignHash", ...forms], rate: 0.3, of: "blocks" });
  world.node.chain.setHead(1666);
  await world.waitForIndex();
  expect(liar.told()).toBeGreaterThan(toldOfRanges);
  expect((await world.compareWithRecording()).differences).toEqual([]);
});

test("a single URL that leaves out logs of the backfill holds the index back, and the log says why", async () => {
  const [world] = await startWithLiar(
    { kinds: ["drop"], rate: 1, of: "ranges" },
    { isAlone: true, head: 300 },
  );
  const said = /Refused logs of localhost: the logs of block \d+ differ from the receipts of localhost/;
  await waitFor("a refusal", async () => {
    const lines = world.running().lastLines().join("\n");
    return said.test(lines) ? { done: lines } : { state: lines };
  });
  expect((await checks(world)).some((line) => /host="localhost",kind="missing-logs"/.test(line))).toBe(true);
  expect((await fetch(`${world.url}/ready`)).status).toBe(503);
});
