// Backfill speed: events per second of the real indexing functions compared with empty ones, over one generated chain.
//
//   node cli/with-node.mjs bench/backfill.ts [--logs 500000] [--rounds 3] [--pglite]
//   node cli/with-node.mjs bench/backfill.ts --against CHECKOUT [--logs 500000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --archive [--pad 100] [--line 100] [--logs 200000] [--rounds 3] [--pglite]
//
//   node cli/with-node.mjs bench/backfill.ts --ensv2 [--logs 200000] [--rounds 3]
//
// Needs a Postgres server's programs (it starts one for the run), or DATABASE_URL. The RPC cache is filled by a first
// run, whose time is printed too; the figures that count come from runs over the warm cache.
//
// With --against, each mode runs beside the indexing functions of another checkout of this project (with its packages
// installed); the last column is the mean ratio of the pairs: above 1, this one is faster.
//
// With --ensv2, the chain has nothing but names of the second generation.
//
// With --archive, an archive of the chain is recorded, then each round indexes with a cold cache, over RPC and through the archive. --pad adds
// so many kilobytes of other transactions to each block, as mainnet's have. --line puts the node and the archive's host 40 ms away, on a
// line of so many megabits a second; of the node's JSON a quarter is counted, as gzip leaves it,
// and requests start at the rate that URLs elsewhere get.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { measureArchive } from "./backfill/archive.ts";
import { measureOneChain } from "./backfill/one-chain.ts";
import { startBenchPostgres } from "./postgres.ts";

const { values: options } = parseArgs({
  options: {
    archive: { type: "boolean", default: false },
    ensv2: { type: "boolean", default: false },
    pad: { type: "string", default: "0" },
    line: { type: "string", default: "0" },
    logs: { type: "string" },
    rounds: { type: "string", default: "3" },
    pglite: { type: "boolean", default: false },
    against: { type: "string" },
  },
});

const folder = mkdtempSync(join(tmpdir(), "bench-backfill-"));
const given = process.env["DATABASE_URL"];
const postgres = options.pglite || given ? undefined : await startBenchPostgres();
const databaseUrl = options.pglite ? undefined : (given ?? postgres?.url);
const database = databaseUrl ? (postgres?.version ?? "Postgres at DATABASE_URL") : "PGlite";
const rounds = Number(options.rounds);
try {
  if (options.archive) {
    const paddedBytes = Number(options.pad) * 1_000;
    await measureArchive({
      logs: Number(options.logs ?? 200_000),
      rounds,
      folder,
      databaseUrl,
      paddedBytes,
      megabits: Number(options.line),
    });
  } else {
    const against = options.against && resolve(options.against);
    await measureOneChain({
      logs: Number(options.logs ?? 500_000),
      rounds,
      folder,
      database,
      databaseUrl,
      against,
      isEnsv2: options.ensv2,
    });
  }
} finally {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
