import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestDatabase } from "../../test/support/database.ts";
import { createRecordedDatabase } from "../../test/support/subgraph/endpoint.ts";
import { type SqlView, sqlOfView, sqlViews } from "./sql-views.ts";

// The recorded events of mainnet, in subgraph mode.
let client: TestDatabase;
beforeAll(async () => {
  client = await createRecordedDatabase();
});
afterAll(() => client?.close());

const read = async (view: SqlView, columns = "*") =>
  (await client.query<Record<string, unknown>>(`SELECT ${columns} FROM (${sqlOfView(view, "public")}) v`))
    .rows;
const count = async (table: string) =>
  (await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]?.n;

test("every row of the tables is in a view once", async () => {
  const of = async (view: SqlView) => (await read(view)).length;
  expect(await of("names")).toBe(await count("domain WHERE name <> ''"));
  expect(await of("registrations")).toBe(await count("registration"));
  expect(await of("accounts")).toBe(await count("account"));
  const events = await Promise.all(["domain_event", "registration_event", "resolver_event"].map(count));
  expect(await of("events")).toBe(events.reduce((sum: number, n) => sum + (n ?? 0), 0));
  const records = "resolver WHERE addr_id IS NOT NULL";
  expect((await read("records")).filter(({ key }) => key === "addr:60")).toHaveLength(
    (await count(records)) ?? 0,
  );
  const chains = new Set((await read("events", "chain_id")).map(({ chain_id }) => chain_id));
  expect([...chains]).toEqual([1]);
});

test("each view has rows", async () => {
  const empty = [];
  for (const view of sqlViews) if ((await read(view)).length === 0) empty.push(view);
  // Of plugins that this index does not have.
  expect(empty).toEqual(["tokens"]);
});
