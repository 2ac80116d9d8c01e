import { createRandom } from "../../devnet/random.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import type { Attack } from "./attack.ts";
import { largest, startGauges } from "./gauges.ts";
import { runAttack, startWatcher, type Watch, watchedIndexer } from "./measure.ts";
import { describeWatch } from "./report.ts";
import type { World } from "./world.ts";

/** How long the table is repeated, by how many attackers, and in which orders. */
export type LoopBounds = { minutes: number; attackers: number; seed: number };

const settleMs = 60_000;

/**
 * Lets several attackers repeat the table, each in its own order, for `minutes`; prints a line of figures per minute
 * and returns the figures of the whole time. Nothing is restarted in between: each attack runs on what the previous
 * ones left behind.
 */
export async function loopTable(
  world: World,
  table: readonly Attack[],
  { minutes, attackers, seed }: LoopBounds,
): Promise<string> {
  const gauges = startGauges({
    pid: world.indexerPid,
    databaseUrl: world.postgres.url,
    schema: world.schema,
    chainId: chainIds.root,
    whenLow: world.relieve,
  });
  const watcher = await startWatcher(await watchedIndexer(world));
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await watcher.read();
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const without = await watcher.read();
  gauges.worst();
  gauges.processes();
  const before = gauges.now();
  let during: Watch = {};
  let worst = before;
  const look = async () => {
    const seen = await watcher.read();
    during = together(during, seen);
    const last = gauges.worst();
    worst = largest(worst, last);
    const { rss, postgres, lag } = last;
    console.log(`RSS ${whole(rss)} MB, Postgres ${whole(postgres)} MB, ${whole(lag)} s behind`);
    console.log(describeWatch(seen).join("\n"));
  };
  const looking = setInterval(() => void look(), 60_000);
  const runs = await attackFor(world, table, { minutes, attackers, seed });
  clearInterval(looking);
  await look();
  const processes = gauges.processes();
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const after = gauges.now();
  watcher.stop();
  await gauges.stop();
  return [
    `${minutes} minutes of the table by ${attackers} attackers: ${[...runs].map(([name, count]) => `${count} x ${name}`).join(", ")}`,
    `  ${processes <= 1 ? "the process lived" : `THE PROCESS ENDED: there were ${processes}`}; RSS ${Math.round(before.rss)} -> ${Math.round(worst.rss)} -> ${Math.round(after.rss)} MB, Postgres ${Math.round(before.postgres)} -> ${Math.round(worst.postgres)} MB, ${worst.lag.toFixed(0)} s behind at worst`,
    "without:",
    ...describeWatch(without),
    "during:",
    ...describeWatch(during),
  ].join("\n");
}

async function attackFor(
  world: World,
  table: readonly Attack[],
  { minutes, attackers, seed }: LoopBounds,
): Promise<Map<string, number>> {
  const until = performance.now() + minutes * 60_000;
  const runs = new Map<string, number>();
  await Promise.all(
    Array.from({ length: attackers }, async (_, place) => {
      const random = createRandom(seed * 100 + place + 1);
      while (performance.now() < until) {
        const attack = random.pick(table);
        const port = attack.service === "labels" ? world.labels.port : world.port;
        await runAttack(world, attack, { port, from: `127.0.1.${place + 1}`, seed: random.below(2 ** 31) });
        runs.set(attack.name, (runs.get(attack.name) ?? 0) + 1);
      }
    }),
  );
  return runs;
}

const whole = (value: number) => Math.round(value).toLocaleString("en-US");

function together(first: Watch, second: Watch): Watch {
  const joined: Watch = { ...first };
  for (const [name, { latencies, statuses, perSecond }] of Object.entries(second)) {
    const before = first[name] ?? { latencies: [], statuses: {}, perSecond };
    const sums = { ...before.statuses };
    for (const [status, count] of Object.entries(statuses)) sums[status] = (sums[status] ?? 0) + count;
    joined[name] = {
      latencies: before.latencies.concat(latencies),
      statuses: sums,
      perSecond: (before.perSecond + perSecond) / 2,
    };
  }
  return joined;
}
