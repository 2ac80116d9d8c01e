import { join } from "node:path";
import { projectRoot } from "../../devnet/indexing-service.ts";
import { writeLabelsFile } from "../../devnet/labels-file.ts";
import { subnode, zeroAddress } from "../../src/ens/ids.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { namehash } from "../../src/ens/names.ts";
import { indexedBlock } from "../../test/support/indexer.ts";
import { createPool } from "../../test/support/postgres.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { recordedLabels } from "../../test/support/recordings.ts";
import { startFeedWorld } from "../feed/world.ts";
import { generatedLabels, writeDump } from "../labels/data.ts";
import { runCommand, startServer } from "../labels/service.ts";
import { quantile, residentMegabytes, secondsSince, whole } from "../measure.ts";
import type { World } from "../world.ts";

// An index that lacks many labels, over a chain with a block a second, is healed from a label service.

/** How many names lack their label, of one in how many the newer version has it, and how many labels that has. */
type Sizes = { names: number; share: number; labels: number };

/** Heals, and prints how fast, and what blocks, memory and /health notice of it. */
export async function healLive({ folder, url }: World, sizes: Sizes): Promise<void> {
  const [database, dump, port] = [join(folder, "labels.sqlite"), join(folder, "labels.sql.gz"), 21_901];
  writeLabelsFile(database, recordedLabels(["root"]));
  await writeDump(dump, sizes.labels);
  const set = ["--label-set-id", "subgraph", "--label-set-version", "1"];
  runCommand(projectRoot, "ingest", dump, ...set, "--database", database);
  const service = await startServer(projectRoot, { port, database });
  const world = await startFeedWorld(
    { server: url, compiledModules: join(folder, "modules") },
    { LABELS_URL: `http://127.0.0.1:${port}` },
  );
  const { node, indexer, databaseUrl } = world;
  let watch: NodeJS.Timeout | undefined;
  try {
    await world.reader.stop();
    await indexer.stop();
    await insertUnknown(databaseUrl, sizes);
    indexer.start({ LABEL_SET_VERSION: "1", LABELS_HEAL: "true" });
    await indexer.waitFor("/health", async () => ({ done: await fetch(`${indexer.url}/health`) }));
    const [pid] = await childrenOf(indexer.running().pid);
    const [memory, health, behind]: [number[], number[], number[]] = [[], [], []];
    let begun: number | undefined;
    // Not in turn: an answer that is late must not hide others.
    watch = setInterval(async () => {
      const sent = performance.now();
      await fetch(`${indexer.url}/health`).then((response) => response.text());
      if (begun === undefined) return;
      health.push(performance.now() - sent);
      memory.push(residentMegabytes(pid));
    }, 50);
    node.startMining(1);
    const healed = await indexer.waitFor("the index to be healed", async () => {
      const body = await (await fetch(`${indexer.url}/api/config`)).json();
      const { labelHealing: state } = body as {
        labelHealing?: { state: string; asked: number; healed: number };
      };
      if (state?.asked) begun ??= performance.now();
      const head = node.chain.head();
      if (begun !== undefined) behind.push(head - (await indexedBlock(indexer.url)));
      return state?.state === "complete" ? { done: state } : { state: JSON.stringify(state) };
    });
    const seconds = secondsSince(begun ?? 0);
    const each = (count: number) => `${whole(count)} (${whole(count / seconds)} a second)`;
    console.log(
      `${whole(sizes.labels)} labels: ${each(healed.asked)} names asked, ${each(healed.healed)} healed; memory ${whole(memory[0] ?? 0)} MB, ` +
        `at most ${whole(Math.max(...memory))} MB; /health p50 ${quantile(health, 0.5).toFixed(1)} ms, p99 ${quantile(health, 0.99).toFixed(1)} ms; ` +
        `${behind.length} looks at blocks: p50 ${quantile(behind, 0.5)}, p99 ${quantile(behind, 0.99)}, at most ${Math.max(...behind)} blocks behind`,
    );
  } finally {
    clearInterval(watch);
    await world.close();
    await service.stop();
  }
}

/** Writes names below eth that lack their labels into the tables of a stopped index, as final rows. */
async function insertUnknown(databaseUrl: string, { names, share, labels }: Sizes): Promise<void> {
  const pool = createPool(databaseUrl, 1);
  const eth = namehash("eth");
  const step = Math.max(1, Math.floor((labels * share) / names));
  const [known, rows]: [Generator<string>, object[]] = [generatedLabels(labels), []];
  const next = () => {
    let label = known.next().value as string;
    for (let skipped = 1; skipped < step; skipped++) label = known.next().value as string;
    return label;
  };
  await pool.query("ALTER TABLE domain DISABLE TRIGGER USER");
  for (let number = 0; number < names; number++) {
    const hash = labelhash(number % share === 0 ? next() : `unknown ${number}`);
    rows.push({ id: subnode(eth, hash), labelhash: hash, name: `[${hash.slice(2)}].eth` });
    if (rows.length < 10_000 && number < names - 1) continue;
    await pool.query(
      `INSERT INTO domain (id, labelhash, name, parent_id, subdomain_count, is_migrated, chain_id, created_at, owner_id, change_block)
        SELECT id, labelhash, name, '${eth}', 0, true, 1, 1, '${zeroAddress}', 1 FROM json_to_recordset($1::json) AS v(id text, labelhash text, name text)`,
      [JSON.stringify(rows.splice(0))],
    );
  }
  await pool.query("ALTER TABLE domain ENABLE TRIGGER USER");
  await pool.query("ANALYZE domain");
  await pool.end();
}
