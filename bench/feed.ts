// The feed of name events: readers under reorganizations, kills and switches of the stable name; what it costs; what
// comes of faults.
//
//   node cli/with-node.mjs bench/feed.ts [--only seeds|costs|faults] [--seeds 50] [--jobs 2] [--blocks 20] [--logs
// 100000]
//
// Needs a Postgres server's programs (it starts one for the run), and for the seeds anvil. A client that does not come
// to hold what is listed makes the exit code 1. The speed of the backfill beside a checkout without the feed:
// bench/backfill.ts --against.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chainIds } from "../devnet/recorded-chains.ts";
import { startFeedHistory } from "../test/support/feed-history.ts";
import { createIndexer } from "../test/support/indexer.ts";
import { recordedLabels } from "../test/support/recordings.ts";
import { measureCatchingUp, measureIdle, measureLive } from "./feed/costs.ts";
import { measureFaults } from "./feed/faults.ts";
import { startFeedWorld } from "./feed/world.ts";
import { createDatabase, inWorld, type World } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "seeds,costs,faults" },
    seeds: { type: "string", default: "50" },
    jobs: { type: "string", default: "2" },
    blocks: { type: "string", default: "20" },
    logs: { type: "string", default: "100000" },
  },
});
const parts: readonly string[] = options.only.split(",");

async function followSeeds({ folder, url }: World): Promise<void> {
  const seeds = Array.from({ length: Number(options.seeds) }, (_, at) => at + 1);
  console.log(
    "| seed | deepest reorganization | entries | connections | reverted | told to refetch | seconds |\n|---|---|---|---|---|---|---|",
  );
  const work = async (_: unknown, job: number) => {
    const history = await startFeedHistory(async ({ rpcUrl, environment }) =>
      createIndexer({
        ...{ labels: recordedLabels(["root"]), compiledModules: join(folder, "modules") },
        databaseUrl: await createDatabase(url, `seeds_${job}`),
        environment: { NAMESPACE: "ens-test-env", [`RPC_URL_${chainIds.root}`]: rpcUrl, ...environment },
      }),
    );
    try {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const begun = performance.now();
        const { deepest, entries, wrong, latest, final } = await history.run(seed);
        if (latest.reverted === 0) throw new Error("No reorganization took an event back.");
        if (wrong > 0) throw new Error(`${wrong} entries of final events are wrong.`);
        const of = (name: keyof typeof latest) => `${latest[name]} + ${final[name]}`;
        const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
        console.log(
          `| ${[seed, deepest, entries, of("connections"), of("reverted"), of("refetched"), seconds].join(" | ")} |`,
        );
      }
    } finally {
      await history.close();
    }
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
}

await inWorld("feed", async (world) => {
  const place = { server: world.url, compiledModules: join(world.folder, "modules") };
  if (parts.includes("seeds")) await followSeeds(world);
  if (parts.includes("faults") && (await measureFaults(world.folder)) > 0) process.exitCode = 1;
  if (parts.includes("costs")) {
    await measureCatchingUp(world, Number(options.logs));
    const services = await startFeedWorld(place);
    try {
      await measureLive(services, Number(options.blocks));
      await measureIdle(services);
    } finally {
      await services.close();
    }
  }
});
