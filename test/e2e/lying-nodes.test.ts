import { afterEach, expect, test } from "vitest";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { type Liar, type Lying, startLiar } from "../../devnet/rpc/liar.ts";
import { waitFor } from "../../devnet/wait.ts";
import { query } from "../support/postgres.ts";
import { recordingAs, recordingOf, sepolia, sepoliaDatasources } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

// The recorded chain is indexed up to a block, and followed to the last. The events of its entities say what logs the
// index has.
const [first, live, last] = [340, 370, 406];

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const opened of open.splice(0).reverse()) await opened.close();
});

/** An index of the recorded chain by a node that lies, and an honest one if `isAlone` is not set. */
async function startWithLiar(
  lying: Lying,
  { isAlone, environment = {} }: { isAlone: boolean; environment?: Record<string, string> },
): Promise<[World, Liar]> {
  const world = await startWorld({ head: first });
  open.push(world);
  const liar = await startLiar({ target: world.node.url, lying, seed: 7 });
  open.push(liar);
  world.start({
    [`RPC_URL_${chainIds.root}`]: isAlone ? liar.url : `${liar.url},${world.node.url}`,
    RPC_CROSS_CHECK_PERCENT: "100",
    ...environment,
  });
  return [world, liar];
}

async function expectAsRecorded(world: World) {
  const { total, differences } = await world.compareWithRecording(last);
  expect(differences).toEqual([]);
  expect(total).toBeGreaterThan(1_500);
}

const proven = { provenFrom: { [chainIds.root]: 0 } };

const checks = async (world: World) => {
  const metrics = await (await fetch(`${world.url}/metrics`)).text();
  return metrics.split("\n").filter((line) => line.startsWith("nsindex_rpc_checks_total{"));
};

test("a second URL shows which one leaves out or changes data, in logs and receipts alike, and answers in its place; the API says from where on all is proven", async () => {
  const change = { kind: "data", rate: 0.2, of: "logs and receipts" } as const;
  const [world, liar] = await startWithLiar(
    { kinds: ["drop", "dropBlock", "truncate", "empty"], rate: 1, of: "ranges", limit: 9, change },
    { isAlone: false, environment: { RPC_VERIFY: "receipts" } },
  );
  await world.waitForIndex();
  world.node.chain.setHead(last);
  await world.waitForIndex();
  await expectAsRecorded(world);
  expect(liar.told()).toBeGreaterThan(0);
  const counted = await checks(world);
  expect(counted.some((line) => /host="localhost",kind="put-aside"/.test(line))).toBe(true);
  expect(counted.some((line) => /host="127.0.0.1",kind="(put-aside|missing-logs)"/.test(line))).toBe(false);
  for (const path of ["/api/config", "/api/indexing-status"])
    expect(await (await fetch(`${world.url}${path}`)).json()).toMatchObject(
      path === "/api/config" ? proven : { ...proven, responseCode: "ok" },
    );
});

test("from a URL that lies alone and an archive with all headers, what one trusted hash proves is indexed", async () => {
  const world = await startWorld({ head: last, archived: { [chainIds.root]: last } });
  open.push(world);
  // Blocks near the head are not final, and asked of the node.
  for (let block = 0; block < 200; block++) world.node.mineBlock();
  const change = { kind: "data", rate: 1, of: "logs and receipts" } as const;
  const liar = await startLiar({
    target: world.node.url,
    lying: { kinds: ["dropBlock"], rate: 1, of: "both", change },
    seed: 7,
  });
  open.push(liar);
  const hash = String(recordingOf("root").blocks[last]?.["hash"]);
  world.start({
    [`RPC_URL_${chainIds.root}`]: liar.url,
    [`TRUSTED_BLOCK_${chainIds.root}`]: `${last}:${hash}`,
    RPC_VERIFY: "receipts",
    END_BLOCK: String(last),
  });
  await world.waitForIndex({ block: last });
  await expectAsRecorded(world);
  const status = (await (await fetch(`${world.url}/api/indexing-status`)).json()) as object;
  expect(status).toMatchObject({ provenFrom: { [chainIds.root]: 0 } });
});

test("a single URL that leaves out logs holds the index back, and the log says why; what is out of form, order or range, changed, missing or broken does no harm", async () => {
  const [world, liar] = await startWithLiar({ kinds: ["drop"], rate: 1, of: "ranges" }, { isAlone: true });
  const said = /Rejected logs from localhost: the logs of block \d+ differ from the receipts of localhost/;
  await waitFor("a refusal", async () => {
    const lines = world.running().lastLines().join("\n");
    return said.test(lines) ? { done: lines } : { state: lines };
  });
  expect((await checks(world)).some((line) => /host="localhost",kind="missing-logs"/.test(line))).toBe(true);
  expect((await fetch(`${world.url}/ready`)).status).toBe(503);

  const forms = ["duplicate", "disorder", "outside"] as const;
  const kinds = ["flap", "hashChange", "nullBlock", "malformed", "cutBody", "tooMany"] as const;
  const faults = { kinds, rate: 0.2 };
  const before = liar.told();
  liar.lie({ kinds: forms, rate: 0.2, of: "ranges", faults });
  await world.waitForIndex();
  // A fifth of some five hundred requests: a range that fails is asked for again, not those after it as often.
  expect(liar.told() - before).toBeGreaterThan(20);
  expect(liar.told() - before).toBeLessThan(300);

  // Live logs are those of the receipts that the header proves.
  liar.lie({ kinds: ["drop", "empty", "foreignHash", ...forms], rate: 0.3, of: "blocks" });
  const told = liar.told();
  world.node.chain.setHead(live);
  await world.waitForIndex();
  expect(liar.told()).toBe(told);

  liar.lie({ kinds: [], rate: 0, of: "both", faults });
  for (let head = live; head < last; head += 6) {
    world.node.chain.setHead(head);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // ponder: an older newest block takes the index back to it for a moment. Nothing does while rows are compared.
  liar.lie({ kinds: [], rate: 0, of: "both" });
  world.node.chain.setHead(last);
  await world.waitForIndex();
  await expectAsRecorded(world);
});

test("what a URL returned before it was found wrong is unverified: the start is refused until it is purged; a check finds what else the cache lacks", async () => {
  const world = await startWorld({
    node: { recording: recordingAs("root", sepolia) },
    head: first,
    datasources: sepoliaDatasources(),
    environment: { NAMESPACE: "sepolia", DATABASE_SCHEMA: "names_v1" },
  });
  open.push(world);
  // It tells the truth at first, so that what it leaves out later is stored before it is found.
  const liar = await startLiar({
    target: world.node.url,
    lying: { kinds: ["dropBlock"], rate: 0.5, of: "ranges", truthful: 12 },
    seed: 3,
  });
  open.push(liar);
  const rpc = (urls: string) => ({ [`RPC_URL_${sepolia}`]: urls });
  const cache = (args: string) => world.run("cache", args.split(" "), rpc(world.node.url));
  world.start(rpc(liar.url));
  const reason = await world.waitFor("the doubt", async () => {
    const body = (await (await fetch(`${world.url}/api/indexing-status`)).json()) as {
      stale?: { reason: string };
    };
    return body.stale === undefined ? { state: "not stale" } : { done: body.stale.reason };
  });
  expect(reason).toMatch(
    /returned incomplete or fabricated logs.* run "npm run cache -- purge --chain 11155111 --from \d+ --to \d+"/,
  );
  expect((await fetch(`${world.url}/amirealtime`)).status).toBe(503);
  await world.stop();
  world.start(rpc(liar.url));
  const said = await world.refusal();
  expect(said).toContain("When a node leaves out logs");
  for (const [, command] of said.matchAll(/npm run cache -- (purge --chain \d+ --from \d+ --to \d+)/g))
    await cache(command as string);

  // The next index reads what is left, with stores as Ponder's own, and asks the honest node for the rest.
  const next = { ...rpc(world.node.url), DATABASE_SCHEMA: "names_v2", PONDER_STORES: "stock" };
  world.start(next);
  world.node.chain.setHead(last);
  await world.waitForIndex();
  await expectAsRecorded(world);
  await world.stop();
  const args = `check --chain ${sepolia} --samples 40 --seed 5`;
  const sound = await cache(args);
  expect(sound.output).toMatch(
    /0 of 40 ranges differ: at most 7\.22 % of them are wrong, at 95 % confidence/,
  );
  expect(sound.code).toBe(0);

  const change = async <Row extends object>(text: string) => query<Row>(world.databaseUrl, text);
  const late = await change(
    "UPDATE ponder_sync.blocks SET timestamp = timestamp + 1 WHERE number > 200 RETURNING number",
  );
  expect(late.length).toBeGreaterThan(50);
  await change(
    "UPDATE ponder_sync.logs SET data = overlay(data placing '7' from 20) WHERE block_number > 200",
  );
  const [{ block } = { block: 0 }] = await change<{ block: number }>(
    `DELETE FROM ponder_sync.logs WHERE block_number = (SELECT max(block_number) FROM ponder_sync.logs WHERE block_number < 150)
    RETURNING block_number::int AS block`,
  );
  const narrow = `${args} --from ${block - 20} --to ${block + 20}`;
  const wrong = await cache(narrow);
  expect(wrong.code).toBe(1);
  expect(wrong.output).toContain(`of block ${block}, of 0x`);
  expect(wrong.output).toContain("is missing in the cache");
  const changed = await cache(`${args} --from 201`);
  expect(changed.output).toMatch(/Block \d+ has another timestamp in the cache than at the node/);
  expect(changed.output).toContain("is too many in the cache");
  const command = /npm run cache -- (purge --chain \d+ --from \d+ --to \d+)/.exec(wrong.output)?.[1];
  expect((await cache(command ?? "")).output).toContain(
    'The index in schema "names_v2" depends on removed blocks',
  );
});
