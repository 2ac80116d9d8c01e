// Heals indexes of random histories while blocks come, are taken back, and processes are killed, and compares each with a new index; then heals
// many names at once.
//
//   node cli/with-node.mjs bench/heal.ts [--seeds 50] [--names 100000]
//
// Needs a Postgres server's programs (it starts one for the run).

import { isDeepStrictEqual, parseArgs } from "node:util";
import { healAtRandom, healMany } from "../test/support/healed-index.ts";
import { createEmptyDatabase } from "../test/support/postgres.ts";
import { startBenchPostgres } from "./world.ts";

const { values: options } = parseArgs({
  options: { seeds: { type: "string", default: "50" }, names: { type: "string", default: "100000" } },
});
const postgres = await startBenchPostgres("1GB");
try {
  let equal = 0;
  for (let seed = 1; seed <= Number(options.seeds); seed++)
    for (const isSubgraphCompatible of [true, false]) {
      const databases = [
        await createEmptyDatabase(postgres.url),
        await createEmptyDatabase(postgres.url),
      ] as const;
      const [one, other] = databases;
      const { healed, fresh } = await healAtRandom([one.url, other.url], { seed, isSubgraphCompatible });
      for (const database of databases) await database.drop();
      if (isDeepStrictEqual(healed, fresh)) equal += 1;
      else console.log(`seed ${seed}, ${isSubgraphCompatible ? "subgraph" : "multichain"} mode: rows differ`);
    }
  console.log(`${equal} of ${2 * Number(options.seeds)} healed indexes have the rows of a new one`);

  for (const isTold of [true, false]) {
    const database = await createEmptyDatabase(postgres.url);
    const { seconds, healed, bytes, longest } = await healMany(database.url, Number(options.names), {
      isTold,
    });
    await database.drop();
    console.log(
      `${healed} names in ${seconds.toFixed(1)} s ${isTold ? "with" : "without"} messages: ${Math.round(healed / seconds)} a second, ` +
        `a batch takes up to ${longest.toFixed(0)} ms; heap grew by ${(bytes / 2 ** 20).toFixed(0)} MiB`,
    );
  }
} finally {
  await postgres.stop();
}
