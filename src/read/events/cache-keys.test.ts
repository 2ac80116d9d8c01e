import { beforeAll, describe, expect, test } from "vitest";
import { chainIds, v2Environment } from "../../../devnet/recorded-chains.ts";
import { checkpointOf } from "../../../test/support/checkpoints.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { openLookups } from "../../../test/support/lookups/lookups.ts";
import { alice, createStoredNames, publicResolver } from "../../../test/support/lookups/stored-names.ts";
import { createRecordedIndex, createV2Index } from "../../../test/support/recorded-index.ts";
import { datasourcesFile, recordedLabels, recordingOf } from "../../../test/support/recordings.ts";
import { seeds } from "../../../test/support/rounds.ts";
import { ens } from "../../deployments/ens.ts";
import { namehash } from "../../ens/names.ts";
import { createFeed, createFeedWriter } from "../../feed/log.ts";
import { registerNames } from "../../handlers/names.ts";
import { createStatusTable } from "../../operations/stored-indexes.ts";
import { registerProtocolAcceleration } from "../../plugins/protocol-acceleration.ts";
import { registerRegistrars } from "../../plugins/registrars.ts";
import { v2Domain, v2Event } from "../../schema/ensv2.ts";
import { domain, domainEvent, registrationEvent } from "../../schema/subgraph.ts";

// Whatever an event changes in a response, a message of the feed has one of its keys: over chains with the real
// contracts.

const firstPlugins = "subgraph,registrars,protocol-acceleration";

function createFirstIndex() {
  return createRecordedIndex(recordingOf("root"), {
    environment: {
      NAMESPACE: "ens-test-env",
      PLUGINS: firstPlugins,
      ...Object.fromEntries(Object.values(chainIds).map((id) => [`RPC_URL_${id}`, "http://localhost"])),
    },
    datasources: datasourcesFile(),
    labels: recordedLabels(["root"]),
    register({ datasources }, events, logs) {
      registerNames(events, datasources, ens);
      registerProtocolAcceleration(events, datasources);
      registerRegistrars(events, datasources, logs);
    },
  });
}

type Index = ReturnType<typeof createV2Index>;

/** Names and addresses that have something to do with the events between two blocks, and others. */
function subjectsOf({ store }: Index, [from, to]: readonly [number, number]) {
  const rows = [domainEvent, registrationEvent, v2Event].flatMap((table) => store.rows(table));
  const isWithin = (row: Record<string, unknown>) =>
    Number(row["blockNumber"]) > from && Number(row["blockNumber"]) <= to;
  const nodes = new Set(rows.filter(isWithin).map((row) => row["domainId"]));
  const all = [domain, v2Domain].flatMap((table) => store.rows(table)).filter((row) => row["name"]);
  const touched = all.filter((row) => nodes.has(row["id"]));
  const spread = (list: unknown[], max: number) =>
    list.filter((_, at) => at % Math.ceil(list.length / max) === 0).map(String);
  const named = (list: typeof all, max: number) =>
    spread(
      list.map((row) => row["name"]),
      max,
    );
  const columns = ["ownerId", "registrantId", "newOwnerId", "holder"];
  const addressesOf = (of: Record<string, unknown>[]) => [
    ...new Set(of.flatMap((row) => columns.flatMap((column) => row[column] ?? []))),
  ];
  return [
    { names: named(touched, 6), addresses: spread(addressesOf(rows.filter(isWithin)), 4) },
    { names: named(all, 6), addresses: spread(addressesOf(rows), 4) },
  ] as const;
}

const urlsOf = ({ names, addresses }: ReturnType<typeof subjectsOf>[number]) => [
  ...[...names].flatMap((name) => {
    const own = `/v1/names/${encodeURIComponent(name)}`;
    const routes = [
      "",
      "?include=counts",
      "/records",
      "/history?include=data,raw",
      "/subnames",
      "/subnames?include=counts",
    ];
    return [...routes.map((route) => `${own}${route}`), `/v1/events?name=${encodeURIComponent(name)}`];
  }),
  ...[...addresses].flatMap((address) => {
    const own = `/v1/addresses/${address}`;
    const lists = ["", "&sort=expires_at&order=desc&page_size=2", "&include=counts", "&include=role_summary"];
    return [
      ...lists.map((rest) => `${own}/names?relation=any${rest}`),
      ...["resolves_to", "former_owner"].map((relation) => `${own}/names?relation=${relation}`),
      ...["primary-name?source=indexed", "history", "history?relation=any", "calendar.ics"].map(
        (rest) => `${own}/${rest}`,
      ),
      `/v1/events?address=${address}`,
    ];
  }),
];

const lists = ["/v1/events", "/v1/search?q=a", "/v1/names?namespace=ens&expires_after=0"];

/** A response without what time alone changes. */
const shown = (text: string) => text.replace(/"meta":\{.*$/s, "");

describe.each([
  { chain: "of the first generation", open: createFirstIndex, plugins: firstPlugins, at: 0.5 },
  { chain: "of both generations", open: () => createV2Index(), plugins: v2Environment.PLUGINS, at: 0.2 },
])("on the chain $chain", async ({ open, plugins, at }) => {
  const index = open();
  const stored = await createStoredIndex({ withEvents: true });
  const run = (text: string, values?: unknown[]) =>
    stored.client.query<Record<string, unknown>>(text, values);
  await createStatusTable(run, "public");
  await createFeed(run, "public");
  const blocks = [...new Set(index.logs.map(({ blockNumber }) => Number(blockNumber)))].sort((a, b) => a - b);
  const { timeOf, chainId } = index;
  const lookups = (block: number) =>
    openLookups({
      database: stored.database,
      datasources: index.config.datasources,
      plugins: plugins.split(","),
      time: timeOf(block),
      block,
    });
  const [first = 0] = blocks;
  const { namespaces } = lookups(first).context.lookup;
  const write = createFeedWriter({ run, schema: "public", namespaces });
  const start = Math.floor(blocks.length * at);
  const reach = async (block: number) => {
    await index.playTo(block);
    await stored.store(index);
    const latest = checkpointOf({ number: block, timestamp: timeOf(block) }, chainId);
    const final = checkpointOf(
      { number: blocks[start] ?? 0, timestamp: timeOf(blocks[start] ?? 0) },
      chainId,
    );
    await run("DELETE FROM _ponder_checkpoint");
    await run("INSERT INTO _ponder_checkpoint VALUES ('root', $1, $3, $2, $3)", [chainId, latest, final]);
    await write();
  };
  const responses = async ({ fetch }: ReturnType<typeof lookups>, urls: readonly string[]) =>
    new Map(
      await Promise.all(
        urls.map(async (url) => {
          const response = await fetch(url);
          const keys = response.headers.get("surrogate-key")?.split(" ");
          expect(response.headers.get("cache-tag")?.split(",")).toEqual(keys);
          return [url, { keys, text: shown(await response.text()) }] as const;
        }),
      ),
    );

  // `ofOthers`: responses that did not change, of names and addresses all over the chain; `inVain`: those of them that
  // were purged.
  const counts = { changed: 0, unkeyed: 0, ofOthers: 0, inVain: 0 };
  beforeAll(() => reach(blocks[start] ?? 0));
  const steps = seeds.length > 1 ? 8 : 2;
  const width = (step: number) => (step % 4 === 0 ? 4 : 1);
  const gap = Math.floor((blocks.length - start) / steps);

  test.each(Array.from({ length: steps }, (_, step) => step))(
    "what changes is purged, in step %i",
    async (step) => {
      const missed: string[] = [];
      const from = start + step * gap;
      const [before = 0, after = 0] = [blocks[from], blocks[Math.min(from + width(step), blocks.length - 1)]];
      await reach(before);
      const [last] = (await run("SELECT max(seq) AS seq FROM _name_events_feed")).rows;
      // The database is still at the block before.
      await index.playTo(after);
      const [touched, others] = subjectsOf(index, [before, after]).map(urlsOf);
      const urls = [...new Set([...(touched ?? []), ...(others ?? []), ...lists])];
      const former = await responses(lookups(after), urls);
      await reach(after);
      const next = await responses(lookups(after), urls);
      const { rows } = await run("SELECT keys FROM _name_events_feed WHERE seq > $1", [last?.["seq"] ?? 0]);
      const purged = new Set(rows.flatMap(({ keys }) => keys as string[]));
      for (const [url, { keys, text }] of former) {
        const hasChanged = next.get(url)?.text !== text;
        const isPurged = keys?.some((key) => purged.has(key));
        if (hasChanged) counts.changed += 1;
        if (keys === undefined) counts.unkeyed += hasChanged ? 1 : 0;
        else if (hasChanged && !isPurged) missed.push(`${url} from block ${before} to ${after}`);
        if (keys === undefined || hasChanged || keys.includes("all") || !others?.includes(url)) continue;
        counts.ofOthers += 1;
        if (isPurged) counts.inVain += 1;
      }
      expect(missed).toEqual([]);
    },
  );

  test("little else is purged", () => {
    expect(counts.changed).toBeGreaterThan(6 * steps);
    expect(counts.inVain / counts.ofOthers).toBeLessThan(0.2);
  });
});

describe("the keys of a response", async () => {
  const { fetch } = await createStoredNames();
  const keysOf = async (path: string, init?: RequestInit) => {
    const { status, headers } = await fetch(path, init);
    return { status, keys: headers.get("surrogate-key")?.split(" "), tag: headers.get("etag") };
  };
  const name = (of: string) => `name:${namehash(of)}`;
  const ofPlain = [name("plain.eth"), name("eth")];
  const ofAlice = [`address:${alice}`, name(`${alice.slice(2)}.addr.reverse`)];

  test.each<[string, string[] | undefined]>([
    ["/v1/names/plain.eth", ofPlain],
    ["/v1/names/Plain.eth", [...ofPlain, name("Plain.eth")]],
    [`/v1/names/${namehash("plain.eth")}/records`, ofPlain],
    ["/v1/names/plain.eth?include=counts", [...ofPlain, `subnames:${namehash("plain.eth")}`]],
    ["/v1/names/plain.eth/subnames", [...ofPlain, `subnames:${namehash("plain.eth")}`]],
    ["/v1/names/plain.eth/subnames?include=counts", [...ofPlain, "all"]],
    ["/v1/names/plain.eth/history", ofPlain],
    ["/v1/events?name=plain.eth&type=record", ofPlain],
    [`/v1/addresses/${alice}/names`, ofAlice],
    [`/v1/addresses/${alice}/names?include=counts`, [...ofAlice, "all"]],
    [`/v1/addresses/${alice}/history?relation=owner`, ofAlice],
    [`/v1/addresses/${alice}/primary-name?source=indexed`, ofAlice],
    [`/v1/addresses/${alice}/calendar.ics`, ofAlice],
    [`/v1/events?address=${alice}`, ofAlice],
    ["/v1/events", ["all"]],
    ["/v1/search?q=plain", ["all"]],
    ["/v1/names?namespace=ens&expires_after=0", ["all"]],
    ["/v1/permissions?name=plain.eth", undefined],
    [`/v1/resolvers/1/${publicResolver}`, undefined],
    [`/v1/resolvers/1/${publicResolver}/records?name=records.eth`, undefined],
  ])("%s", async (path, expected) => {
    const { status, keys } = await keysOf(path);
    expect(status).toBe(200);
    expect(keys?.sort()).toEqual(expected?.sort());
  });

  test("are on the 404 of an unknown name, on a 304, on none for bad requests, and few for names of many labels", async () => {
    expect(await keysOf("/v1/names/unknown.eth")).toMatchObject({
      status: 404,
      keys: [name("unknown.eth"), name("eth")],
    });
    expect(await keysOf(`/v1/names/${namehash("unknown.eth")}`)).toMatchObject({
      status: 404,
      keys: undefined,
    });
    const { tag } = await keysOf("/v1/names/plain.eth");
    const known = { headers: { "if-none-match": tag ?? "" } };
    expect((await keysOf("/v1/names/plain.eth", known)).status).toBe(304);
    expect((await keysOf("/v1/names/plain.eth", known)).keys?.sort()).toEqual([...ofPlain].sort());
    expect(await keysOf("/v1/names/plain..eth")).toMatchObject({ status: 400, keys: undefined });
    expect(await keysOf(`/v1/names/${"a.".repeat(500)}eth`)).toMatchObject({ status: 404, keys: ["all"] });
  });
});
