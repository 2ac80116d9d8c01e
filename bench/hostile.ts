// Attacks both services as several hostile clients would, all at once, and measures what other clients see: response
// times of /health,
// /amirealtime and a small query (p99, worst, statuses other than 200), memory of the service and of Postgres, how far the index falls
// behind, and requests per second of normal clients, without the attacks and during them. test/hostile shows what each
// attack alone does.
//
//   node cli/with-node.mjs bench/hostile.ts [--minutes 10] [--attackers 8] [--attack NAME,NAME] [--names 50000]
// [--sales 100000] [--seed 1]
//   node cli/with-node.mjs bench/hostile.ts --in-turn [--minutes 0.3]     each attack alone, by one attacker, a row of the table each
//
// Needs a Postgres server's programs and takes up to 10 GB of memory. All traffic stays on the loopback interface. Each
// attack is bounded in count and time.

import { cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createRandom } from "../devnet/random.ts";
import { type Attack, attacks } from "./hostile/attacks.ts";
import { type Observer, runAttack, startObserver, tableHead, tableRow } from "./hostile/measure.ts";
import { startWorld, type World } from "./hostile/world.ts";

const { values } = parseArgs({
  options: {
    attack: { type: "string" },
    minutes: { type: "string", default: "10" },
    attackers: { type: "string", default: "8" },
    "in-turn": { type: "boolean", default: false },
    names: { type: "string", default: "50000" },
    sales: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
  },
});
const seed = Number(values.seed);
const names = values.attack?.split(",") ?? attacks.map(({ name }) => name);
const chosen = names.map((name) => {
  const found = attacks.find((attack) => attack.name === name);
  if (found === undefined)
    throw new Error(`Unknown attack "${name}"; known: ${attacks.map((one) => one.name).join(", ")}`);
  return found;
});

const baselineMs = 5_000;
const maxSecondsBehind = 8;

/** Waits until the index has caught up after its start, which goes back to the last final block. */
async function settle({ read }: Observer): Promise<void> {
  await sleep(baselineMs);
  for (let left = 30; left > 0 && (await read()).lag > maxSecondsBehind; left--) await sleep(2_000);
  await sleep(baselineMs);
}

/**
 * Lets each attacker repeat attacks of `choice`, in an order of its own, for some minutes; returns how often each was
 * run.
 */
async function attackFor(world: World, choice: readonly Attack[], attackers: number) {
  const until = performance.now() + Number(values.minutes) * 60_000;
  const runs = new Map<string, number>();
  const attackBy = async (attacker: number) => {
    const random = createRandom(seed * 100 + attacker + 1);
    while (performance.now() < until) {
      const attack = random.pick(choice);
      const port = attack.service === "labels" ? world.labelsPort : world.port;
      await runAttack(attack, { port, from: `127.0.1.${attacker + 1}`, seed: random.below(2 ** 31) });
      runs.set(attack.name, (runs.get(attack.name) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: attackers }, (_, attacker) => attackBy(attacker)));
  return runs;
}

async function measureTogether(world: World, observer: Observer): Promise<void> {
  const runs = await attackFor(world, chosen, Number(values.attackers));
  const during = await observer.read();
  await sleep(60_000);
  console.log(`${tableRow("during", during)}\n${tableRow("the minute after", await observer.read())}`);
  console.log(`\n${[...runs].map(([name, count]) => `${count} x ${name}`).join(", ")}`);
}

async function measureInTurn(world: World, observer: Observer): Promise<void> {
  for (const attack of chosen) {
    await attackFor(world, [attack], 1);
    console.log(tableRow(attack.name, await observer.read()));
    await settle(observer);
  }
}

console.log(`load ${loadavg()[0]?.toFixed(1)} on ${cpus().length} processors; seed ${seed}`);
const world = await startWorld({ names: Number(values.names), sales: Number(values.sales) });
try {
  const observer = await startObserver(world);
  await settle(observer);
  const pid = await world.pidOfIndex();
  console.log(`${tableHead}\n${tableRow("without", await observer.read())}`);
  await (values["in-turn"] ? measureInTurn : measureTogether)(world, observer);
  await observer.stop();
  if (pid === undefined || (await world.pidOfIndex()) !== pid)
    console.log(`THE PROCESS ENDED\n${world.lastLines().join("\n")}`);
} finally {
  await world.close();
}
