import { parseEventLogs, zeroHash } from "viem";
import { expect, test } from "vitest";
import { leaseAbi } from "../../../abis/ensv2.ts";
import { baseRegistrarAbi } from "../../../abis/registrars.ts";
import { v2Addresses, v2ChainId, v2Environment, v2Folder } from "../../../devnet/recorded-chains.ts";
import { readRecording } from "../../../devnet/recording.ts";
import { checkpointOf } from "../../../test/support/checkpoints.ts";
import { openLastIndex } from "../../../test/support/ensv2/stored-index.ts";
import { openLookups } from "../../../test/support/lookups/lookups.ts";
import { namehash } from "../../ens/names.ts";
import { readClasses, readLabelCoverage } from "../../operations/label-coverage.ts";
import { createStatusTable, saveStatus } from "../../operations/stored-indexes.ts";
import { indexedNamespaces } from "../names/indexed-namespaces.ts";
import { createCounting, createFigures } from "./count.ts";
import { readFigures } from "./read.ts";

// Figures of the recorded chain with both generations, against its logs.

const last = readRecording(v2Folder).blocks.at(-1);
const [block, time] = [Number(last?.number), Number(last?.timestamp)];
const { index, ...stored } = await openLastIndex();
const run = (text: string, values?: unknown[]) => stored.client.query<Record<string, unknown>>(text, values);
await createStatusTable(run, "public");
await createFigures(run, "public");

const plugins = v2Environment.PLUGINS.split(",");
const { datasources } = index.config;
const { get, ask, fetch } = openLookups({ database: stored.database, datasources, plugins, time, block });

type Row = Record<string, unknown> & { date: string };
const read = async (path: string) => (await get<Row[]>(`/v1/stats/${path}`)).data;

test("nothing is answered before the past is counted", async () => {
  for (const path of ["registrations", "top-parents", "classes"]) {
    const { status, body } = await ask(`/v1/stats/${path}`);
    expect([status, (body as { error: { code: string } }).error.code]).toEqual([503, "overloaded"]);
  }
  // The cache drops reads of earlier blocks that clients still wait for.
  const asked = { metrics: ["labels"], parents: [""], interval: "day", from: 0, to: 1, kind: "sum" } as const;
  const source = { database: stored.database, namespaces: indexedNamespaces(datasources, plugins) };
  const reads = ["1", "2", "3", "4"].map((head) =>
    readFigures({ ...source, block: head }, asked, AbortSignal.timeout(30_000)),
  );
  for (const read of await Promise.allSettled(reads))
    expect(read).toMatchObject({ reason: { code: "overloaded" } });
  // Half of the recording is final.
  const final = index.timeOf(Math.floor(block / 2));
  await run("INSERT INTO _ponder_checkpoint VALUES ('main', $1, $2, $2, $3)", [
    ...[v2ChainId, checkpointOf({ number: block, timestamp: time }, v2ChainId)],
    checkpointOf({ number: Math.floor(block / 2), timestamp: final }, v2ChainId),
  ]);
  const count = createCounting({
    ...{ run, schema: "public", namespaces: indexedNamespaces(datasources, plugins) },
  });
  while (await count());
});

const logs = index.logs.map((log) => ({ ...log, blockNumber: BigInt(log.blockNumber), blockHash: zeroHash }));
const of = (...names: string[]) =>
  logs.filter(({ address }) => names.some((name) => v2Addresses[name] === address));
const leases = parseEventLogs({ abi: baseRegistrarAbi, logs: of("BaseRegistrar") as never });
const sales = parseEventLogs({ abi: leaseAbi, logs: of("ETHRegistrar", "ETHRenewerV1") as never });

test("registrations, renewals and revenue are those of the chain's logs", async () => {
  const sum = (rows: readonly Row[], member: string) =>
    rows.reduce((total, row) => total + BigInt(row[member] as string), 0n);
  const graveyard = v2Addresses["Graveyard"];
  const registered = leases.filter(
    ({ eventName, args }) =>
      eventName === "NameRegistered" && (args as { owner: string }).owner.toLowerCase() !== graveyard,
  ).length;
  const soldNew = sales.filter(({ eventName }) => eventName === "NameRegistered").length;
  const renewed = leases.filter(({ eventName }) => eventName === "NameRenewed").length;
  const soldAgain = sales.filter(
    ({ eventName, address }) => eventName === "NameRenewed" && address === v2Addresses["ETHRegistrar"],
  ).length;
  for (const interval of ["day", "week", "month"]) {
    const asked = `interval=${interval}&from=2025-12-01`;
    expect(sum(await read(`registrations?${asked}`), "registrations")).toBe(BigInt(registered + soldNew));
    expect(sum(await read(`renewals?${asked}&parent=eth`), "renewals")).toBe(BigInt(renewed + soldAgain));
  }
  const revenue = await read("revenue?interval=month&from=2025-12-01");
  const symbols = { USDC: v2Addresses["MockUSDC"], DAI: v2Addresses["MockDAI"] };
  for (const [currency, token] of Object.entries(symbols)) {
    const paid = sales.flatMap(({ args }) => {
      const {
        paymentToken,
        base = 0n,
        premium = 0n,
        amount = 0n,
      } = args as unknown as {
        paymentToken: string;
      } & Record<"base" | "premium" | "amount", bigint | undefined>;
      return paymentToken.toLowerCase() === token ? [base + premium + amount] : [];
    });
    const rows = revenue.filter((row) => row["token"] === token);
    expect(new Set(rows.map((row) => row["currency"]))).toEqual(new Set([currency]));
    expect(sum(rows, "amount")).toBe(paid.reduce((total, one) => total + one, 0n));
  }
});

test("labels and parents are those that the index counts", async () => {
  const counted = await readLabelCoverage(run, "public");
  await saveStatus(run, "public", "coverage", { at: time * 1_000, ...counted });
  const count = createCounting({
    ...{ run, schema: "public", namespaces: indexedNamespaces(datasources, plugins) },
  });
  await count();
  const date = new Date(time * 1_000).toISOString().slice(0, 10);
  const [below, kinds] = [true, false].map((is) =>
    counted.counts.filter(({ of }) => of.startsWith("below ") === is),
  );
  expect(new Set(below?.map(({ of }) => of)).size).toBe(below?.length);
  expect(await read("labels")).toEqual(
    kinds?.map(({ of, names, unknown }) => ({ date, of, names, unknown })),
  );
  const parents = await read("top-parents?page_size=100");
  const [{ name: ethName } = {}] = (await run("SELECT name FROM domain WHERE id = $1", [namehash("eth")]))
    .rows;
  const children = Map.groupBy(
    (await run("SELECT parent_id FROM domain WHERE parent_id IS NOT NULL")).rows,
    (row) => row["parent_id"],
  );
  const eth = parents.find((one) => one["namehash"] === namehash("eth"));
  expect([eth?.["subname_count"], eth?.["name"]]).toEqual([children.get(namehash("eth"))?.length, ethName]);
  expect(parents.length).toBe(Math.min(100, children.size));
});

test("classes are those that names say in the resolver that they have", async () => {
  const rows = [
    ["0x01", "Agent", true],
    ["0x02", "Agent", true],
    ["0x03", "Agent", false],
    ["0x04", "Org", true],
    ["0x05", "not a word", true],
  ] as const;
  for (const [node, value, isOwn] of rows) {
    await run("INSERT INTO resolver_text_records VALUES (1, '0xa1', $1, '0x', 'class', $2)", [node, value]);
    await run("INSERT INTO domain_resolver_relations VALUES (1, '0x0e', $1, $2)", [
      node,
      isOwn ? "0xa1" : "0xb2",
    ]);
  }
  await saveStatus(run, "public", "coverage", {
    at: time * 1_000,
    classes: await readClasses(run, "public"),
  });
  expect(await read("classes")).toEqual([
    { class: "Agent", names: 2 },
    { class: "Org", names: 1 },
  ]);
});

test("rows are CSV for those who ask for it", async () => {
  const path = "/v1/stats/renewal-rate?interval=month&from=2026-01-01&to=2026-03-31";
  const rows = (await get<Row[]>(path)).data;
  const lines = rows.map((row) => `${row.date},${row["due"]},${row["renewed"]},${row["rate"] ?? ""}\n`);
  const asked = [fetch(`${path}&format=csv`), fetch(path, { headers: { accept: "text/csv" } })];
  for (const response of await Promise.all(asked)) {
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(await response.text()).toBe(`date,due,renewed,rate\n${lines.join("")}`);
  }
});

test.each([
  ["registrations?interval=year", "interval must be one of day, week, month"],
  [
    "registrations?from=2026-02-30",
    "from must be a date such as 2026-01-31, Unix seconds or a time of RFC 3339",
  ],
  ["registrations?to=-1", "to must be a date"],
  ["expiries?to=99999999999999", "to must be a date"],
  ["registrations?from=2026-02-01&to=2026-01-01", "from must be less than or equal to to"],
  ["registrations?from=1970-01-01", "at most 4000 periods"],
  ["expiries?from=2026-01-01&to=9999-12-31", "at most 4000 periods"],
  [
    "registrations?chain_id=5",
    "chain_id and parent must be a chain and a name below which a registrar registers names",
  ],
  ["registrations?chain_id=x", "chain_id must be a positive integer"],
  [
    "holders?parent=vitalik.eth",
    "chain_id and parent must be a chain and a name below which a registrar registers names",
  ],
  ["holders?parent=%00", "parent must not hold NUL"],
  ["revenue?format=xml", "format must be one of json, csv"],
  ["labels?parent=eth", "unknown query parameter: parent"],
  ["registrations?at=1", "unknown query parameter: at"],
])("a bad request is told why: %s", async (path, message) => {
  const { status, body } = await ask(`/v1/stats/${path}`);
  const { error } = body as { error: { code: string; message: string } };
  expect([status, error.code]).toEqual([400, "invalid_input"]);
  expect(error.message).toContain(message);
});

test("a first and a last period are whole, and none lies ahead", async () => {
  const months = await read("holders?interval=month&from=2026-01-15&to=2026-03-02");
  expect(months.map(({ date }) => date)).toEqual(["2026-01-01", "2026-02-01", "2026-03-01"]);
  expect((await read("active-names?to=9999-12-31")).length).toBe(90);
  expect(await read("renewals?from=9999-01-01")).toEqual([]);
});

test("what another index in the schema counted is not shown", async () => {
  expect((await ask("/v1/stats/renewals")).status).toBe(200);
  await createFigures(run, "public");
  expect((await ask("/v1/stats/renewals?interval=week")).status).toBe(200);
  await run(
    'UPDATE _indexing_status SET snapshot = \'{"tables":"1","end":1700000000,"isComplete":true}\' WHERE id = \'stats\'',
  );
  await createFigures(run, "public");
  expect((await ask("/v1/stats/renewals?interval=month")).status).toBe(503);
});
