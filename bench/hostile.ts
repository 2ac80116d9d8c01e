// Attacks both services as a hostile client would, and measures what other clients see: response times of /health, /amirealtime and a
// small query (p99, worst, statuses other than 200), memory of the service and of Postgres, how far the index falls behind, and requests
// per second of normal clients, without the attack and during it.
//
//   node cli/with-node.mjs bench/hostile.ts [--attack NAME,NAME] [--names 50000] [--sales 100000] [--seed 1]
//   node cli/with-node.mjs bench/hostile.ts --minutes 10 [--attackers 8]     all of them at once, repeatedly
//
// Needs a Postgres server's programs and takes up to 10 GB of memory. All traffic stays on the loopback interface. Without --minutes each
// attack starts with freshly restarted services. Each is bounded in count and time.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { createRandom } from "../devnet/random.ts";
import type { Attack } from "./hostile/attack.ts";
import { attacks } from "./hostile/attacks.ts";
import {
  describeReplies,
  histogram,
  runAttack,
  sleep,
  startObserver,
  tableHead,
  tableRow,
} from "./hostile/measure.ts";
import { startWorld, type World } from "./hostile/world.ts";

const { values } = parseArgs({
  options: {
    attack: { type: "string" },
    minutes: { type: "string" },
    attackers: { type: "string", default: "8" },
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
// A restart goes back to the last final block and catches up from there.
const mostSecondsBehind = 8;
const afterMs = 10_000;

/** An observer of the services once they are warm and have caught up, and what it has seen without an attack. */
async function observed(world: World, service: "index" | "labels") {
  const observer = await startObserver(world, service);
  await sleep(baselineMs);
  for (let left = 30; left > 0 && (await observer.read()).lag > mostSecondsBehind; left--) await sleep(2_000);
  await sleep(baselineMs);
  const without = await observer.read();
  const pid = await world.pidOf(service);
  if (pid === undefined) {
    await observer.stop();
    throw new Error(`The service ended before any attack.\n${world.lastLines().join("\n")}`);
  }
  return { observer, without, pid };
}

const portOf = (world: World, { service }: Attack) => (service === "labels" ? world.labelsPort : world.port);

/** Runs one attack after a restart of the services; prints the time before it, and its own with the ten seconds after it. */
async function measureAttack(world: World, attack: Attack): Promise<void> {
  await world.restart();
  const service = attack.service ?? "index";
  const { observer, without, pid } = await observed(world, service);
  try {
    const replies = await runAttack(attack, { port: portOf(world, attack), from: "127.0.0.1", seed });
    await sleep(afterMs);
    const during = await observer.read();
    console.log(`${tableRow(`before ${attack.name}`, without)}\n${tableRow(attack.name, during)}`);
    console.log(`  ${attack.what}: ${describeReplies(replies)}`);
    if ((await world.pidOf(service)) !== pid)
      console.log(`  THE PROCESS ENDED\n${world.lastLines().join("\n")}`);
  } finally {
    await observer.stop();
  }
}

/** Lets several attackers repeat the attacks, each in its own order, for some minutes. Nothing is restarted in between. */
async function repeatAttacks(world: World, minutes: number, attackers: number): Promise<void> {
  const { observer, without, pid } = await observed(world, "index");
  const until = performance.now() + minutes * 60_000;
  const runs = new Map<string, number>();
  const attackBy = async (place: number) => {
    const random = createRandom(seed * 100 + place + 1);
    while (performance.now() < until) {
      const attack = random.pick(chosen);
      const from = `127.0.1.${place + 1}`;
      await runAttack(attack, { port: portOf(world, attack), from, seed: random.below(2 ** 31) });
      runs.set(attack.name, (runs.get(attack.name) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: attackers }, (_, place) => attackBy(place)));
  const during = await observer.read();
  await sleep(60_000);
  const after = await observer.read();
  await observer.stop();
  console.log(
    `${tableRow("without", without)}\n${tableRow("during", during)}\n${tableRow("the minute after", after)}`,
  );
  console.log(
    `\n${histogram(during)}\n\n${[...runs].map(([name, count]) => `${count} x ${name}`).join(", ")}`,
  );
  if ((await world.pidOf("index")) !== pid) console.log(`THE PROCESS ENDED\n${world.lastLines().join("\n")}`);
}

console.log(`load ${loadavg()[0]?.toFixed(1)} on ${cpus().length} processors; seed ${seed}`);
const world = await startWorld({ names: Number(values.names), sales: Number(values.sales) });
let isStopping = false;
// The signal may come twice: from the terminal, and from cli/with-node.mjs.
process.on("SIGINT", () => {
  if (!isStopping) void world.close().finally(() => process.exit(130));
  isStopping = true;
});
try {
  console.log(tableHead);
  if (values.minutes !== undefined)
    await repeatAttacks(world, Number(values.minutes), Number(values.attackers));
  else for (const attack of chosen) await measureAttack(world, attack);
} finally {
  await world.close();
}
