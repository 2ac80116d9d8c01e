// Backfill speed: events per second of the real indexing functions compared with empty ones, over one generated chain.
//
//   node cli/with-node.mjs bench/backfill.ts [--logs 500000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --against CHECKOUT [--logs 500000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --ensv2 [--logs 200000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --archive [--logs 200000] [--rounds 3]
//
// Needs a Postgres server's programs (it starts one for the run). The RPC cache is filled by a first
// run, whose time is printed too; the figures that count come from runs over the warm cache.
//
// With --against, each mode runs beside the indexing functions of another checkout of this project (with its packages
// installed); the last column is the mean ratio of the pairs: above 1, this one is faster.
//
// With --ensv2, the chain has nothing but names of the second generation. With --archive, an archive of the chain is recorded, then each
// round indexes with a cold cache, over RPC and through the archive.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { measureOneChain } from "./backfill/one-chain.ts";
import { inWorld } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    archive: { type: "boolean", default: false },
    ensv2: { type: "boolean", default: false },
    logs: { type: "string" },
    rounds: { type: "string", default: "3" },
    against: { type: "string" },
  },
});

await inWorld("backfill", (world) =>
  measureOneChain({
    ...{ world, rounds: Number(options.rounds), logs: Number(options.logs ?? 500_000) },
    against: options.against && resolve(options.against),
    isEnsv2: options.ensv2,
    isArchived: options.archive,
  }),
);
