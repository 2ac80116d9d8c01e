import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namespaceIds } from "../src/deployments/deployment.ts";
import { namespaces } from "../src/deployments/namespaces.ts";
import { type Accepted, compareEntities, readEntities, readEntityDump } from "./entities.ts";
import { startIndexingService, waitWhileRunning } from "./indexing-service.ts";
import { writeLabelsFile } from "./labels-file.ts";
import { type DevNode, startNode } from "./node.ts";
import { freePort } from "./ports.ts";
import { type Recording, readLabels, readRecording } from "./recording.ts";
import type { ServiceProcess } from "./service-process.ts";
import { WaitError } from "./wait.ts";

type Write = (line: string) => void;

/** What to rehearse, and how. */
export type Rehearsal = {
  /** Folder of the recording. */
  folder: string;
  /** Empty blocks after the recording: at least Ponder's finality depth. */
  standIns: number;
  /** May choose the database (the embedded one otherwise), plugins, port and other settings of the service. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Receives the report line by line. */
  write: Write;
  /** Stops the rehearsal at any point. */
  signal: AbortSignal;
  /** Keep running after the report, until the signal. */
  keep: boolean;
};

/**
 * Serves a recording and runs the indexing service over all of it, as `npm start` would. If the folder has entities,
 * compares the index with them. Returns whether the index is as expected.
 */
export async function rehearse({ standIns, ...rehearsal }: Rehearsal): Promise<boolean> {
  const recording = readRecording(rehearsal.folder);
  const temporary = mkdtempSync(join(tmpdir(), "rehearsal-"));
  try {
    const node = await startNode({ recording, standIns });
    try {
      return await indexRecording(rehearsal, recording, { temporary, node });
    } finally {
      await node.close();
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function indexRecording(
  { folder, environment, write, signal, keep }: Omit<Rehearsal, "standIns">,
  { chainId, blocks }: Recording,
  { temporary, node }: { temporary: string; node: DevNode },
): Promise<boolean> {
  const namespace = namespaceOf(chainId);
  const numbers = blocks.map((block) => Number(block["number"]));
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
  const labels = join(temporary, "labels.sqlite");
  const labelCount = writeLabelsFile(labels, readLabels(folder));
  const port = environment["PORT"] ?? String(await freePort());
  write(`Chain ${chainId} (${namespace}): blocks ${first} to ${last} at ${node.url}, ${labelCount} labels`);
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
      PGLITE_DIRECTORY: join(temporary, "pglite"),
      LOG_LEVEL: "warn",
      ...environment,
      [`RPC_URL_${chainId}`]: node.url,
      PORT: port,
    },
    onLine: (line) => (isOver ? undefined : write(line)),
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(service, url, signal);
    const seconds = (performance.now() - start) / 1000;
    write(`Indexed ${await indexedEvents(url)} events; ready ${seconds.toFixed(1)} s after the start`);
    const isEqual = await compare(folder, `${url}/subgraph`, write);
    if (keep) {
      write(`GraphiQL: ${url}/subgraph (Ctrl-C ends the rehearsal)`);
      await Promise.race([service.ended, ...(signal.aborted ? [] : [once(signal, "abort")])]);
    }
    return isEqual;
  } finally {
    isOver = true;
    await service.stop();
  }
}

/** Entities and accepted values of a recording folder, if it has them. */
function expectationsOf(folder: string) {
  const path = ["subgraph-entities.json.gz", "subgraph-entities.json"]
    .map((name) => join(folder, name))
    .find(existsSync);
  if (path === undefined) return undefined;
  const accepted = join(folder, "subgraph-accept.json");
  return {
    entities: readEntityDump(path),
    accepted: existsSync(accepted) ? (JSON.parse(readFileSync(accepted, "utf8")) as Accepted) : {},
  };
}

async function compare(folder: string, endpoint: string, write: Write): Promise<boolean> {
  const expectations = expectationsOf(folder);
  if (expectations === undefined) {
    write("The folder has no subgraph-entities.json.gz: nothing to compare");
    return true;
  }
  const { entities, accepted } = expectations;
  const found = await readEntities(endpoint, entities);
  const { total, equal, acceptedFields, differences } = compareEntities(entities, found, accepted);
  for (const line of differences.slice(0, shownDifferences)) write(`  ${line}`);
  if (differences.length > shownDifferences) write(`  and ${differences.length - shownDifferences} more`);
  write(
    `${equal} of ${total} entities equal, ${differences.length} differences, ` +
      `${acceptedFields} fields equal by the folder's subgraph-accept.json`,
  );
  return differences.length === 0;
}

const shownDifferences = 40;

function namespaceOf(chainId: number) {
  const found = namespaceIds.find((id) =>
    Object.values(namespaces[id]).some((datasource) => datasource.chainId === chainId),
  );
  if (found === undefined) throw new RehearsalError(`No namespace has contracts on chain ${chainId}.`);
  return found;
}

async function untilReady(service: ServiceProcess, url: string, signal: AbortSignal) {
  const look = async () => {
    if (signal.aborted) throw new WaitError("The rehearsal was stopped.");
    const { status } = await fetch(`${url}/ready`);
    return status === 200 ? { done: status } : { state: `/ready returns ${status}` };
  };
  await waitWhileRunning([service], "the index", look, { timeoutMs: longestRunMs, everyMs: 200 });
}

// A day: long recordings take their time.
const longestRunMs = 86_400_000;

async function indexedEvents(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const counters = metrics.matchAll(/^ponder_indexing_completed_events\{[^}]*\} (\d+)/gm);
  return [...counters].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** A recording that cannot be rehearsed; the message says why. */
class RehearsalError extends Error {
  override name = "RehearsalError";
}
