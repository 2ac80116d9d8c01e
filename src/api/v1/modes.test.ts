import { afterAll, describe, expect, test } from "vitest";
import { countFigures } from "../../../test/support/figures.ts";
import { lookups, openLookups } from "../../../test/support/lookups/lookups.ts";
import { inLongRuns, seeds } from "../../../test/support/rounds.ts";
import { createRecordedDatabase } from "../../../test/support/subgraph/endpoint.ts";
import type { Namespace } from "../../deployments/deployment.ts";
import { namePlugins } from "../../deployments/deployments.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { indexedNamespaces } from "../../read/names/indexed-namespaces.ts";
import { findV2Contracts } from "../../read/names/v2-names.ts";
import { createDatabase, type QueuedDatabase } from "../../read/sql/client.ts";
import { buildDocument } from "../kit/docs.ts";

// Every route under /v1, with every parameter, in every mode and with every set of plugins that docs/datasources.md
// names: no error of our own statements (500), and nothing that an outage looks like (503) but where a plugin is
// missing, which the route documents.

const address = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const contract = "0xf29100983e058b709f3d539b0c765937b804ac15";
const registration = `1-0x${"ab".repeat(32)}`;
const relations = ["any", "owner", "manager", "owner,manager"];

/** Values of the parameters whose schema lists none. */
const values: Readonly<Record<string, readonly string[]>> = {
  ...{
    at: ["1", "7b7d"],
    min_block: ["1:0"],
    q: ["e", "eth.", ".eth"],
    name: ["eth"],
    parent: ["eth"],
    address: [address],
  },
  ...{ namespace: ["ens", "basenames"], page_size: ["1"], alarms: ["7,1"] },
  relation: [...relations, "role_holder", "resolves_to", "former_owner", "owned_account"],
  coin_type: ["60", "0", "2147483648", "2147492101", "evm"],
  include: ["counts", "inventory", "data,raw,total_count", "total_count", "role_summary", "lineage"],
  keys: ["addr:60,text:url,data:a,avatar,contenthash,name", "addr:0"],
  record_key: ["text:url", "addr:60", "abi:1"],
  ...{ record_key_prefix: ["agent-"], class: ["Agent"] },
  ...{ min_length: ["1"], max_length: ["9"], characters: ["digits", "letters"], has_avatar: ["true"] },
  ...{ type: ["registration,renewal"], exclude_type: ["record"], kind: ["NewOwner,TextChanged"] },
  ...{ from_timestamp: ["1"], to_timestamp: ["9"], from_block: ["1"], to_block: ["2"] },
  ...{ resolver: [`1:${contract}`], contract_address: [contract], chain_id: ["1", "8453"] },
  registration_id: ["1700000000", "wrapper", "registry"].map((since) => `${registration}-${since}`),
  transaction_hash: [`0x${"7".repeat(64)}`],
  registry: [`11155111:${contract}`],
  ...{ expires_after: ["1"], expires_before: ["9999999999"], expires_window: ["1..5"] },
  ...{ grace_ends_after: ["1"], grace_ends_before: ["9999999999"], grace_ends_window: ["1..5"] },
  authority: ["ens_v0,ens_v1,ens_v2", "ens_v2"],
  ...{ owner: [address], exclude_owner: [address] },
  ...{ after: ["WyI"], from: ["latest", "start", "1:1", "2026-01-01"], to: ["2026-02-01"], edition: ["one"] },
};

/** What requests of a route have in any case. */
const always: Readonly<Record<string, readonly string[]>> = {
  "/v1/names": [
    ...["expires", "grace_ends"].flatMap((kind) =>
      ["after=1", "window=1..9999999999"].map((window) => `namespace=ens&${kind}_${window}`),
    ),
    ...["record_key_prefix=agent-", "class=Agent"].map((record) => `namespace=ens&${record}`),
  ],
  "/v1/addresses/{address}/names": ["", "relation=former_owner&expires_after=1&expires_before=9999999999"],
  "/v1/search": ["q=e", "q=e&sort=relevance"],
  "/v1/events": ["", `name=eth&address=${address}`],
  "/v1/permissions": ["name=eth", `address=${address}`],
  "/v1/resolvers/{chain_id}/{address}/records": ["name=eth"],
};

/** The addresses of contracts in paths. */
const contracts = (datasources: Namespace): Readonly<Record<string, string | undefined>> => ({
  resolvers: contract,
  registries: findV2Contracts(datasources)?.ethRegistry,
});

type Paged = { page?: { next_cursor: string | null } };
type Parameter = { name: string; in: string; schema: { enum?: string[] } };
const { paths } = buildDocument("", lookups);
const choicesOf = (path: string) =>
  ((paths[path]?.["get"]?.["parameters"] ?? []) as Parameter[])
    .filter((one) => one.in === "query" && one.name !== "cursor")
    .map(({ name, schema }) => ({ name, choices: schema.enum ?? values[name] ?? [] }));

/** Queries with each value of each parameter, and `inPairs` with each two of those that have several. */
function queriesOf(path: string, inPairs: boolean): Set<string> {
  const parameters = choicesOf(path).map(({ name, choices }) =>
    choices.map((value) => [name, value] as const),
  );
  const several = parameters.filter((choices) => inPairs && choices.length > 1);
  const pairs = several.flatMap((choices, at) =>
    several.slice(at + 1).flatMap((others) => choices.flatMap((one) => others.map((other) => [one, other]))),
  );
  const queries = (always[path] ?? [""]).flatMap((start) =>
    [[], ...parameters.flat().map((one) => [one]), ...pairs.filter(isInTurn)].map((given) => {
      const query = new URLSearchParams(start);
      for (const [name, value] of given) query.set(name, value);
      return query.toString();
    }),
  );
  return new Set(queries);
}

// Pairs of values take turns by seed.
const turns = 32;
const isInTurn = (_: unknown, at: number) => seeds.some((seed) => (at - seed) % turns === 0);

const bodies = ["feed", "detail"].flatMap((profile) =>
  [{}, { namespace: "ens" }].map((more) => ({
    inputs: [
      { name: "eth" },
      { name: "missing.eth" },
      ...relations.map((relation) => ({ address, relation, page_size: 1 })),
    ],
    profile,
    ...more,
  })),
);

const client = await createRecordedDatabase();
afterAll(() => client.close());
for (const kind of ["domain", "registration", "resolver"])
  await client.exec(`UPDATE ${kind}_event SET timestamp = block_number`);
await countFigures(client, indexedNamespaces(namespaces.mainnet, ["subgraph"]), {
  ...{ chainId: 1, block: { number: 1, timestamp: 1_768_400_395 } },
});
// Modes have statements in common, which run once.
const inner = createDatabase(client);
const answered = new Map<string, Promise<(string | null)[]>>();
const database: QueuedDatabase = {
  ...inner,
  row(sql, values, signal) {
    const key = JSON.stringify([sql, values]);
    const answer = answered.get(key) ?? inner.row(sql, values, signal);
    answered.set(key, answer);
    return answer;
  },
};

const open = (datasources: Namespace, plugins: readonly string[]) =>
  openLookups({
    database,
    datasources,
    plugins,
    time: 1_768_400_395,
    hasRecords: plugins.includes("protocol-acceleration"),
  });

test("every parameter of every route has values", () => {
  const without = lookups.flatMap(({ path, method }) =>
    method === "post" ? [] : choicesOf(path).filter(({ choices }) => choices.length === 0),
  );
  expect(without).toEqual([]);
});

// The modes and sets that docs/datasources.md names, as far as they differ in what /v1 reads: `tokenscope` adds nothing
// to it. Long runs have all.
const all = ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration"];
type Mode = [mode: string, plugins: string[], name?: "mainnet" | "sepolia-v2"];
const withoutRecords = all.slice(0, -1);
const modes: Mode[] = [
  ["as the original subgraph", ["subgraph"]],
  ["multichain", [...all, "registrars"]],
  ["threedns with records", ["threedns", "protocol-acceleration"]],
  ["both generations", ["ensv2", ...all, "registrars"], "sepolia-v2"],
  ["no names", ["ensv2", "protocol-acceleration", "registrars", "tokenscope"], "sepolia-v2"],
  ...inLongRuns<Mode>([
    ["multichain without records", withoutRecords],
    ["both generations without records", ["ensv2", "subgraph"], "sepolia-v2"],
    ...withoutRecords
      .slice(0, -1)
      .map((plugin): Mode => [`${plugin} with records`, [plugin, "protocol-acceleration"]]),
    ...withoutRecords.slice(1).map((plugin): Mode => [`${plugin} alone`, [plugin]]),
  ]),
];

describe.each(modes)("%s", (_, plugins, name = "mainnet") => {
  // Two parameters meet in the same text of SQL in the others.
  const isWhole = plugins.includes("protocol-acceleration") && plugins.length >= all.length;
  const { ask, fetch, logged } = open(namespaces[name], plugins);
  const hasNames = plugins.some((plugin) => namePlugins.includes(plugin));
  const isLacking = ({ plugins: needed = [] }: (typeof lookups)[number]["needs"]) =>
    typeof needed !== "function" &&
    needed.some((some) => ![some].flat().some((plugin) => plugins.includes(plugin)));
  const [home] = indexedNamespaces(namespaces[name], plugins);
  const isFault = (url: string, status: number, isDocumented: boolean) => {
    // The feed begins after a backfill, which nothing here was.
    if (status === 503 && /\/stream\?|[?&]after=/.test(url)) return false;
    return isDocumented ? status !== 503 : status >= 500;
  };

  test.each(lookups.filter(({ method }) => method !== "post"))("$path", async ({ path, needs }) => {
    const faults: unknown[] = [];
    const ofContract = contracts(namespaces[name])[path.split("/")[2] ?? ""];
    const concrete = path
      .replace("{name}", "eth")
      .replace("{chain_id}", String(home?.chainId ?? 1))
      .replace("{address}", ofContract ?? address)
      .replace("{namespace}", "ens");
    const isCalendar = path.endsWith(".ics");
    for (const query of queriesOf(path, isWhole)) {
      const url = `${concrete}?${query}`;
      if (isCalendar || /[?&]format=csv/.test(url)) {
        const response = await fetch(url);
        const body = await response.text();
        if (isFault(url, response.status, isCalendar ? !hasNames : isLacking(needs)))
          faults.push([url, response.status, body]);
        continue;
      }
      const { status, body } = await ask(url);
      if (isFault(url, status, isLacking(needs))) faults.push([url, status, body]);
      const { page: own, data } = body as Paged & { data?: { bound_names?: Paged; referenced_by?: Paged } };
      const next = (own ?? data?.bound_names?.page ?? data?.referenced_by?.page)?.next_cursor;
      if (!next) continue;
      const following = `${url}&cursor=${next}`;
      const page = await ask(following);
      expect(page.status, following).toBe(200);
    }
    expect([faults, logged]).toEqual([[], []]);
  });

  test.each(bodies)("POST /v1/lookup, $profile, $namespace", async (given) => {
    const { status, body } = await ask("/v1/lookup", { method: "POST", body: JSON.stringify(given) });
    expect(isFault("/v1/lookup", status, !hasNames), JSON.stringify(body)).toBe(false);
    expect(logged).toEqual([]);
  });
});
