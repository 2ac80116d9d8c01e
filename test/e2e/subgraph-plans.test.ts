import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ResolveContext } from "../../src/api/ensnode/resolve.ts";
import { addressNames } from "../../src/api/v1/addresses.ts";
import { addressCalendar } from "../../src/api/v1/calendar.ts";
import { addressHistory, events, nameHistory } from "../../src/api/v1/history.ts";
import { lookup } from "../../src/api/v1/lookup.ts";
import { deadlineNames, nameDetail, nameRecords, search, subnames } from "../../src/api/v1/names.ts";
import { overviews } from "../../src/api/v1/overviews.ts";
import { lookupPermissions } from "../../src/api/v1/permissions.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { openFeed } from "../../src/feed/follow.ts";
import { createFeed, createFeedWriter, reconcileSql } from "../../src/feed/log.ts";
import {
  type FeedPosition,
  formatFeedId,
  positionOfBlock,
  readItems,
  startOfFeed,
} from "../../src/feed/read.ts";
import type { FeedContext } from "../../src/feed/request.ts";
import { createSearchIndexes } from "../../src/operations/indexes.ts";
import { createStatusTable, saveStatus } from "../../src/operations/stored-indexes.ts";
import { readReminders } from "../../src/read/events/reminders.ts";
import { type IndexedNamespace, indexedNamespaces } from "../../src/read/names/indexed-namespaces.ts";
import { knownContracts } from "../../src/read/names/known-contracts.ts";
import { createNamesSource } from "../../src/read/names/lookups.ts";
import type { WalkContracts } from "../../src/read/names/v2-walk.ts";
import { type AskedPage, maxCounted, readRolePage } from "../../src/read/roles/stored-roles.ts";
import { preparedAs } from "../../src/read/sql/prepared.ts";
import { checkpointOf } from "../support/checkpoints.ts";
import { chainOf, currentStatus, openEndpoints } from "../support/endpoints.ts";
import { maxSorted, type Plan, planOf, recordStatements, scannedTables } from "../support/plans.ts";
import { type ClientQuery, clientQueries } from "../support/recordings.ts";
import { createEndpoint } from "../support/subgraph/endpoint.ts";
import { bigParent, generatedV2 } from "../support/subgraph/generate.ts";
import { createGeneratedDatabase, type GeneratedDatabase } from "../support/subgraph/generated-database.ts";

const cases = clientQueries();
// No index can serve these: sorted by a column of another table.
const unserved = new Set(["dapp: sorted by the registration"]);
// Has many events; most addresses have few.
const busyAddress = "0x".padEnd(42, "7");
const resolver = "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63";
let generated: GeneratedDatabase;
// Of 80,000 names this share is there. The planner chooses as for all: it is told their rows, and what their pages
// cost.
const share = 1 / 4;

beforeAll(async () => {
  generated = await createGeneratedDatabase(20_000, [
    `seq_page_cost=${1 / share}`,
    `random_page_cost=${4 / share}`,
  ]);
  await generated.run(`INSERT INTO domain_event (id, block_number, transaction_id, timestamp, log_index, type, domain_id, owner_id)
    SELECT 'busy-' || id, change_block, sha256(id::bytea), created_at::int, 1, 'Transfer', id, '${busyAddress}' FROM domain LIMIT 3000`);
  // Each owner has a role on its entry; one account has many, and one registry and one resolver have many accounts.
  const roles = "INSERT INTO v2_roles (chain_id, address, resource, account, roles)";
  const resource = "'0x' || lpad(to_hex(i), 64, '0')";
  const account = "'0x' || lpad(to_hex(i), 40, '0')";
  const role = "'0x' || lpad('1', 64, '0')";
  await generated.run(`${roles} SELECT 1, registry, labelhash, owner_id, ${role} FROM v2_domains`);
  for (const values of [
    `'${resolver}', ${resource}, '${busyAddress}'`,
    `'${generatedV2.ethRegistry}', '0x${"0".repeat(64)}', ${account}`,
    `'${resolver}', '0x${"0".repeat(64)}', ${account}`,
  ])
    await generated.run(`${roles} SELECT 1, ${values}, ${role} FROM generate_series(1, 20000) i`);
  await generated.run(`INSERT INTO v2_resources (chain_id, resolver, resource, node, kind, key)
    SELECT 1, '${resolver}', ${resource}, '0x' || lpad(to_hex(i / 5), 64, '0'), 'name', '' FROM generate_series(1, 20000) i`);
  // The account with many events has roles on many entries and resolvers' resources; the registry is one of many
  // accounts.
  const event = `INSERT INTO v2_events (id, chain_id, registry, block_number, timestamp, log_index, transaction_hash, roles, former_roles, labelhash, resource, type, holder)
    SELECT concat(x.type, x.labelhash, i), 1, '${generatedV2.ethRegistry}', i, 1700000000 + i, 1, sha256('x'), ${role}, ${role}, x.labelhash, x.resource, x.type, x.holder FROM generate_series(1, 20000) i`;
  for (const values of [
    ...[`'${busyAddress}'`, account, account, account].map(
      (holder, at) => `'${at}' || ${resource}, NULL, 'EACRolesChanged', ${holder}`,
    ),
    `NULL, '0x${"0".repeat(64)}', 'RootPermissionChanged', ${account}`,
    `NULL, ${resource}, 'ResolverPermissionChanged', '${busyAddress}'`,
  ])
    await generated.run(
      `${event} CROSS JOIN LATERAL (VALUES (${values})) x (labelhash, resource, type, holder)`,
    );
  // This resolver has record ids, and a fifth of all links.
  await generated.run(`INSERT INTO v2_contracts (chain_id, address, implementation, is_upgraded, has_record_ids)
    VALUES (1, '${resolver}', '${generatedV2.resolvers[0]}', FALSE, TRUE)`);
  await generated.run(`INSERT INTO v2_record_links (chain_id, resolver, node, record_id, name, block_number, timestamp, log_index, transaction_hash)
    SELECT 1, CASE WHEN i % 5 = 0 THEN '${resolver}' ELSE ${account} END, ${resource}, i % 7, '0x00', i, i, 1, sha256('x') FROM generate_series(1, 50000) i`);
  // Nothing else may count rows meanwhile.
  await generated.run(`DO $$ DECLARE t record; BEGIN FOR t IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = false)', t.name); END LOOP; END $$`);
  const { rows } = await generated.run("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'");
  await analyze(rows.map(({ name }) => String(name)));
});

/** Has the planner see as many rows as there would be of all names. */
async function analyze(tables: readonly string[]): Promise<void> {
  await generated.run(`ANALYZE ${tables.join()}`);
  await generated.run(
    `UPDATE pg_class SET reltuples = reltuples * ${1 / share} WHERE reltuples > 100 AND
      (oid = ANY($1::regclass[]) OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = ANY($1::regclass[])))`,
    [tables],
  );
}

afterAll(() => generated?.close());

/** The case with names of the generated database instead of those of the recorded chain. */
function adapt(text: string): string {
  return text
    .replaceAll("0x14dc79964da2c08b23698b3d3cc7ca32193d9955", generated.address)
    .replaceAll("0xcd0e43a76bbcbf76bfb2d72aef62ab5c5b76620657502a90226409c389013bb8", generated.node)
    .replaceAll("0x53d25901430978c49eae4703849351c9be8d3865f47afc80323b130e11ee2b6d", bigParent)
    .replaceAll("0x367761085bf3c12e5da2df99ac6e1a824612b8fb", "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63")
    .replaceAll("number: 1666", "number_gte: 1");
}

/** The response to a case, with the statements that were run. */
async function run({ query, variables }: ClientQuery, v2?: WalkContracts) {
  const { database, statements } = recordStatements(generated.database);
  let found: ReturnType<typeof database.row> | undefined;
  // The same rows again: what comes often may be planned once.
  const once = {
    ...database,
    row: (...given: Parameters<typeof database.row>) => (found ??= database.row(...given)),
  };
  const endpoint = createEndpoint(once, {}, { v2 });
  const ask = () => endpoint.ask(adapt(query), JSON.parse(adapt(JSON.stringify(variables))));
  const answer = await ask();
  for (let time = 0; time < 2; time++) await ask();
  return { answer, statements };
}

/** The plan that a server uses: for these values, or for any where it plans the statement once. */
async function explain({ sql, values }: { sql: string; values: readonly string[] }): Promise<Plan[]> {
  const { rows } = await (preparedAs(sql)?.planning === "force_generic_plan"
    ? explainForAny(sql, values)
    : generated.run(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, [...values]));
  return planOf(rows);
}

async function explainForAny(sql: string, values: readonly string[]) {
  await generated.run("SET plan_cache_mode = force_generic_plan");
  await generated.run(`PREPARE planned_once AS ${sql}`);
  try {
    const given = values.map((value) => `'${value.replaceAll("'", "''")}'`).join(", ");
    const run = given === "" ? "planned_once" : `planned_once(${given})`;
    return await generated.run(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE ${run}`);
  } finally {
    await generated.run("DEALLOCATE planned_once");
    await generated.run("RESET plan_cache_mode");
  }
}

// A row for each chain, and some for the index.
const ofFewRows = /^_(ponder_|indexing_status$)/;

const served = cases.filter(({ name }) => !name.startsWith("probe") && !unserved.has(name));

test.each([
  ...served.map((one) => ({ ...one, generations: "one generation", v2: undefined })),
  ...served.map((one) => ({ ...one, generations: "both generations", v2: generatedV2 })),
])("reads $generations by index, without a sort of many rows: $name", async ({ v2, ...queryCase }) => {
  const { answer, statements } = await run(queryCase, v2);
  expect(answer.errors).toBeUndefined();
  expect(statements).toHaveLength(1);
  const nodes = await explain(statements[0]!);
  expect(scannedTables(nodes, -1).filter((table) => !ofFewRows.test(table ?? ""))).toEqual([]);
  expect(maxSorted(nodes)).toBeLessThan(1_000);
});

test.each([
  ["a parent's names", `parent: "${bigParent}"`],
  ["the names that end in a second", "expiryDate: 1786000000"],
])("goes on with %s after an id by index", async (_, filter) => {
  await generated.run(`UPDATE domain SET expiry_date = 1786000000 WHERE parent_id = '${bigParent}'`);
  await analyze(["domain"]);
  // Half of them come before it.
  const id = `0x${"8".repeat(64)}`;
  const query = `query($id: ID) { domains(first: 5, where: { ${filter}, id_gt: $id }) { id } }`;
  const { answer, statements } = await run({ name: "", query, variables: { id } });
  const { rows } = await generated.run(
    `SELECT id FROM domain WHERE parent_id = '${bigParent}' AND id > '${id}' ORDER BY id LIMIT 5`,
  );
  expect(answer.data?.["domains"]).toEqual(rows);
  const nodes = await explain(statements[0]!);
  expect(Math.max(...nodes.map((node) => node["Rows Removed by Filter"] ?? 0))).toBeLessThan(100);
  expect(Math.max(...nodes.map((node) => node["Actual Rows"]))).toBeLessThan(100);
});

test("finds the newest change of an account's roles on a resource by one index", async () => {
  const { rows } = await generated.run(`EXPLAIN (ANALYZE, FORMAT JSON) SELECT block_number FROM v2_events e
    WHERE e.registry = '${generatedV2.ethRegistry}' AND e.resource = '0x${"7".padStart(64, "0")}' AND e.holder = '${busyAddress}'
    ORDER BY e.timestamp DESC, e.log_index DESC LIMIT 1`);
  const nodes = planOf(rows);
  expect(nodes.map((node) => node["Index Name"] ?? node["Node Type"])).toEqual([
    "Limit",
    "v2_events_by_grant",
  ]);
});

test("takes one statement for 1,000 parents with lists below lists", async () => {
  const query = `{ domains(first: 1000) { id owner { domains(first: 3) { id } } resolver { events { id } }
    events { __typename id ... on NewOwner { parentDomain { id } } } subdomains(first: 3) { registration { events { id } } } }
    resolvers(first: 1000) { events { id } } _meta { block { number } } }`;
  const { answer, statements } = await run({ name: "", query, variables: {} });
  expect(answer.errors).toBeUndefined();
  expect(answer.data?.["domains"]).toHaveLength(1000);
  expect(statements).toHaveLength(1);
});

test("keeps names that are longer than an index entry can be", async () => {
  const spam = `${"spam".repeat(5000)}7`;
  const query = `query($name: String!) { is: domains(where: { name: $name }) { name }
    starts: domains(where: { name_starts_with: $name }) { name } in: domains(where: { name_in: ["eth", $name] }) { name }
    after: domains(where: { name_gte: $name }, orderBy: name, first: 1) { name } }`;
  const { answer } = await run({ name: "", query, variables: { name: `${spam}.sub.eth` } });
  const found = [{ name: `${spam}.sub.eth` }];
  expect(answer.data).toEqual({
    is: found,
    starts: found,
    in: expect.arrayContaining([...found, { name: "eth" }]),
    after: found,
  });
});

test("searches within names by index if the trigram extension is available", async ({ skip }) => {
  const reason = await createSearchIndexes(generated.run, "public");
  if (reason !== undefined) skip(reason);
  await analyze(["domain", "v2_domains"]);
  const searches = ["name_contains: $part", "name_contains_nocase: $part", "labelName_contains: $part"];
  for (const filter of [...searches, "name_ends_with: $part, name_not_starts_with_nocase: $start"]) {
    const query = `query($part: String, $start: String) { domains(first: 5, where: { ${filter} }) { name } }`;
    const part = filter.includes("ends") ? "1999.eth" : "abcd1";
    for (const v2 of [undefined, generatedV2]) {
      const { statements } = await run({ name: "", query, variables: { part, start: "[" } }, v2);
      const { sql, values } = statements[0]!;
      const { rows } = await generated.run(`EXPLAIN ${sql}`, [...values]);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toMatch(/Bitmap Index Scan on domain_(label_)?name_search/);
      if (v2) expect(plan).toMatch(/Bitmap Index Scan on v2_domains_(label_)?name_search/);
      expect(plan).not.toMatch(/Seq Scan on (v2_)?domain/);
    }
  }
});

// Of the generated names only eth has its true node. A count may read its 1,001 rows as they come.
const lookups = [
  "/v1/names/eth?include=counts",
  "/v1/names/eth/records",
  "/v1/names/eth/history?include=data",
  "/v1/names/eth/subnames",
  "/v1/names/eth/subnames?include=counts",
  "/v1/names/eth/subnames?q=labelab",
  "/v1/names/eth/subnames?q=ab&match=contains",
  "/v1/names/eth/subnames?include_expired=false&order=desc",
  "/v1/names?namespace=ens&expires_after=1760000000",
  "/v1/names?namespace=ens&grace_ends_after=1760000000&grace_ends_before=1780000000&order=desc",
  "/v1/names?namespace=ens&expires_after=1&parent=label1.eth",
  "/v1/addresses/$address/names",
  "/v1/addresses/$address/names?relation=owner&sort=expires_at&q=label",
  "/v1/addresses/$address/names?include=counts",
  "/v1/addresses/$address/names?relation=former_owner",
  "/v1/addresses/$address/names?relation=former_owner&parent=eth&expires_after=1&expires_before=1780000000",
  "/v1/addresses/$address/names?authority=ens_v1,ens_v0&sort=expires_at",
  "/v1/addresses/$address/names?relation=owner&is_migrated=true&dedupe=name",
  "/v1/addresses/$address/names?relation=role_holder",
  "/v1/addresses/$address/names?relation=role_holder&sort=expires_at&order=desc",
  `/v1/addresses/${busyAddress}/names`,
  "/v1/addresses/$address/names?include=role_summary",
  "/v1/addresses/$address/names?relation=resolves_to",
  "/v1/addresses/$address/names?relation=resolves_to&coin_type=2147492101",
  "/v1/addresses/$address/history",
  "/v1/addresses/$address/history?relation=any&include=data,raw&page_size=200",
  `/v1/names/${bigParent}/history?include=child_registrations`,
  "/v1/search?q=labelab",
  "/v1/search?q=ab&match=contains&status=active",
  "/v1/search?q=abcd1&match=contains",
  "/v1/search?q=label&match=contains",
  "/v1/search?q=abel&match=contains&namespace=ens",
  "/v1/search?q=lab&sort=relevance&status=active",
  "/v1/search?q=labelabcdd1&sort=relevance",
  "/v1/events",
  "/v1/events?type=registration,renewal&namespace=ens&include=data",
  "/v1/events?name=eth",
  "/v1/events?parent=label1.eth",
  "/v1/events?parent=eth&order=asc",
  "/v1/events?address=$address",
  `/v1/events?address=${busyAddress}`,
  `/v1/addresses/${busyAddress}/history`,
  "/v1/events?type=primary_name",
  "/v1/events?contract_address=0x314159265dd8dbb310642f98f50c066173c1259b",
  "/v1/events?contract_address=0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e",
  "/v1/events?record_key=text:url&from_timestamp=1760000000",
  `/v1/events?contract_address=${generatedV2.ethRegistry}&kind=RootPermissionChanged`,
  `/v1/events?contract_address=${generatedV2.ethRegistry}&address=${busyAddress}&kind=RootPermissionChanged&include=data,raw&order=desc`,
  "/v1/events?type=permission",
  `/v1/addresses/${busyAddress}/history?relation=role_holder&type=permission`,
  "/v1/permissions?name=eth",
  "/v1/permissions?address=$address",
  `/v1/permissions?address=${busyAddress}`,
  `/v1/permissions?registry=1:${generatedV2.ethRegistry}`,
  `/v1/permissions?registration_id=1-${resolver}-0x${"0".repeat(63)}9`,
  "/v1/addresses/$address/calendar.ics",
  `/v1/resolvers/1/${resolver}`,
  `/v1/resolvers/1/${resolver}?page_size=200`,
  `/v1/resolvers/1/${resolver}/records?name=eth`,
  "lookup feed",
  "lookup detail",
];

const ofRegistry = `/v1/registries/1/${generatedV2.ethRegistry}`;
const overviewsOfV2 = [
  `/v1/resolvers/1/${resolver}/links`,
  `/v1/resolvers/1/${resolver}/roles`,
  ofRegistry,
  `${ofRegistry}?include=counts`,
  `${ofRegistry}/labels`,
  `${ofRegistry}/labels?page_size=1&exclude_owner=$address`,
  `${ofRegistry}/labels?include=counts&page_size=200`,
  `${ofRegistry}/labels?owner=$address`,
];

// The generated names of ENSv2 have no entries, so that a list of both generations would try each of them.
const listsAll = /subnames$|q=(ab|lab|label|abel)&|include_expired|expires_after|grace_ends/;

const ofChains = ["basenames", "lineanames", "threedns"];

/** What the endpoints of names respond from. */
const contextOf = (
  database: GeneratedDatabase["database"],
  plugins: string[],
  indexed: readonly IndexedNamespace[],
) => ({
  ...chainOf(),
  clock: () => 1_760_000_000_000,
  plugins,
  status: { current: () => ({ ...currentStatus("omnichain-following", 1_760_000_000), heads: "1" }) },
  lookup: {
    ...createNamesSource({ database, namespaces: indexed, hasRecords: true }),
    hashOf: () => undefined,
    known: knownContracts(namespaces.mainnet),
  },
  feed: openFeed({ source: { database, namespaces: indexed, times: () => [] }, log: () => undefined }),
});

test.each([
  ...lookups.map((path) => ({ path, generations: "one generation", v2: undefined })),
  ...lookups.map((path) => ({ path, generations: "all chains", v2: undefined })),
  ...[...lookups, ...overviewsOfV2]
    .filter((path) => !listsAll.test(path))
    .map((path) => ({ path, generations: "both generations", v2: generatedV2 })),
])("reads $generations by index, without a sort of many rows: $path", async ({ path, v2, generations }) => {
  const { database, statements } = recordStatements(generated.database);
  const plugins = ["subgraph", "protocol-acceleration", ...(generations === "all chains" ? ofChains : [])];
  const indexed = indexedNamespaces(namespaces.mainnet, plugins).map((home) => ({ ...home, v2 }));
  const context = contextOf(database, plugins, indexed);
  const { fetch: ask } = openEndpoints<FeedContext & ResolveContext>(
    [
      lookup,
      nameDetail,
      nameRecords,
      nameHistory,
      subnames,
      deadlineNames,
      addressNames,
      addressHistory,
      addressCalendar,
      events,
      lookupPermissions,
      search,
      ...overviews,
    ],
    context,
  );
  const { address } = generated;
  const post = (profile: string) => {
    const inputs = [
      { name: "eth" },
      { name: "missing.eth" },
      { address },
      { address, relation: "manager", page_size: 5 },
    ];
    return ask("/v1/lookup", { method: "POST", body: JSON.stringify({ inputs, profile }) });
  };
  const [, profile] = path.split("lookup ");
  const answer = await (profile ? post(profile) : ask(path.replaceAll("$address", address)));
  expect(answer.status).toBe(200);
  // The page, its total, whether roles were left out, and two statements for what is included, three if it is records
  // in ENSv2. Of a contract also itself, and the names of the page.
  const max = /role_summary|=counts|resolvers|registries/.test(path) ? 6 : 3;
  // Not those that requests of one block share.
  const own = statements.filter(({ sql }) => !sql.includes("AND c.leaves_out AND true"));
  expect(own.length).toBeLessThanOrEqual(max);
  for (const statement of statements) {
    const nodes = await explain(statement);
    expect(scannedTables(nodes, 1_500)).toEqual([]);
    expect(maxSorted(nodes)).toBeLessThan(1_500);
    // A text may be tried on the first 5,000 names.
    expect(Math.max(...nodes.map((node) => node["Rows Removed by Filter"] ?? 0))).toBeLessThan(10_000);
  }
});

const entryOfRole = `0x${"7".padStart(64, "0")}` as const;

// Each of them has 20,000 roles or more, of which a total counts up to the limit in each contract.
test.each<[string, AskedPage["of"]]>([
  ["an account", { account: busyAddress as Hex, isProven: true }],
  ["a registry", { contract: generatedV2.ethRegistry }],
  ["a resolver", { contract: resolver }],
  ["one name", { registry: generatedV2.ethRegistry, resource: entryOfRole, resolver, node: entryOfRole }],
])("reads a page of the roles of %s by index, without a sort of more than it counts", async (_, of) => {
  const { database, statements } = recordStatements(generated.database);
  const asked = { of, time: 1_760_000_000, limit: 10 };
  const { signal } = new AbortController();
  const { roles, count } = await readRolePage(
    database,
    generatedV2,
    { ...asked, after: undefined, offset: 0 },
    signal,
  );
  expect([roles.length, count > maxCounted]).toEqual([10, true]);
  const [last] = roles.slice(-1);
  const after = last && [last.address, last.resource, last.account];
  const next = await readRolePage(database, generatedV2, { ...asked, after, offset: 5_000 }, signal);
  expect(next.roles).toHaveLength(10);
  for (const statement of statements) {
    const nodes = await explain(statement);
    expect(scannedTables(nodes, 1_500)).toEqual([]);
    expect(maxSorted(nodes)).toBeLessThanOrEqual(count);
  }
});

const remindersOf = ["7d", "grace_begins", "grace_ends", "premium_ends"];

test.each([
  ...["of all names", "of an address", "of a name"].flatMap((of) =>
    ["one generation", "all chains"].map((generations) => ({ of, generations, v2: undefined })),
  ),
  ...["of an address", "of a name"].map((of) => ({ of, generations: "both generations", v2: generatedV2 })),
])("reads reminders $of by index, of $generations", async ({ of, generations, v2 }) => {
  const { database, statements } = recordStatements(generated.database);
  const plugins = ["subgraph", "protocol-acceleration", ...(generations === "all chains" ? ofChains : [])];
  const indexed = indexedNamespaces(namespaces.mainnet, plugins).map((home) => ({ ...home, v2 }));
  // Most expiries are about then: some hundred within a day, of each kind.
  const time = 1_760_000_000 + 330 * 86_400;
  const source = { database, namespaces: indexed, times: () => indexed.map(() => time) };
  const asked = {
    ...{ node: undefined, address: undefined, namespace: undefined, reminders: remindersOf, limit: 50 },
    ...(of === "of an address" ? { address: generated.address } : {}),
    ...(of === "of a name" ? { node: generated.node } : {}),
  };
  for (const [name, node] of [
    ["", ""],
    ["label1.eth", generated.node],
  ] as const)
    await readReminders(source, [String(time - 86_400), name, node], asked, new AbortController().signal);
  for (const statement of statements) {
    const nodes = await explain(statement);
    expect(scannedTables(nodes, 1_500)).toEqual([]);
    expect(maxSorted(nodes)).toBeLessThan(1_500);
    expect(Math.max(...nodes.map((node) => node["Rows Removed by Filter"] ?? 0))).toBeLessThan(1_500);
  }
});

describe("the feed, at the end of a long log and of many events", () => {
  const time = 1_760_000_000;
  const block = 9_080_000;
  // An event in a block each 12 seconds, of which the last 40,000 are in the log.
  const [final, since] = [time - 1_200, time - 480_000];
  const state = { index: "0123456789ab", tables: "", since, final };
  const plugins = ["subgraph", "protocol-acceleration"];
  const indexed = indexedNamespaces(namespaces.mainnet, plugins).map((home) => ({
    ...home,
    v2: generatedV2,
  }));
  const { signal } = new AbortController();

  beforeAll(async () => {
    const { run } = generated;
    await createStatusTable(run, "public");
    await createFeed(run, "public");
    const { rows } = await run("SELECT 'domain_event'::regclass::oid::text AS tables");
    await saveStatus(run, "public", "feed", { ...state, ...rows[0] });
    await run(`CREATE SCHEMA ponder_sync; CREATE TABLE ponder_sync.blocks (chain_id bigint, number bigint, timestamp bigint, PRIMARY KEY (chain_id, number));
      UPDATE _ponder_meta SET value = '{"is_ready": 1}' WHERE key = 'app';
      UPDATE _ponder_checkpoint SET latest_checkpoint = '${checkpointOf({ number: block, timestamp: time })}',
        finalized_checkpoint = '${checkpointOf({ number: block - 100, timestamp: final })}'`);
    // The connections that tests used end statements after ten seconds.
    await run(`BEGIN; SET LOCAL statement_timeout = 0; UPDATE domain_event e SET timestamp = ${time} - 12 * n.at, block_number = ${block} - n.at, log_index = 1
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS at FROM domain_event) n WHERE n.id = e.id; COMMIT`);
    await run(`INSERT INTO _name_events_feed (seq, chain_id, block, timestamp, log_index, type, event_id, transaction_hash, node, keys)
      SELECT row_number() OVER (ORDER BY timestamp), 1, block_number, timestamp, 1, type, id, '0x' || encode(transaction_id, 'hex'), domain_id, '{}'
      FROM domain_event WHERE timestamp >= ${since} AND timestamp < ${time} - 60`);
    await analyze(["domain_event", "_name_events_feed"]);
  });

  async function expectIndexed(statements: readonly { sql: string; values: readonly string[] }[]) {
    for (const statement of statements) {
      const nodes = await explain(statement);
      expect(scannedTables(nodes, 1_500)).toEqual([]);
      expect(maxSorted(nodes)).toBeLessThan(1_500);
      expect(Math.max(...nodes.map((node) => node["Rows Removed by Filter"] ?? 0))).toBeLessThan(1_500);
      // Walks of an index from its beginning too.
      expect(Math.max(...nodes.map((node) => node["Actual Rows"]))).toBeLessThan(1_500);
    }
  }

  test("is written by index", async () => {
    const compared = { from: final, processed: { chain: 1, block, time } };
    await expectIndexed([{ sql: reconcileSql(indexed, compared), values: [] }]);
    const statements: { sql: string; values: string[] }[] = [];
    const run = (sql: string, values: unknown[] = []) => {
      statements.push({ sql, values: values.map(String) });
      return generated.run(sql, values);
    };
    await createFeedWriter({ run, schema: "public", namespaces: indexed })();
    const { rows } =
      await generated.run(`SELECT count(*)::int AS missing FROM domain_event e WHERE timestamp >= ${since}
      AND NOT EXISTS (SELECT FROM _name_events_feed f WHERE f.event_id = e.id)`);
    expect(rows).toEqual([{ missing: 0 }]);
    // Indexing progress, whether it is behind the log, and the statement of above.
    expect(statements.length).toBe(3);
    await expectIndexed(statements.slice(0, 2));
  });

  const positionOf = async (seq: number): Promise<FeedPosition> => {
    const { rows } = await generated.run(`SELECT * FROM _name_events_feed WHERE seq = ${seq}`);
    const { timestamp, block, log_index, event_id, transaction_hash } = rows[0] ?? {};
    const key = [Number(timestamp), Number(block), Number(log_index), String(event_id)] as const;
    return { index: state.index, seq, key, transaction: String(transaction_hash).slice(2, 18) };
  };

  test.each([
    "",
    "&type=registration,renewal",
    "&name=eth",
    `&address=${busyAddress}`,
    "&record_key=text:url",
  ])("is read by index behind any id: %s", async (filter) => {
    const { database, statements } = recordStatements(generated.database);
    // No name leads to the generated events of ENSv2: a page would pass over all of them.
    const ofFirst = indexed.map((home) => ({ ...home, v2: undefined }));
    const { fetch: ask } = openEndpoints<FeedContext>([events], contextOf(database, plugins, ofFirst));
    const ofLog = [await positionOf(3), await positionOf(20_000), await positionOf(39_500)];
    const ofOther = ofLog.map((one) => ({ ...one, index: "ba9876543210" }));
    for (const position of [...ofLog, ...ofOther, startOfFeed(state)]) {
      const response = await ask(`/v1/events?page_size=200&after=${formatFeedId(position)}${filter}`);
      expect([response.status, await response.json()]).toEqual([
        200,
        expect.objectContaining({ data: expect.any(Array) }),
      ]);
    }
    await expectIndexed(statements);
  });

  test("is polled, and begun at a block, by index", async () => {
    const { database, statements } = recordStatements(generated.database);
    const source = { database, namespaces: indexed, times: () => [time] };
    await readItems(source, 39_900, 500, signal);
    await readItems(source, 1, 500, signal);
    for (const from of [1, block - 39_000, block - 20_000, block - 100, block])
      await positionOfBlock(source, state, { chain: 1, block: from }, signal);
    await expectIndexed(statements);
  });
});
