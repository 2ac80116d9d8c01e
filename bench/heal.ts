// Heals indexes of random histories while blocks come, are taken back, and processes are killed, and compares each with
// a new index; reads others at each of their blocks, and compares with indexes that stopped there; then heals many
// names at once.
//
//   node cli/with-node.mjs bench/heal.ts [--seeds 50] [--names 200000]
//   node cli/with-node.mjs bench/heal.ts --live [--names 200000] [--share 2] [--labels 2000000]
//
// --live heals a running index from a label service while a block comes each second; the newer version has the label of one in `share` names.
//
// Needs a Postgres server's programs (it starts one for the run).

import { isDeepStrictEqual, parseArgs } from "node:util";
import { healAtRandom, healMany, readPastAtRandom } from "../test/support/healed-index.ts";
import { createEmptyDatabase } from "../test/support/postgres.ts";
import { healLive } from "./heal/live.ts";
import { inWorld, startBenchPostgres } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    seeds: { type: "string", default: "50" },
    names: { type: "string", default: "200000" },
    live: { type: "boolean", default: false },
    share: { type: "string", default: "2" },
    labels: { type: "string", default: "2000000" },
  },
});
type Played = { seed: number; isSubgraphCompatible: boolean };

const sizes = { names: Number(options.names), share: Number(options.share), labels: Number(options.labels) };
if (options.live) await inWorld("heal", (world) => healLive(world, sizes));
else await healHistories();

async function healHistories(): Promise<void> {
  const postgres = await startBenchPostgres("1GB");
  try {
    /** Plays each seed in both modes, and says how many of them come out right. */
    const play = async (
      what: string,
      isRight: (urls: readonly [string, string], of: Played) => Promise<boolean>,
    ) => {
      let right = 0;
      for (let seed = 1; seed <= Number(options.seeds); seed++)
        for (const isSubgraphCompatible of [true, false]) {
          const [one, other] = [
            await createEmptyDatabase(postgres.url),
            await createEmptyDatabase(postgres.url),
          ];
          if (await isRight([one.url, other.url], { seed, isSubgraphCompatible })) right += 1;
          else
            console.log(
              `seed ${seed}, ${isSubgraphCompatible ? "subgraph" : "multichain"} mode: rows differ`,
            );
          for (const database of [one, other]) await database.drop();
        }
      console.log(`${right} of ${2 * Number(options.seeds)} ${what}`);
    };
    await play("healed indexes have the rows of a new one", async (urls, of) => {
      const { healed, fresh } = await healAtRandom(urls, of);
      return isDeepStrictEqual(healed, fresh);
    });
    let blocks = 0;
    await play("indexes have at each block the rows of one that stopped there", async (urls, of) => {
      const { found, expected, ...read } = await readPastAtRandom(urls, of);
      blocks += read.blocks.to - read.blocks.from + 1;
      return found.every((rows, block) => isDeepStrictEqual(rows, expected[block]));
    });
    console.log(`${blocks} former blocks were read`);

    for (const isTold of [true, false]) {
      const database = await createEmptyDatabase(postgres.url);
      const { seconds, healed, bytes, longest } = await healMany(database.url, sizes.names, { isTold });
      await database.drop();
      console.log(
        `${healed} names in ${seconds.toFixed(1)} s ${isTold ? "with" : "without"} messages: ${Math.round(healed / seconds)} a second, ` +
          `a batch takes up to ${longest.toFixed(0)} ms; heap grew by ${(bytes / 2 ** 20).toFixed(0)} MiB`,
      );
    }
  } finally {
    await postgres.stop();
  }
}
