import type { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod/v4";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { lookups, openLookups } from "../../../test/support/lookups/lookups.ts";
import { recordedEntities } from "../../../test/support/recordings.ts";
import { createLoadedDatabase } from "../../../test/support/subgraph/endpoint.ts";
import type { Namespace } from "../../deployments/deployment.ts";
import { namePlugins } from "../../deployments/deployments.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { createDatabase, type QueuedDatabase } from "../database/client.ts";
import { lookupEnvelope } from "../names/contract.ts";
import { endpoint } from "../rest/endpoint.ts";

// Every route under /v1, with every parameter, in every mode and with every set of plugins that the README names: no error of our own
// statements (500), and nothing that an outage looks like (503) but where a plugin is missing, which the route documents.

const address = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const contract = "0xf29100983e058b709f3d539b0c765937b804ac15";
const node = `0x${"ab".repeat(32)}`;
const registration = `1-${node}-1700000000`;
const histories = [
  ...["type=registration,renewal", "exclude_type=record", "kind=NewOwner,TextChanged", "record_key=text:url"],
  ...[
    "record_key=addr:60",
    "record_key=abi:1",
    "order=asc",
    "order=desc",
    "from_timestamp=1",
    "to_timestamp=9",
  ],
  ...["include=data,raw,total_count", "page_size=1"],
];
const orders = (sorts: readonly string[]) =>
  sorts.map((sort, at) => `sort=${sort}&order=${at % 2 === 0 ? "desc" : "asc"}`);

/** Queries of each route; those of all routes begin without any. */
const queries: Record<string, readonly string[]> = {
  "/v1/names/{name}": ["namespace=ens", "include=counts", "source=indexed"],
  "/v1/names/{name}/records": [
    "keys=addr:60,text:url,avatar,contenthash,name",
    "source=auto&keys=addr:0",
    "source=verified&keys=addr:60",
  ],
  "/v1/names/{name}/subnames": [
    ...orders(["name", "expires_at", "registered_at"]),
    ...["q=a", "q=a&match=contains", "include_expired=false", "page_size=1"],
  ],
  "/v1/names/{name}/history": [...histories, "scope=both"],
  "/v1/addresses/{address}/names": [
    ...["any", "owner", "manager", "owner,manager", "resolves_to", "former_owner"].flatMap((relation) =>
      ["", "&q=a", "&namespace=ens&q=a&match=contains&parent=eth&status=active&page_size=1"]
        .concat(orders(["name", "expires_at", "registered_at", "created_at"]).map((order) => `&${order}`))
        .map((more) => `relation=${relation}${more}`),
    ),
    ...["60", "0", "2147483648", "2147492101", "evm"].map((coin) => `relation=resolves_to&coin_type=${coin}`),
    ...["dedupe=name", "include=total_count"],
  ],
  "/v1/addresses/{address}/primary-name": [
    "namespace=basenames",
    "coin_type=2147492101",
    "coin_type=0",
    "coin_type=60",
    "namespace=ens",
    "source=indexed",
    "source=verified",
  ],
  "/v1/addresses/{address}/history": [...histories, "scope=both"],
  "/v1/addresses/{address}/calendar.ics": [
    "namespace=ens",
    "relation=owner",
    "relation=manager",
    "alarms=7,1",
  ],
  "/v1/events": [
    ...[
      ...histories,
      "namespace=ens",
      "namespace=ens&from_block=1&to_block=2",
      "name=eth",
      `address=${address}`,
    ],
    ...[`resolver=1:${contract}`, `contract_address=${contract}`, `registration_id=${registration}`],
    ...[`registration_id=1-${node}-wrapper`, `name=eth&address=${address}&resolver=1:${contract}`],
    ...[`resolver=1:${contract}&address=${address}`, `address=${address}&contract_address=${contract}`],
  ],
  "/v1/names": [
    ...["expires", "grace_ends"].flatMap((kind) => [
      `namespace=ens&${kind}_after=1`,
      `namespace=ens&${kind}_before=9999999999&order=desc`,
      `namespace=ens&${kind}_window=1..5&${kind}_window=5..9999999999&sort=${kind}_at`,
      `namespace=ens&${kind}_after=1&parent=eth&authority=ens_v0,ens_v1,ens_v2&page_size=1`,
    ]),
    ...["basenames", "lineanames", "threedns"].map((namespace) => `namespace=${namespace}&expires_after=1`),
  ],
  "/v1/search": [
    ...[
      "q=e",
      "q=e&match=contains",
      "q=eth.",
      "q=.eth&match=contains",
      "q=e&namespace=ens",
      "q=e&status=active",
    ],
    ...["q=e&sort=relevance", "q=e&sort=relevance&namespace=ens&status=active", "q=e&sort=name&page_size=1"],
  ],
  "/v1/status": [],
  "/v1/namespaces/{namespace}": [],
};
const bodies = ["feed", "detail"].flatMap((profile) =>
  [{}, { namespace: "ens" }].map((more) => ({
    inputs: [
      { name: "eth" },
      { name: "missing.eth" },
      ...["any", "owner", "manager", "owner,manager"].map((relation) => ({
        address,
        relation,
        page_size: 1,
      })),
    ],
    profile,
    ...more,
  })),
);

let client: PGlite;
let database: QueuedDatabase;
beforeAll(async () => {
  client = await createLoadedDatabase(recordedEntities() as never);
  for (const kind of ["domain", "registration", "resolver"])
    await client.exec(`UPDATE ${kind}_event SET timestamp = block_number`);
  // Modes have statements in common, which run once.
  const inner = createDatabase(client);
  const answers = new Map<string, Promise<(string | null)[]>>();
  database = {
    ...inner,
    row(sql, values, signal) {
      const key = JSON.stringify([sql, values]);
      const answer = answers.get(key) ?? inner.row(sql, values, signal);
      answers.set(key, answer);
      return answer;
    },
  };
});
afterAll(() => client.close());

const open = (datasources: Namespace, plugins: readonly string[]) =>
  openLookups({
    database,
    datasources,
    plugins,
    time: 1_768_400_395,
    hasRecords: plugins.includes("protocol-acceleration"),
  });

test("every parameter of every route is among the queries", () => {
  for (const { path, method, query } of lookups) {
    if (method === "post") continue;
    expect(queries[path], path).toBeDefined();
    const given = new Set(queries[path]?.flatMap((text) => [...new URLSearchParams(text).keys()]));
    const known = Object.keys(query?.shape ?? {}).filter((name) => name !== "cursor");
    expect([path, known.filter((name) => !given.has(name))]).toEqual([path, []]);
  }
});

// The modes and sets that the README names, as far as they differ in what /v1 reads: `registrars` and `tokenscope` add nothing to it.
const all = ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration"];
const cases: { mode: string; plugins: string[]; name: "mainnet" | "sepolia-v2" }[] = [
  { mode: "as the original subgraph", plugins: ["subgraph"], name: "mainnet" },
  { mode: "multichain", plugins: all, name: "mainnet" },
  { mode: "multichain without records", plugins: all.slice(0, -1), name: "mainnet" },
  ...all.slice(0, -1).flatMap((plugin) => [
    {
      mode: `${plugin} with records`,
      plugins: [plugin, "protocol-acceleration"],
      name: "mainnet" as const,
    },
    ...(plugin === "subgraph"
      ? []
      : [{ mode: `${plugin} alone`, plugins: [plugin], name: "mainnet" as const }]),
  ]),
  { mode: "both generations", plugins: ["ensv2", ...all], name: "sepolia-v2" },
  { mode: "both generations without records", plugins: ["ensv2", "subgraph"], name: "sepolia-v2" },
  {
    mode: "no names",
    plugins: ["ensv2", "protocol-acceleration", "registrars", "tokenscope"],
    name: "sepolia-v2",
  },
];

test.each(cases)("$mode", { timeout: 120_000 }, async ({ name, plugins }) => {
  const { ask, fetch, logged } = open(namespaces[name], plugins);
  const hasNames = plugins.some((plugin) => namePlugins.includes(plugin));
  const faults: unknown[] = [];
  const check = (url: string, status: number, body: unknown, needsNames: boolean) => {
    const isDocumented = !hasNames && needsNames;
    if (isDocumented ? status !== 503 : status >= 500) faults.push([url, status, body]);
  };
  for (const { path, method, needs } of lookups) {
    if (method === "post") continue;
    const concrete = path
      .replace("{name}", "eth")
      .replace("{address}", address)
      .replace("{namespace}", "ens");
    for (const query of ["", ...(queries[path] ?? [])]) {
      const url = `${concrete}?${query}`;
      if (path.endsWith(".ics")) {
        const response = await fetch(url);
        check(url, response.status, await response.text(), true);
        continue;
      }
      const { status, body } = await ask(url);
      check(url, status, body, needs.plugins !== undefined);
      const next = (body as { page?: { next_cursor: string | null } }).page?.next_cursor;
      if (!next) continue;
      const following = `${url}&cursor=${next}`;
      const page = await ask(following);
      expect(page.status, following).toBe(200);
    }
  }
  for (const given of bodies) {
    const { status, body } = await ask("/v1/lookup", { method: "POST", body: JSON.stringify(given) });
    check(`/v1/lookup ${JSON.stringify(given)}`, status, body, true);
  }
  expect(faults).toEqual([]);
  expect(logged).toEqual([]);
});

test("an error of our own statement is a 500 that is logged, not the database's absence", async () => {
  const database = createDatabase(client);
  const broken = endpoint({
    path: "/v1/broken",
    tag: "Lookup",
    summary: "A value that its statement does not use",
    description: "",
    envelope: lookupEnvelope,
    answers: { 200: { description: "Never", schema: z.object({}) } },
    handle: async (call) => {
      await database.row("SELECT 1", ["unused"], call.request.raw.signal);
      return { status: 200, body: {} };
    },
  });
  const { ask, logged } = openEndpoints([broken], {
    plugins: [],
    status: { current: () => currentStatus() },
  });
  const { status, body } = await ask("/v1/broken");
  expect([status, body]).toEqual([
    500,
    { error: { code: "internal_error", message: "Internal Server Error", details: {} } },
  ]);
  expect(logged).toEqual([expect.stringContaining("GET /v1/broken failed")]);
});
