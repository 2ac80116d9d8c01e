import { Registry } from "prom-client";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { checkpointOf } from "../../test/support/checkpoints.ts";
import { type FeedMessage, fold, messagesOf } from "../../test/support/feed.ts";
import type { Entry } from "../../test/support/lookups/lookups.ts";
import { alice, bob, createStoredNames } from "../../test/support/lookups/stored-names.ts";
import { labelhash } from "../ens/labels.ts";
import { namehash } from "../ens/names.ts";
import { createStatusTable } from "../operations/stored-indexes.ts";
import { openFeed } from "./follow.ts";
import { createFeed, createFeedWriter, writeHealed } from "./log.ts";
import { formatFeedId, parsePosition, readNewest } from "./read.ts";

// The feed over an index whose rows and checkpoints the tests write as Ponder does.

const { client, insert, fetch, all, context, logged } = await createStoredNames();
const run = (text: string, values?: unknown[]) => client.query<Record<string, unknown>>(text, values);
await createStatusTable(run, "public");
await createFeed(run, "public");
await client.exec(`CREATE SCHEMA ponder_sync;
  CREATE TABLE ponder_sync.blocks (chain_id bigint, number bigint, timestamp bigint, PRIMARY KEY (chain_id, number))`);
const { namespaces } = context.lookup;
const chains = {
  "1": { chainStatus: "chain-following", latestIndexedBlock: { number: 1_000, timestamp: 1_700_010_000 } },
};
Object.assign(context.status.current().snapshot.omnichainSnapshot.chains, chains);

const start = 1_700_000_000;
const timeOf = (block: number) => start + 12 * block;
let write: () => Promise<unknown>;

beforeEach(async () => {
  await client.exec(`DELETE FROM domain_event; DELETE FROM ponder_sync.blocks; DELETE FROM _ponder_checkpoint; DELETE FROM _indexing_status;
    DELETE FROM _name_events_feed`);
  write = createFeedWriter({ run, schema: "public", namespaces });
});

type Block = { branch?: string; owner?: string; name?: string; chain?: number; timestamp?: number };

/** Stores a transfer of a name in each of some blocks of a branch. */
async function store(
  blocks: readonly number[],
  { branch = "a", owner = alice, name = "plain.eth", chain = 1, timestamp }: Block = {},
) {
  const row = (block: number) => ({
    ...{
      id: `${chain}-${block}-1`,
      type: "Transfer",
      block_number: block,
      timestamp: timestamp ?? timeOf(block),
      log_index: 1,
    },
    transaction_id: `0x${branch}${String(block).padStart(63, "0")}`,
    ...{ domain_id: namehash(name), owner_id: owner },
  });
  await insert("domain_event", ...blocks.map(row));
}

/** Writes a chain's checkpoints. */
async function reach(block: number, { final = 10, chain = 1, timestamp = timeOf(block) } = {}) {
  const latest = checkpointOf({ number: block, timestamp }, chain);
  const finalized = checkpointOf({ number: final, timestamp: timeOf(final) }, 1);
  await client.query(`DELETE FROM _ponder_checkpoint WHERE chain_id = ${chain}`);
  await client.query("INSERT INTO _ponder_checkpoint VALUES ($1, $2, $4, $3, $4)", [
    `c${chain}`,
    chain,
    latest,
    finalized,
  ]);
}

/** Takes back the blocks after one, as a reorganization does. */
const revert = (block: number) => client.query(`DELETE FROM domain_event WHERE block_number > ${block}`);

/** The messages of the feed up to the first heartbeat after `last` messages of other kinds. */
async function read(query: string, headers: Record<string, string> = {}) {
  const closing = new AbortController();
  const response = await fetch(`/v1/events/stream${query}`, { headers, signal: closing.signal });
  const found: FeedMessage[] = [];
  for await (const message of messagesOf(response)) {
    found.push(message);
    if (message.event === "heartbeat" || message.event === "must-refetch") break;
  }
  closing.abort();
  expect(logged).toEqual([]);
  return found;
}

const blocksOf = (messages: readonly FeedMessage[]) =>
  messages.map(({ event, data }) => (event === "event" ? data["block_number"] : event));

async function refusal(query: string) {
  const response = await fetch(`/v1/events/stream${query}`);
  const { error } = (await response.json()) as { error: { message: string; details: object } };
  return { status: response.status, ...error };
}

test("history comes from the tables and the rest from the log, in one order and each event once, from any message on", async () => {
  await store([1, 5, 9, 10, 11, 12]);
  await reach(12);
  await write();
  await write();
  const log = await run("SELECT block FROM _name_events_feed ORDER BY seq");
  expect(log.rows.map(({ block }) => block)).toEqual([10, 11, 12]);
  const messages = await read("?from=start");
  expect(blocksOf(messages)).toEqual([1, 5, 9, 10, 11, 12, "heartbeat"]);
  const listed = await all<Entry>("/v1/events?order=asc&include=data,raw");
  expect(messages.slice(0, -1).map(({ data }) => data)).toEqual(listed);
  for (const [at, { id }] of messages.entries()) {
    const rest = [1, 5, 9, 10, 11, 12].slice(at + 1);
    expect(blocksOf(await read(`?after=${id}`))).toEqual([...rest, "heartbeat"]);
    expect(blocksOf(await read("?from=start", { "last-event-id": id }))).toEqual([...rest, "heartbeat"]);
  }
  expect(blocksOf(await read(""))).toEqual(["heartbeat"]);
});

test("a reorganization reverts what it removed, in reverse, before what came instead", async () => {
  await store([9, 10, 11, 12, 13]);
  await reach(13);
  await write();
  const before = await read("?from=start");
  const [, , , at12, at13] = before;
  await revert(11);
  // Until the next block Ponder's checkpoint stays.
  await store([12], { branch: "b", owner: bob });
  await reach(12);
  await write();
  // The other branch is shorter in time.
  await store([13], { branch: "b", owner: bob, timestamp: timeOf(12) + 1 });
  await reach(13, { timestamp: timeOf(12) + 1 });
  await write();
  const after = await read(`?after=${before.at(-1)?.id}`);
  expect(blocksOf(after)).toEqual(["reverted", 12, 13, "heartbeat"]);
  expect(after[0]?.data).toEqual({ chain_id: 1, last_valid_block: 11, ids: [at13?.data.id, at12?.data.id] });
  // A response may have what the removed branch said: of the name, and of who had it.
  const [name, [before13, taken, at12b]] = [`name:${namehash("plain.eth")}`, [before[4], after[0], after[1]]];
  expect(before13?.keys).toEqual(expect.arrayContaining(["all", name, `address:${alice}`]));
  expect(taken?.keys?.sort()).toEqual(before13?.keys?.sort());
  expect(at12b?.keys).toEqual(expect.arrayContaining(["all", name, `address:${bob}`]));
  // Whoever was at a removed block gets the same.
  expect(blocksOf(await read(`?after=${at12?.id}`))).toEqual(["reverted", 12, 13, "heartbeat"]);
  const held = new Map<string, unknown>();
  for (const message of [...before, ...after]) fold(held, message);
  expect([...held.values()]).toEqual(await all("/v1/events?order=asc&include=data,raw"));
  expect(blocksOf(await read("?from=start"))).toEqual([9, 10, 11, "reverted", 12, 13, "heartbeat"]);
});

test("what a restart indexes again is neither reverted nor repeated", async () => {
  await store([10, 11, 12]);
  await reach(12);
  await write();
  const { id } = (await read("")).at(-1) ?? {};
  await revert(10);
  for (const block of [10, 11, 12, 13]) {
    await reach(block);
    await write();
    if (block === 10) expect(blocksOf(await read("?from=1:10"))).toEqual([10, "heartbeat"]);
    if (block < 13) await store([block + 1]);
  }
  expect(blocksOf(await read(`?after=${id}`))).toEqual([13, "heartbeat"]);
});

test("events of other chains that a reorganization of one rolls back for a moment stay", async () => {
  const base = { chain: 8453, name: "me.base.eth", timestamp: timeOf(13) };
  await store([11, 12]);
  await store([900], base);
  await reach(900, { chain: 8453, timestamp: timeOf(13) });
  await reach(12);
  await reach(900, { chain: 8453, timestamp: timeOf(13) });
  await write();
  const { id } = (await read("")).at(-1) ?? {};
  await revert(11);
  await store([12], { branch: "b" });
  await reach(12);
  await write();
  await store([900], base);
  await reach(900, { chain: 8453, timestamp: timeOf(13) });
  await write();
  expect(blocksOf(await read(`?after=${id}`))).toEqual(["reverted", 12, "heartbeat"]);
});

test("finalized events come once they are final, and nothing takes them back", async () => {
  await store([9, 10, 11, 12]);
  await reach(12);
  await write();
  await revert(11);
  await store([12], { branch: "b", owner: bob });
  await reach(13);
  await write();
  for (const finality of ["finalized", "safe"])
    expect(blocksOf(await read(`?from=start&finality=${finality}`))).toEqual([9, "heartbeat"]);
  const { id } = (await read("?finality=finalized&from=start")).at(-1) ?? {};
  await reach(14, { final: 13 });
  await write();
  const messages = await read(`?finality=finalized&after=${id}`);
  expect(blocksOf(messages)).toEqual([10, 11, 12, "heartbeat"]);
  expect(messages[2]?.data["data"]).toMatchObject({ owner: bob });
});

test("filters are those of /v1/events, in the history as in the log; heartbeats resume past what they leave out", async () => {
  for (const [at, block] of [1, 2, 11, 12].entries())
    await store([block], at % 2 === 0 ? { owner: bob } : { name: "grace.eth" });
  for (const block of [3, 13]) await store([block], { name: "child.plain.eth" });
  for (const block of [4, 14]) await store([block], { name: "me.base.eth", chain: 8453 });
  await reach(14);
  await write();
  for (const [filter, blocks] of [
    ["name=grace.eth", [2, 12]],
    [`address=${bob}`, [1, 11]],
    ["kind=Transfer&type=authority&namespace=ens", [1, 2, 3, 11, 12, 13]],
    ["contract_address=0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e", [1, 2, 3, 11, 12, 13]],
    ["parent=eth", [1, 2, 11, 12]],
    [`parent=plain.eth&address=${alice}`, [3, 13]],
    ["chain_id=8453", [4, 14]],
    ["chain_id=1&parent=base.eth", []],
    ["exclude_type=authority", []],
    ["record_key=text:url", []],
  ] as const) {
    const messages = await read(`?from=start&${filter}`);
    expect([filter, ...blocksOf(messages)]).toEqual([filter, ...blocks, "heartbeat"]);
    const listed = await all<Entry>(`/v1/events?order=asc&include=data,raw&${filter}`);
    expect(messages.slice(0, -1).map(({ data }) => data)).toEqual(listed);
    expect(blocksOf(await read(`?${filter}&after=${messages.at(-1)?.id}`))).toEqual(["heartbeat"]);
  }
});

test("a block of a chain is a beginning", async () => {
  await store([3, 6, 11, 13]);
  await insert(
    "ponder_sync.blocks",
    ...[3, 6].map((number) => ({ chain_id: 1, number, timestamp: timeOf(number) })),
  );
  await reach(13);
  await write();
  expect(blocksOf(await read("?from=1:4"))).toEqual([6, 11, 13, "heartbeat"]);
  expect(blocksOf(await read("?from=1:11"))).toEqual([11, 13, "heartbeat"]);
  expect(blocksOf(await read("?from=1:12"))).toEqual([13, "heartbeat"]);
  expect(blocksOf(await read("?from=1:14"))).toEqual(["heartbeat"]);
});

test("a new index keeps ids of events that it has, and sends must-refetch for others", async () => {
  await store([9, 10, 11, 12]);
  await reach(12);
  await write();
  const messages = await read("?from=start");
  await revert(11);
  await client.exec("DELETE FROM _indexing_status");
  await reach(13);
  await write();
  expect(blocksOf(await read(`?after=${messages[0]?.id}`))).toEqual([10, 11, "heartbeat"]);
  expect(blocksOf(await read(`?after=${messages[1]?.id}`))).toEqual([11, "heartbeat"]);
  expect(blocksOf(await read(`?after=${messages[3]?.id}`))).toEqual(["must-refetch"]);
});

/** Gives plain.eth its label back, as healing does; `unheal` takes it away first. */
async function heal(transaction: typeof run = run) {
  await transaction("UPDATE domain SET name = 'plain.eth' WHERE id = $1", [plain]);
  await writeHealed(transaction, "public", [plain]);
}

const plain = namehash("plain.eth");
const unheal = () =>
  run("UPDATE domain SET name = $2 WHERE id = $1", [plain, `[${labelhash("plain").slice(2)}].eth`]);

test("a healed name is a message, which no reorganization reverts; with it a reader has what the tables have", async () => {
  await unheal();
  await store([9, 10, 11, 12]);
  await store([13], { name: "grace.eth", owner: bob });
  await reach(13);
  await write();
  const before = await read("?from=start");
  await heal();
  await write();
  await revert(11);
  await store([12], { branch: "b" });
  await reach(12);
  await write();
  await reach(13);
  await write();
  const after = await read(`?after=${before.at(-1)?.id}`);
  expect(blocksOf(after)).toEqual(["healed", "reverted", 12, "heartbeat"]);
  const [healed] = after;
  expect(healed?.data).toEqual({ names: [{ namehash: plain, name: "plain.eth" }] });
  expect(healed?.keys).toEqual(
    expect.arrayContaining(["all", `name:${plain}`, `subnames:${namehash("eth")}`, `address:${alice}`]),
  );
  expect(blocksOf(await read(`?after=${healed?.id}`))).toEqual(["reverted", 12, "heartbeat"]);
  const held = new Map<string, unknown>();
  for (const message of [...before, ...after]) fold(held, message);
  expect([...held.values()]).toEqual(await all("/v1/events?order=asc&include=data,raw"));
  // It is final at once, but not before the events that precede it.
  expect(blocksOf(await read("?from=start&finality=finalized"))).toEqual([9, "heartbeat"]);
  await reach(20, { final: 14 });
  await write();
  expect(blocksOf(await read("?from=start&finality=finalized"))).toEqual([
    9,
    10,
    11,
    "healed",
    12,
    "heartbeat",
  ]);
});

test("filters by name, parent, address, chain and type narrow healed names; pages have them too", async () => {
  await unheal();
  await store([9]);
  await reach(10);
  await write();
  const { id } = (await read("")).at(-1) ?? {};
  await heal();
  const asked = [
    "",
    "name=plain.eth",
    "parent=eth",
    `address=${alice}`,
    "chain_id=1",
    "namespace=ens",
    "type=healed",
    "type=record,healed",
  ];
  for (const filter of asked)
    expect([filter, ...blocksOf(await read(`?after=${id}&${filter}`))]).toEqual([
      filter,
      "healed",
      "heartbeat",
    ]);
  const others = [
    "name=grace.eth",
    "parent=plain.eth",
    "address=0x00000000000000000000000000000000000000dd",
    "chain_id=8453",
  ];
  const kinds = ["type=record", "exclude_type=healed", "kind=Transfer", "record_key=text:url"];
  for (const filter of [...others, ...kinds])
    expect([filter, ...blocksOf(await read(`?after=${id}&${filter}`))]).toEqual([filter, "heartbeat"]);
  const page = await (await fetch(`/v1/events?after=${id}`)).json();
  expect(page).toMatchObject({ data: [], reverted: [], healed: [{ names: [{ name: "plain.eth" }] }] });
  expect(await (await fetch("/v1/events?type=healed")).json()).toMatchObject({ data: [] });
});

test("names healed at once are few messages, each of few names", async () => {
  await reach(10);
  await write();
  const { id } = (await read("")).at(-1) ?? {};
  const nodes = Array.from({ length: 60 }, (_, at) => namehash(`many${at}.eth`));
  const row = {
    parent_id: namehash("eth"),
    subdomain_count: 0,
    is_migrated: true,
    chain_id: 1,
    namespace: "ens",
  };
  const more = { created_at: 1, owner_id: alice, change_block: 1 };
  await insert("domain", ...nodes.map((id, at) => ({ ...row, ...more, id, name: `many${at}.eth` })));
  onTestFinished(async () => void (await run("DELETE FROM domain WHERE starts_with(name, 'many')")));
  await writeHealed(run, "public", nodes);
  const messages = (await read(`?after=${id}`)).slice(0, -1);
  expect(messages.map(({ data }) => data.names?.length)).toEqual([25, 25, 10]);
  expect(messages.flatMap(({ data }) => data.names?.map(({ namehash }) => namehash)).sort()).toEqual(
    nodes.sort(),
  );
});

test("a name that a handler healed is a message once its row is stored", async () => {
  const healed = new Map<string, string | null>([[plain, "plain.eth"]]);
  write = createFeedWriter({ run, schema: "public", namespaces, healed });
  await unheal();
  await reach(10);
  await write();
  const { id } = (await read("")).at(-1) ?? {};
  await run("UPDATE domain SET name = 'plain.eth' WHERE id = $1", [plain]);
  await reach(11);
  await write();
  await reach(12);
  await write();
  expect(blocksOf(await read(`?after=${id}`))).toEqual(["healed", "heartbeat"]);
});

test("pages have what the stream has, reversals before the entries that follow them", async () => {
  await store([9, 10, 11, 12]);
  await reach(12);
  await write();
  await revert(10);
  await store([11, 12, 13], { branch: "b", owner: bob });
  await reach(13);
  await write();
  const [first] = await read("?from=start");
  type Page = { data: Entry[]; reverted: object[]; page: { next_cursor: string; has_more: boolean } };
  const page = async (id: string | undefined) =>
    (await (await fetch(`/v1/events?after=${id}&page_size=3`)).json()) as Page;
  const found = [await page(first?.id)];
  for (let last = found.at(-1); last?.page.has_more; last = found.at(-1))
    found.push(await page(last.page.next_cursor));
  expect(found.flatMap(({ data }) => data.map(({ block_number }) => block_number))).toEqual([10, 11, 12, 13]);
  expect(found.flatMap(({ reverted }) => reverted)).toHaveLength(1);
  expect(found.at(-1)?.data.at(-1)?.data).toMatchObject({ owner: bob });
  for (const query of ["after=x", "after=&finality=finalized", `after=${first?.id}&order=asc`])
    expect([query, (await fetch(`/v1/events?${query}`)).status]).toEqual([query, 400]);
});

test("a stream beyond its client's share gets 503, until another one ends", async () => {
  await store([9]);
  await reach(10);
  await write();
  const { feed } = context;
  context.feed = openFeed({ source: feed.source, log: () => undefined, maxStreams: 4 });
  onTestFinished(() => {
    context.feed.stop();
    context.feed = feed;
  });
  const open = async () => {
    const response = await fetch("/v1/events/stream");
    const reader = response.body?.getReader();
    await reader?.read();
    return { status: response.status, end: () => reader?.cancel() };
  };
  const [first, second] = [await open(), await open()];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(await refusal("")).toMatchObject({ status: 503, code: "overloaded" });
  // The places that a client leaves are for the others.
  expect(["", "192.0.2.9"].map(context.feed.isFull)).toEqual([true, false]);
  await first.end();
  expect((await open()).status).toBe(200);
  expect((await open()).status).toBe(503);
});

test("bad requests are refused before the stream begins, with the nearest known word or id", async () => {
  expect(await refusal("")).toMatchObject({ status: 503, code: "overloaded" });
  await store([9, 10]);
  await reach(10);
  await write();
  const [first] = await read("?from=start");
  const newest = (await read("")).at(-1)?.id ?? "";
  const position = parsePosition(newest);
  if (position === undefined || first === undefined) throw new Error("The ids have no position.");
  const moved = [{ seq: 7 }, { transaction: "00" }, { key: [...position.key.slice(0, 3), "1-1-1"] }];
  const ofHistory = { ...parsePosition(first.id), transaction: "00" };
  const madeUp = [...moved.map((more) => ({ ...position, ...more })), ofHistory].map((one) =>
    formatFeedId(one as typeof position),
  );
  for (const id of ["x", "~", "bnVsbA", ...madeUp]) {
    const { status, message } = await refusal(`?after=${id}`);
    expect([id, status, message]).toEqual([
      id,
      400,
      `after: no message has this id; the newest known one is ${newest}`,
    ]);
  }
  expect(await refusal("?typ=record")).toMatchObject({
    status: 400,
    details: { hint: "did you mean type?" },
  });
  for (const query of [
    "from_block=1",
    "order=asc",
    "registration_id=1",
    "from=1:2:3",
    "from=5:1",
    "from=1:9999",
    "type=records",
    "finality=soon",
    "name=a..b",
    "parent=a..b",
    "chain_id=x",
  ])
    expect([query, (await refusal(`?${query}`)).status]).toEqual([query, 400]);
  expect((await refusal("?namespace=nowhere")).status).toBe(404);
});

/** What a stream of everything from now on asks for. */
async function requestOfAll() {
  await reach(12);
  await write();
  const { state, position: after } = (await readNewest(context.feed.source, AbortSignal.timeout(5_000)))!;
  const history = () => ({ parts: [], kinds: [], conditions: [] });
  const filter = {
    kinds: new Set<never>(),
    node: undefined,
    accepts: () => true,
    healed: () => true,
    address: undefined,
    history,
  };
  const signal = AbortSignal.timeout(5_000);
  return { state, after, filter, finality: "latest", client: "a", renew: () => true, signal } as const;
}

test("open streams are counted, also after another index is served", async () => {
  const registry = new Registry();
  const { source } = context.feed;
  const counted = async () =>
    (await registry.getSingleMetric("nsindex_event_streams")?.get())?.values[0]?.value;
  openFeed({ source, log: () => undefined, registry }).stop();
  const feed = openFeed({ source, log: () => undefined, registry });
  const stream = feed.stream(await requestOfAll());
  expect(await counted()).toBe(0);
  await stream.next();
  expect([await counted(), feed.streams()]).toEqual([1, 1]);
  await stream.return(undefined);
  expect(await counted()).toBe(0);
  feed.stop();
});

test("a stream ends when its client may not go on, which it asks with each heartbeat", async () => {
  const feed = openFeed({ source: context.feed.source, log: () => undefined, heartbeatMs: 10 });
  onTestFinished(feed.stop);
  const answers = [true, true, false];
  const renew = () => answers.shift() === true;
  const messages: string[] = [];
  for await (const text of feed.stream({ ...(await requestOfAll()), renew })) messages.push(text);
  expect(messages.join("")).toContain("event: heartbeat");
  expect(answers).toEqual([]);
});
