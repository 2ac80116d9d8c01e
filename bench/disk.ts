// What an index takes on disk: bytes a log and a name in Postgres with all indexes, by set of plugins, and the largest
// tables and indexes.
//
//   node cli/with-node.mjs bench/disk.ts [--logs 100000] [--against CHECKOUT]
//
// --against also indexes with another checkout of this project (with its packages installed), and prints the ratio.
// Needs a Postgres server's programs.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { query } from "../test/support/postgres.ts";
import { serveHistory } from "./backfill/chain.ts";
import { indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { untilReady, whole } from "./measure.ts";
import { inWorld } from "./world.ts";

const { values: options } = parseArgs({
  options: { logs: { type: "string", default: "100000" }, against: { type: "string" } },
});
const largest = 12;
const sets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "subgraph mode": { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" },
  "multichain mode": { PLUGINS: "subgraph" },
  "four plugins": { PLUGINS: "subgraph,protocol-acceleration,registrars,tokenscope" },
};

/** Bytes of a relation of Postgres: a table with what belongs to it but its indexes, or one index. */
type Relation = { name: string; isIndex: boolean; bytes: number };

/** What a schema takes on disk, the largest relations first. */
const readRelations = (url: string, schema: string) =>
  query<Relation>(
    url,
    `SELECT c.relname AS name, c.relkind = 'i' AS "isIndex",
      CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END::float8 AS bytes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'i') AND n.nspname = '${schema}' ORDER BY bytes DESC`,
  );

const sumBytes = (relations: readonly Relation[]) => relations.reduce((sum, { bytes }) => sum + bytes, 0);

function describe(relations: readonly Relation[], logs: number, names?: number): string {
  const all = sumBytes(relations);
  const indexes = sumBytes(relations.filter(({ isIndex }) => isIndex));
  const ofName = names === undefined ? "" : `, ${whole(all / names)} a name of ${whole(names)}`;
  return `${whole(all / 1e6)} MB (indexes ${whole(indexes / 1e6)}), ${whole(all / logs)} bytes a log${ofName}`;
}

await inWorld("disk", async ({ folder, url }) => {
  const served = await serveHistory({ logs: Number(options.logs), folder });
  const { logs } = served;
  /** Indexes with the checkout at `appRoot`, prints the whole, and returns the relations. */
  async function index(name: string, appRoot: string, set: string): Promise<Relation[]> {
    const port = await freePort();
    const schema = `disk_${name}`.replaceAll(" ", "_");
    const environment = { ...served.environment, DATABASE_URL: url, ...sets[set] };
    await indexOnce({ name: schema, appRoot, port, environment, whenComplete: () => untilReady(port) });
    const relations = await readRelations(url, schema);
    const [domains] = await query<{ names: number }>(
      url,
      `SELECT count(*)::int AS names FROM "${schema}".domain`,
    );
    console.log(`${name}: ${describe(relations, logs, domains?.names)}`);
    return relations;
  }
  try {
    for (const set of Object.keys(sets)) {
      const relations = await index(set, realRoot, set);
      if (options.against !== undefined) {
        const others = await index(`${set} of the other checkout`, resolve(options.against), set);
        console.log(`  ratio ${(sumBytes(relations) / sumBytes(others)).toFixed(3)}`);
      }
      for (const { name, isIndex, bytes } of relations.slice(0, largest))
        console.log(
          `  ${whole(bytes / logs).padStart(6)} bytes a log  ${isIndex ? "index" : "table"} ${name}`,
        );
    }
    const cache = await readRelations(url, "ponder_sync");
    console.log(`ponder_sync, what was fetched for all of them: ${describe(cache, logs)}`);
  } finally {
    await served.close();
  }
});
