// Attacks both services as several hostile clients would, all at once, and measures what other clients see: response times of /health,
// /amirealtime and a small query (p99, worst, statuses other than 200), memory of the service and of Postgres, how far the index falls
// behind, and requests per second of normal clients, without the attacks and during them. test/hostile shows what each attack alone does.
//
//   node cli/with-node.mjs bench/hostile.ts [--minutes 10] [--attackers 8] [--attack NAME,NAME] [--names 50000] [--sales 100000] [--seed 1]
//
// Needs a Postgres server's programs and takes up to 10 GB of memory. All traffic stays on the loopback interface. Each attack is bounded
// in count and time.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { createRandom } from "../devnet/random.ts";
import { attacks } from "./hostile/attacks.ts";
import { histogram, runAttack, startObserver, tableHead, tableRow } from "./hostile/measure.ts";
import { startWorld, type World } from "./hostile/world.ts";
import { sleep } from "./measure.ts";

const { values } = parseArgs({
  options: {
    attack: { type: "string" },
    minutes: { type: "string", default: "10" },
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
// A start goes back to the last final block and catches up from there.
const mostSecondsBehind = 8;

/** Lets several attackers repeat the attacks, each in its own order, for some minutes. */
async function measure(world: World, minutes: number, attackers: number): Promise<void> {
  const observer = await startObserver(world);
  await sleep(baselineMs);
  for (let left = 30; left > 0 && (await observer.read()).lag > mostSecondsBehind; left--) await sleep(2_000);
  await sleep(baselineMs);
  const without = await observer.read();
  const pid = await world.pidOfIndex();
  const until = performance.now() + minutes * 60_000;
  const runs = new Map<string, number>();
  const attackBy = async (place: number) => {
    const random = createRandom(seed * 100 + place + 1);
    while (performance.now() < until) {
      const attack = random.pick(chosen);
      const port = attack.service === "labels" ? world.labelsPort : world.port;
      await runAttack(attack, { port, from: `127.0.1.${place + 1}`, seed: random.below(2 ** 31) });
      runs.set(attack.name, (runs.get(attack.name) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: attackers }, (_, place) => attackBy(place)));
  const during = await observer.read();
  await sleep(60_000);
  const after = await observer.read();
  await observer.stop();
  console.log(
    `${tableHead}\n${tableRow("without", without)}\n${tableRow("during", during)}\n${tableRow("the minute after", after)}`,
  );
  console.log(
    `\n${histogram(during)}\n\n${[...runs].map(([name, count]) => `${count} x ${name}`).join(", ")}`,
  );
  if (pid === undefined || (await world.pidOfIndex()) !== pid)
    console.log(`THE PROCESS ENDED\n${world.lastLines().join("\n")}`);
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
  await measure(world, Number(values.minutes), Number(values.attackers));
} finally {
  await world.close();
}
