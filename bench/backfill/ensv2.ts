import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../devnet/ports.ts";
import { ensv2Datasources, ensv2History } from "./ensv2-history.ts";
import { type Indexed, indexOnce, realRoot } from "./indexing-process.ts";
import { labelsFile } from "./labels-file.ts";
import { oneChainHistory } from "./one-chain-history.ts";
import { type RpcServer, serveHistory } from "./rpc.ts";

const firstBlock = 10_000_000;
const names = "subgraph,protocol-acceleration,registrars,tokenscope";

type Options = { logs: number; rounds: number; folder: string; databaseUrl: string | undefined };
type Run = Indexed<void>;
type Subject = Options & { rpc: RpcServer; labelsUrl: string; datasources: string };

/**
 * What the plugin `ensv2` adds to the backfill of a chain without names of the second generation, both sets of plugins
 * running at the same time.
 */
export async function measureAddedCost(options: Options): Promise<void> {
  const { transactions, labels } = oneChainHistory(options.logs);
  await over(options, { transactions, labels }, async (subject, logs) => {
    await backfill(subject, "cold", `${names},ensv2`);
    const pairs: { without: Run; added: Run }[] = [];
    for (let round = 0; round < options.rounds; round++) {
      const without = () => backfill(subject, `without${round}`, names);
      const added = () => backfill(subject, `with${round}`, `${names},ensv2`);
      // Which of them starts first changes every round.
      const isFirst = round % 2 === 0;
      const [one, other] = await Promise.all(isFirst ? [without(), added()] : [added(), without()]);
      pairs.push(isFirst ? { without: one, added: other } : { without: other, added: one });
    }
    const mean = (value: (run: Run) => number) =>
      Math.exp(
        pairs.reduce((sum, { without, added }) => sum + Math.log(value(added) / value(without)), 0) /
          pairs.length,
      );
    const speeds = (of: "without" | "added") =>
      pairs.map((pair) => format(logs / pair[of].seconds)).join(", ");
    console.log(
      `${format(logs)} logs of the first generation, logs/s without ${speeds("without")}, with ensv2 ${speeds("added")}`,
    );
    console.log(
      `  with ensv2 / without, geometric mean: time ${mean(({ seconds }) => seconds).toFixed(3)}, processor time ${mean(({ processorSeconds }) => processorSeconds).toFixed(3)}`,
    );
  });
}

/** How fast a chain of nothing but names of the second generation is indexed. */
export async function measureEnsv2Logs(options: Options): Promise<void> {
  await over(options, ensv2History(options.logs), async (subject, logs) => {
    await backfill(subject, "cold2", `${names},ensv2`);
    for (const plugins of ["ensv2", "subgraph,ensv2,protocol-acceleration"]) {
      const runs: Run[] = [];
      for (let round = 0; round < options.rounds; round++)
        runs.push(await backfill(subject, `v2_${plugins.length}_${round}`, plugins));
      const all = runs.map(({ seconds }) => format(logs / seconds)).join(", ");
      const processor = runs.map(({ processorSeconds }) => format(logs / processorSeconds)).join(", ");
      console.log(
        `${format(logs)} logs of the second generation, ${plugins}: ${all} logs/s; per second of processor time: ${processor}`,
      );
    }
  });
}

async function over(
  options: Options,
  { transactions, labels }: Pick<ReturnType<typeof ensv2History>, "transactions" | "labels">,
  measure: (subject: Subject, logs: number) => Promise<void>,
): Promise<void> {
  const rpc = await serveHistory(transactions, firstBlock);
  const datasources = join(options.folder, "datasources.json");
  writeFileSync(datasources, ensv2Datasources("holesky", 17_000, firstBlock));
  const subject = { ...options, rpc, labelsUrl: labelsFile(options.folder, labels), datasources };
  try {
    await measure(
      subject,
      transactions.reduce((sum, { logs }) => sum + logs.length, 0),
    );
  } finally {
    rpc.close();
    // The next chain has the same id and other blocks.
    if (options.databaseUrl) await drop(options.databaseUrl, "ponder_sync");
  }
}

async function backfill(
  { rpc, labelsUrl, folder, databaseUrl, datasources }: Subject,
  name: string,
  plugins: string,
): Promise<Run> {
  const run = await indexOnce({
    name,
    appRoot: realRoot,
    port: await freePort(),
    environment: {
      NAMESPACE: "holesky",
      PLUGINS: plugins,
      DATASOURCES_FILE: datasources,
      SUBGRAPH_COMPAT: "false",
      LABELS_URL: labelsUrl,
      RPC_URL_17000: rpc.url,
      START_BLOCK: String(rpc.firstBlock),
      END_BLOCK: String(rpc.lastBlock),
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : { PGLITE_DIRECTORY: join(folder, "pglite") }),
    },
    whenComplete: () => undefined,
  });
  if (databaseUrl) await drop(databaseUrl, name);
  return run;
}

async function drop(databaseUrl: string, schema: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  await client.query("CHECKPOINT");
  await client.end();
}

const format = (value: number) => Math.round(value).toLocaleString("en");
