// Faults: what an index does while nodes lie. Every run ends equal to an index that saw none of it, or says what is
// wrong and is equal after the command that it names; else the exit code is 1.
//
//   node cli/with-node.mjs bench/faults.ts [--changes 5] [--lies all|none|<name>] [--seeds 3] [--jobs 2]
//
// FAULTS_PATIENCE multiplies how long is waited. Needs a Postgres server's programs (it starts one for the run).

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { followChanges } from "./faults/changes.ts";
import { cases, runCase } from "./faults/lies.ts";
import { honestRows } from "./faults/subject.ts";
import { startBenchPostgres } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    changes: { type: "string", default: "5" },
    lies: { type: "string", default: "all" },
    seeds: { type: "string", default: "3" },
    jobs: { type: "string", default: "2" },
  },
});
const postgres = await startBenchPostgres();
const compiledModules = mkdtempSync(join(tmpdir(), "bench-faults-"));
const place = { server: postgres.url, compiledModules };
let failures = 0;

try {
  failures += await followChanges(Number(options.changes));
  if (options.lies !== "none") {
    const expected = await honestRows(place);
    const names = options.lies.split(",");
    const chosen = cases.filter(
      ({ name, liars, honest }) =>
        names.includes("all") || names.includes(name) || names.includes(`${name}:${liars}+${honest}`),
    );
    console.log("| Lie | URLs (lying + honest) | Seed | Backfill | Live |\n|---|---|---|---|---|");
    const seeds = Array.from({ length: Number(options.seeds) }, (_, index) => index + 1);
    const runs = seeds.flatMap((seed) => chosen.map((one) => ({ one, seed })));
    const work = async () => {
      for (let next = runs.shift(); next !== undefined; next = runs.shift()) {
        const { one, seed } = next;
        const { backfill, live, isRight } = await runCase(one, seed, { ...place, expected }).catch(
          (error: unknown) => ({ backfill: `FAILED: ${String(error)}`, live: "", isRight: false }),
        );
        if (!isRight) failures += 1;
        console.log(`| ${one.name} | ${one.liars} + ${one.honest} | ${seed} | ${backfill} | ${live} |`);
      }
    };
    await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  }
  console.log(failures === 0 ? "All as they should be." : `${failures} were not as they should be.`);
  process.exitCode = failures === 0 ? 0 : 1;
} finally {
  await postgres.stop();
  rmSync(compiledModules, { recursive: true, force: true });
}
