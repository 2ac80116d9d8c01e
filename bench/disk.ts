// What an index takes on disk: bytes a log and a name in Postgres with all indexes, by set of plugins, and the largest tables and
// indexes.
//
//   node cli/with-node.mjs bench/disk.ts [--logs 100000] [--relations 12] [--against CHECKOUT]
//
// --against also indexes with another checkout of this project (with its packages installed), and prints the ratio. Needs a Postgres
// server's programs.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { serveHistory } from "./backfill/chain.ts";
import { indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { untilReady, whole } from "./measure.ts";
import { bytesOf, diskOf, inWorld, type Relation, type World } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    logs: { type: "string", default: "100000" },
    relations: { type: "string", default: "12" },
    against: { type: "string" },
  },
});
const cache = "ponder_sync";

type Taken = { logs: number; names: number; relations: readonly Relation[] };

function describe(name: string, { logs, names, relations }: Taken): string {
  const [all, indexes] = [bytesOf(relations), bytesOf(relations, true)];
  const ofName = names === 0 ? "" : `, ${whole(all / names)} a name of ${whole(names)}`;
  return `${name}: ${whole(all / 1e6)} MB (indexes ${whole(indexes / 1e6)}), ${whole(all / logs)} bytes a log${ofName}`;
}

function describeLargest({ logs, relations }: Taken): string {
  const largest = relations.slice(0, Number(options.relations));
  return largest
    .map(
      ({ name, isIndex, bytes }) =>
        `  ${whole(bytes / logs).padStart(6)} bytes a log  ${isIndex ? "index" : "table"} ${name}`,
    )
    .join("\n");
}

const sets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "subgraph mode": { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" },
  "multichain mode": { PLUGINS: "subgraph" },
  "four plugins": { PLUGINS: "subgraph,protocol-acceleration,registrars,tokenscope" },
};

async function ofSets({ folder, url }: World): Promise<void> {
  const served = await serveHistory({ logs: Number(options.logs), folder });
  const { logs } = served;
  const index = async (name: string, appRoot: string, settings: Readonly<Record<string, string>>) => {
    const port = await freePort();
    await indexOnce({
      name,
      appRoot,
      port,
      environment: { ...served.environment, DATABASE_URL: url, ...settings },
      whenComplete: () => untilReady(port),
    });
    return { logs, ...(await diskOf(url, name)) };
  };
  try {
    for (const [name, settings] of Object.entries(sets)) {
      const schema = `disk_${name.replace(" ", "_")}`;
      const taken = await index(schema, realRoot, settings);
      console.log(describe(name, taken));
      if (options.against !== undefined) {
        const other = await index(`${schema}_other`, resolve(options.against), settings);
        const ratio = bytesOf(taken.relations) / bytesOf(other.relations);
        console.log(`${describe("  the other checkout", other)}; ratio ${ratio.toFixed(3)}`);
      }
      console.log(describeLargest(taken));
    }
    const { relations } = await diskOf(url, cache);
    console.log(describe(`${cache}, what was fetched for all of them`, { logs, names: 0, relations }));
  } finally {
    await served.close();
  }
}

await inWorld("disk", ofSets);
