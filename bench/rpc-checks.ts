// What the checks of RPC answers cost: a cold backfill with them beside one of a checkout whose ponder.config.ts hands the URLs to
// Ponder unchecked. Both run at the same time, each with its own database and node.
//
//   node scripts/with-node.mjs bench/rpc-checks.ts --without CHECKOUT [--logs 60000] [--rounds 3]
//
// Prints the ratio by time and by processor time (above 1: the checked one is faster), and the requests of both.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { createDatabases } from "./backfill/databases.ts";
import { indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { labelsFile } from "./backfill/labels-file.ts";
import { oneChainHistory } from "./backfill/one-chain-history.ts";
import { serveHistory } from "./backfill/rpc.ts";
import { startBenchPostgres } from "./postgres.ts";

const { values: options } = parseArgs({
  options: {
    without: { type: "string" },
    logs: { type: "string", default: "60000" },
    rounds: { type: "string", default: "3" },
  },
});
if (options.without === undefined) throw new Error("--without is missing: a checkout without the checks.");
const roots = { checked: realRoot, plain: resolve(options.without) };
const folder = mkdtempSync(join(tmpdir(), "bench-rpc-checks-"));
const postgres = process.env["DATABASE_URL"] ? undefined : await startBenchPostgres();
const databases = createDatabases(process.env["DATABASE_URL"] ?? postgres?.url, folder);
const { transactions, labels } = oneChainHistory(Number(options.logs));
const labelsUrl = labelsFile(folder, labels);

type Kind = keyof typeof roots;

async function coldBackfill(kind: Kind, round: number) {
  const rpc = await serveHistory(transactions, 10_000_000);
  try {
    return await indexOnce({
      name: `${kind}_${round}`,
      appRoot: roots[kind],
      port: await freePort(),
      environment: {
        ...(await databases.create(`${kind}_${round}`)),
        NAMESPACE: "holesky",
        PLUGINS: "subgraph",
        SUBGRAPH_COMPAT: "true",
        LABELS_URL: labelsUrl,
        RPC_URL_17000: rpc.url,
        START_BLOCK: String(rpc.firstBlock),
        END_BLOCK: String(rpc.lastBlock),
      },
      whenComplete: () => rpc.requests(),
    });
  } finally {
    rpc.close();
  }
}

const meanRatio = (ratios: number[]) =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

try {
  const pairs: Record<Kind, Awaited<ReturnType<typeof coldBackfill>>>[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const order: Kind[] = round % 2 === 0 ? ["checked", "plain"] : ["plain", "checked"];
    const [first, second] = await Promise.all(order.map((kind) => coldBackfill(kind, round)));
    if (first === undefined || second === undefined) throw new Error("A run is missing.");
    const pair =
      order[0] === "checked" ? { checked: first, plain: second } : { checked: second, plain: first };
    pairs.push(pair);
    const { checked, plain } = pair;
    const extra = ((checked.result - plain.result) / plain.result) * 100;
    console.log(
      `checked ${checked.seconds.toFixed(1)} s (${checked.processorSeconds.toFixed(1)} s of a processor, ${checked.result} requests), ` +
        `plain ${plain.seconds.toFixed(1)} s (${plain.processorSeconds.toFixed(1)} s, ${plain.result} requests): ${extra.toFixed(2)} % more requests`,
    );
  }
  const byTime = meanRatio(pairs.map(({ checked, plain }) => plain.seconds / checked.seconds));
  const byProcessor = meanRatio(
    pairs.map(({ checked, plain }) => plain.processorSeconds / checked.processorSeconds),
  );
  console.log(`ratio by time ${byTime.toFixed(3)}, by processor time ${byProcessor.toFixed(3)}`);
} finally {
  await databases.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
