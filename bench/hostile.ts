// Attacks both services as a hostile client would, and measures the effect on other clients: responses and their times,
// worst and p99 of /health, /amirealtime and a small query, memory of the service and of Postgres, how far the index
// falls behind, and requests per second of normal clients with and without the attack.
//
//   node scripts/with-node.mjs bench/hostile.ts [--attack NAME,NAME] [--out FILE] [--names 50000] [--sales 100000] [--seed 1]
//   node scripts/with-node.mjs bench/hostile.ts --minutes 10 [--attackers 8]     the whole table, repeatedly
//   node scripts/with-node.mjs bench/hostile.ts --fuzz 200000                    random requests, with an oracle
//
// Needs a Postgres server's programs and takes up to 10 GB of memory. All traffic stays on the loopback interface. Each
// attack starts with freshly restarted services, and is bounded in count and time. --keep leaves the services running.
import { appendFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Attack } from "./hostile/attack.ts";
import { attacks } from "./hostile/attacks.ts";
import { fuzzServices } from "./hostile/fuzz.ts";
import { measureIngests } from "./hostile/ingests.ts";
import { measureAttack } from "./hostile/measure.ts";
import { measureOutage } from "./hostile/outage.ts";
import { describeAttack, tableHead, tableRow } from "./hostile/report.ts";
import { loopTable } from "./hostile/table-loop.ts";
import { startWorld, type World } from "./hostile/world.ts";

const { values } = parseArgs({
  options: {
    attack: { type: "string" },
    minutes: { type: "string" },
    attackers: { type: "string", default: "8" },
    fuzz: { type: "string" },
    keep: { type: "boolean", default: false },
    names: { type: "string", default: "50000" },
    sales: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
  },
});
const seed = Number(values.seed);
const chosen = values.attack?.split(",");
const known = [...attacks.map(({ name }) => name), "database-away", "ingest"];
for (const name of chosen ?? []) {
  if (!known.includes(name)) throw new Error(`Unknown attack "${name}"; known: ${known.join(", ")}`);
}
const isChosen = (name: string) => chosen?.includes(name) ?? true;

function note(line: string): void {
  console.log(line);
  if (values.out !== undefined) appendFileSync(values.out, `${line}\n`);
}

function load(): string {
  return `load ${loadavg()[0]?.toFixed(1)} on ${cpus().length} processors`;
}

async function runTable(world: World, table: readonly Attack[]): Promise<void> {
  const rows: string[] = [];
  for (const attack of table) {
    try {
      const measured = await measureAttack(world, attack, seed);
      note(`${describeAttack(measured)}\n  ${load()}\n`);
      rows.push(tableRow(measured));
    } catch (error) {
      // An attack after which nothing can be measured is a result too; the next one starts from a restart.
      note(`${attack.name}: could not be measured: ${error instanceof Error ? error.message : error}`);
      note(world.lastLines().join("\n"));
    }
  }
  if (isChosen("database-away")) note(await measureOutage(world));
  if (rows.length > 0) note(`\n${[tableHead, ...rows].join("\n")}`);
}

if (values.out !== undefined) writeFileSync(values.out, "");
note(`${load()}; seed ${seed}`);
if (isChosen("ingest") && values.minutes === undefined && values.fuzz === undefined) note(measureIngests());
if (chosen?.join() !== "ingest") {
  const world = await startWorld({ names: Number(values.names), sales: Number(values.sales) });
  note(
    world.processors.isDivided
      ? "processors are shared as containers share them"
      : "processors are shared by session",
  );
  let isStopping = false;
  // The signal may come twice: from the terminal, and from scripts/with-node.mjs.
  process.on("SIGINT", () => {
    if (!isStopping) void world.close().finally(() => process.exit(130));
    isStopping = true;
  });
  try {
    const table = attacks.filter(({ name }) => isChosen(name));
    if (values.fuzz !== undefined) note(await fuzzServices(world, { requests: Number(values.fuzz), seed }));
    else if (values.minutes === undefined) await runTable(world, table);
    else {
      const bounds = { minutes: Number(values.minutes), attackers: Number(values.attackers), seed };
      note(await loopTable(world, table, bounds));
    }
    if (values.keep) {
      note(`The indexing service runs on port ${world.port}, the label service on ${world.labels.port}.`);
      await new Promise(() => undefined);
    }
  } finally {
    await world.close();
  }
}
