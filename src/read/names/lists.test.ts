import { afterAll, beforeAll, expect, test } from "vitest";
import { createRandom } from "../../../devnet/random.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { indexedNamespaces } from "./indexed-namespaces.ts";
import { branchesFrom, byName, listSql, withText } from "./lists.ts";
import { binder } from "./source.ts";

const indexed = indexedNamespaces(namespaces.mainnet, ["subgraph"]);
type Name = { id: string; name: string; owner: string };

let client: TestDatabase;
let names: Name[];
beforeAll(async () => {
  client = await createTestDatabase("indexes");
  const random = createRandom(11);
  const letters = [..."aabbbc.", "é", "🚀"];
  const nameOf = (length: number) => Array.from({ length }, () => random.pick(letters)).join("");
  names = Array.from({ length: 1_500 }, (_, i) => ({
    id: `0x${random.hexDigits(32)}`,
    name: i % 100 === 7 ? `${nameOf(250)}${"b".repeat(10)}ab` : nameOf(1 + random.below(9)),
    owner: i % 3 === 0 ? zeroAddress : "0x".padEnd(42, "7"),
  }));
  await client.query(
    `INSERT INTO domain (id, name, subdomain_count, is_migrated, created_at, owner_id, change_block)
      SELECT id, name, 0, true, 1, owner, 1 FROM json_to_recordset($1::json) AS r (id text, name text, owner text)`,
    [JSON.stringify(names)],
  );
});
afterAll(() => client.close());

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const first = (name: string) => [...name].slice(0, 256).join("");

type Filters = { filters: string[]; rowFilters: string[] };

async function page(text: string, filters: Filters, after: readonly string[] | undefined) {
  const { bind, values } = binder([1_760_000_000]);
  const named = withText(
    branchesFrom(indexed, "true", byName),
    { bind },
    { text, match: "contains", isOfAll: true },
  );
  const start = after?.map(bind);
  const sql = listSql(indexed, {
    ...named,
    ...filters,
    ...{ after: start, isDescending: false, limit: 11 },
  });
  const { rows } = await client.query<{ [column: string]: string }>(sql, values);
  const listed: { row: { name: string; node: string }; after: string[] }[] = JSON.parse(
    Object.values(rows[0] ?? {})[0] ?? "[]",
  );
  return listed.map(({ row: { name, node }, after }) => ({ name, id: node, after }));
}

// Texts that many names have, few, or none; that begin names; without a trigram.
const texts = [
  "aba",
  "bbb",
  "abc",
  "acca",
  "ccccc",
  "bab.a",
  "ab",
  ".a",
  "🚀ab",
  "éaba",
  "aab🚀",
  "bbbbbbbbbbab",
];

test.each(texts)("names with %s come in order, page by page, and none is missing", async (text) => {
  for (const filters of [
    { filters: [], rowFilters: [] },
    { filters: [], rowFilters: ["octet_length(domain.name) <= 2000"] },
    { filters: ["names.status = 'active'"], rowFilters: [] },
  ]) {
    const isShown = ({ name, owner }: Name) =>
      name.includes(text) && !(filters.filters.length > 0 && owner === zeroAddress);
    const expected = names
      .filter(isShown)
      .sort((a, b) => byBytes(first(a.name), first(b.name)) || byBytes(a.id, b.id))
      .map(({ id }) => id);
    const found: string[] = [];
    let after: string[] | undefined;
    for (;;) {
      const listed = await page(text, filters, after);
      found.push(...listed.slice(0, 10).map(({ id }) => id));
      if (listed.length < 11) break;
      after = listed[9]?.after;
    }
    expect(found).toEqual(expected);
  }
});
