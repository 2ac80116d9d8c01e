import { onchainTable } from "ponder";
import { expect, test } from "vitest";
import { indexedPrefix } from "../api/subgraph/compile/statement.ts";
import { entityType } from "../api/subgraph/schema/inputs.ts";
import { bytes, hex, text } from "./columns.ts";
import { columnFacts, indexed, prefixOf, present, shortOf, tableIndexes, tableTraits } from "./indexes.ts";

// A table as a contributor adds one: what statements need to know of its columns follows from its definition alone.
indexed(
  onchainTable("probe", (t) => ({
    id: hex(t).primaryKey(),
    longTitle: text(t),
    keeperId: hex(t),
    seenIn: bytes(t),
    rank: t.integer(),
  })),
  (table) => ({
    byTitle: [prefixOf(table.longTitle)],
    byKeeper: present(table.keeperId, shortOf(table.id)),
    byRank: [table.rank, table.id],
  }),
  (table) => ({ crowded: table.keeperId, isSearched: true }),
);

test("an indexed column is known to statements by its index", () => {
  const ofProbe = (columns: ReadonlySet<string>) => [...columns].filter((one) => one.startsWith("probe."));
  const { prefixed, grouped, bytes } = columnFacts();
  expect([ofProbe(prefixed), ofProbe(grouped), ofProbe(bytes)]).toEqual([
    ["probe.long_title"],
    ["probe.keeper_id"],
    ["probe.seen_in"],
  ]);
  expect(tableIndexes().filter(({ table }) => table === "probe")).toEqual([
    { name: "probe_by_title", table: "probe", method: "btree", keys: "(left(long_title, 256))" },
    {
      name: "probe_by_keeper",
      table: "probe",
      method: "btree",
      keys: "(keeper_id, left(id, 10)) WHERE keeper_id IS NOT NULL",
    },
    { name: "probe_by_rank", table: "probe", method: "btree", keys: "(rank, id)" },
  ]);
  expect(tableTraits().searched).toContain("probe");
  expect(tableTraits().crowded.get("probe")).toBe("keeper_id");
});

test("filters and sorts use the first characters of an indexed text", () => {
  const of = { type: entityType("Domain"), alias: "d", isOneGroup: false };
  expect(indexedPrefix(of, "name")).toEqual({ sql: "left(d.name, 256)", length: 256 });
  expect(indexedPrefix(of, "created_at")).toBeUndefined();
  expect(indexedPrefix({ ...of, isOneGroup: true }, "id")).toEqual({ sql: "left(d.id, 10)", length: 10 });
});
