// Rehearses a recording: serves its blocks, indexes all of them, and compares the index with the folder's entities.
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { namespaceIds } from "../src/deployments/deployment.ts";
import { namespaces } from "../src/deployments/namespaces.ts";
import { type Accepted, compareEntities, readEntities, readEntityDump } from "./entities.ts";
import { isAnswered, startIndexingService, waitWhileRunning } from "./indexing-service.ts";
import { writeLabelsFile } from "./labels-file.ts";
import { type DevNode, startNode } from "./node.ts";
import { freePort } from "./ports.ts";
import { type Recording, readLabels, readRecording } from "./recording.ts";
import { WaitError } from "./wait.ts";

function whole(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 0.");
}

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());

const command = new Command("npm run rehearse --")
  .description("Serves a recording, indexes all of it, and compares the index with the folder's entities.")
  .argument("<recording-folder>")
  .option("--stand-ins <blocks>", "empty blocks after the recording, so that its own are final", whole, 65)
  .option("--keep", "stay up after the comparison")
  .option("--serve-only", "only serve the recording over JSON-RPC, on --rpc-port")
  .option("--rpc-port <port>", "port of --serve-only", whole, 8545)
  .addHelpText(
    "after",
    `
DATABASE_URL, DATABASE_SCHEMA, PORT, SUBGRAPH_COMPAT, LOG_LEVEL and the other settings of the indexing service come from the
environment; without DATABASE_URL it uses a private Postgres server in a temporary folder. Exit code 0: as expected.`,
  )
  .allowExcessArguments(false)
  .showHelpAfterError()
  .action(async (folder, { standIns, keep: isKept = false, serveOnly, rpcPort }) => {
    const recording = readRecording(folder);
    const node = await startNode({ recording, standIns, port: serveOnly ? rpcPort : 0 });
    try {
      if (serveOnly) {
        console.log(`Chain ${node.chain.chainId} up to block ${node.chain.head()} at ${node.url}`);
        await once(stop.signal, "abort");
      } else if (!(await rehearse({ folder, recording, node, isKept }))) process.exitCode = 1;
    } finally {
      await node.close();
    }
  });

/** `isKept`: the service goes on after the report, until the signal. */
type Rehearsal = { folder: string; recording: Recording; node: DevNode; isKept: boolean };

/**
 * Runs the indexing service over all of a recording, as `npm start` would; returns whether the index is as expected.
 */
async function rehearse({ folder, recording, node, isKept }: Rehearsal): Promise<boolean> {
  const { chainId } = recording;
  const numbers = recording.blocks.map((block) => Number(block["number"]));
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
  const namespace = findNamespace(chainId);
  const temporary = mkdtempSync(join(tmpdir(), "rehearsal-"));
  // The private Postgres server of a rehearsal by root is another user's.
  chmodSync(temporary, 0o711);
  const labels = join(temporary, "labels.sqlite");
  const labelCount = writeLabelsFile(labels, readLabels(folder));
  const port = process.env["PORT"] ?? String(await freePort());
  console.log(
    `Chain ${chainId} (${namespace}): blocks ${first} to ${last} at ${node.url}, ${labelCount} labels`,
  );
  const start = performance.now();
  let isOver = false;
  const service = startIndexingService({
    cwd: temporary,
    env: {
      NAMESPACE: namespace,
      PLUGINS: "subgraph",
      SUBGRAPH_COMPAT: "true",
      START_BLOCK: String(first),
      END_BLOCK: String(last),
      LABELS_URL: `file:${labels}`,
      DATABASE_FOLDER: join(temporary, "postgres"),
      LOG_LEVEL: "warn",
      ...process.env,
      [`RPC_URL_${chainId}`]: node.url,
      PORT: port,
    },
    onLine: (line) => (isOver ? undefined : console.log(line)),
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    const look = async () => {
      if (stop.signal.aborted) throw new WaitError("The rehearsal was stopped.");
      return isAnswered(`${url}/ready`)();
    };
    await waitWhileRunning([service], "the index", look, { timeoutMs: longestRunMs, everyMs: 200 });
    const seconds = (performance.now() - start) / 1000;
    console.log(`Ready ${seconds.toFixed(1)} s after the start`);
    const isEqual = await compare(folder, `${url}/subgraph`);
    if (isKept && !stop.signal.aborted) {
      console.log(`GraphiQL: ${url}/subgraph (Ctrl-C ends the rehearsal)`);
      await Promise.race([service.ended, once(stop.signal, "abort")]);
    }
    return isEqual;
  } finally {
    isOver = true;
    await service.stop();
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Whether the index has the entities of a recording folder, if it has some; prints the differences. */
async function compare(folder: string, endpoint: string): Promise<boolean> {
  const path = ["subgraph-entities.json.gz", "subgraph-entities.json"]
    .map((name) => join(folder, name))
    .find(existsSync);
  if (path === undefined) {
    console.log("The folder has no subgraph-entities.json.gz: nothing to compare");
    return true;
  }
  const entities = readEntityDump(path);
  const acceptPath = join(folder, "subgraph-accept.json");
  const accepted = existsSync(acceptPath) ? (JSON.parse(readFileSync(acceptPath, "utf8")) as Accepted) : {};
  const found = await readEntities(endpoint, entities);
  const { total, equal, acceptedFields, differences } = compareEntities(entities, found, accepted);
  for (const line of differences.slice(0, shownDifferences)) console.log(`  ${line}`);
  if (differences.length > shownDifferences)
    console.log(`  and ${differences.length - shownDifferences} more`);
  console.log(
    `${equal} of ${total} entities equal, ${differences.length} differences, ` +
      `${acceptedFields} fields equal by the folder's subgraph-accept.json`,
  );
  return differences.length === 0;
}

const shownDifferences = 40;
// A day: long recordings take their time.
const longestRunMs = 86_400_000;

function findNamespace(chainId: number) {
  const found = namespaceIds.find((id) =>
    Object.values(namespaces[id]).some((datasource) => datasource.chainId === chainId),
  );
  if (found === undefined) throw new Error(`No namespace has contracts on chain ${chainId}.`);
  return found;
}

try {
  await command.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
