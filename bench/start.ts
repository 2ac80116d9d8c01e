// Seconds from the command to the first answer and to /ready: a new index, its restart, and with --demo the demo.
//
//   node cli/with-node.mjs bench/start.ts [--rounds 3] [--demo] [--parts]
//
// Indexes the recorded chain in subgraph mode, on a Postgres server of its own. Processor time is that of all processes
// of the command. With --parts the indexing process is profiled, which slows it down, and its time is shown by package:
// that of Node's loader, of the garbage collector, of each package, and of this project.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isAnswered, projectRoot } from "../devnet/indexing-service.ts";
import { writeLabelsFile } from "../devnet/labels-file.ts";
import { startNode } from "../devnet/node.ts";
import { freePort } from "../devnet/ports.ts";
import { waitFor } from "../devnet/wait.ts";
import { childrenOf } from "../test/support/process-tree.ts";
import { recordedLabels, recordingOf } from "../test/support/recordings.ts";
import { readProcessorSeconds, secondsSince, whole } from "./measure.ts";
import { inWorld } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    demo: { type: "boolean", default: false },
    parts: { type: "boolean", default: false },
  },
});

type Environment = Record<string, string | undefined>;

await inWorld("start", async ({ folder, url }) => {
  const node = await startNode({ recording: recordingOf("root") });
  const labels = join(folder, "labels.sqlite");
  writeLabelsFile(labels, recordedLabels(["root"]));
  const environment: Environment = {
    ...surroundings(),
    NAMESPACE: "ens-test-env",
    PLUGINS: "subgraph",
    SUBGRAPH_COMPAT: "true",
    LABELS_URL: `file:${labels}`,
    DATABASE_URL: url,
    DATABASE_SCHEMA: "start",
    [`RPC_URL_${node.chain.chainId}`]: node.url,
  };
  console.log("                  first answer            /ready      (seconds of time and of the processor)");
  try {
    for (let round = 0; round < Number(options.rounds); round++)
      await measure(round === 0 ? "new index" : "restart", ["cli/ponder.ts", "start"], {
        environment,
        folder,
      });
    if (options.demo) await measure("demo", ["devnet/start.ts"], { environment: surroundings(), folder });
  } finally {
    await node.close();
  }
});

type Run = { environment: Environment; folder: string };

/** Starts a script with arguments, as package.json does, and prints when it answers. */
async function measure(
  name: string,
  [script = "", ...args]: string[],
  { environment, folder }: Run,
): Promise<void> {
  const port = await freePort();
  const profiles = join(folder, "profiles");
  const profile = { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` };
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [join(projectRoot, "cli/with-node.mjs"), join(projectRoot, script), ...args],
    {
      cwd: folder,
      env: {
        ...environment,
        ...(options.parts ? profile : {}),
        PORT: `${port}`,
        LABELS_PORT: `${await freePort()}`,
      },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const reached = async (path: string) => {
    await waitFor(path, isAnswered(`http://127.0.0.1:${port}${path}`), { everyMs: 20 });
    const seconds = [secondsSince(began), await processorSecondsOfAll(child.pid ?? 0)];
    return seconds.map((one) => one.toFixed(1).padStart(8)).join(" ");
  };
  console.log(`${name.padEnd(12)} ${await reached("/health")}  ${await reached("/ready")}`);
  child.kill("SIGINT");
  await ended;
  if (options.parts) printParts(profiles);
  rmSync(profiles, { recursive: true, force: true });
}

/** Processor seconds of a process and of all that it has started. */
async function processorSecondsOfAll(pid: number): Promise<number> {
  const below = await Promise.all((await childrenOf(pid)).map(processorSecondsOfAll));
  return below.reduce((sum, one) => sum + one, readProcessorSeconds(pid, { withEnded: true }));
}

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  timeDeltas: number[];
};

/** Prints the parts of the largest profile, which is that of the indexing process. */
function printParts(folder: string): void {
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const [largest = "{}"] = texts.toSorted((a, b) => b.length - a.length);
  const { nodes, samples, timeDeltas }: Profile = JSON.parse(largest);
  const parts = new Map(nodes.map(({ id, callFrame }) => [id, namePart(callFrame)]));
  const spent = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const part = parts.get(id) ?? "";
    spent.set(part, (spent.get(part) ?? 0) + (timeDeltas[index] ?? 0));
  }
  const shown = [...spent].toSorted(([, a], [, b]) => b - a).filter(([, micros]) => micros > 50_000);
  for (const [part, micros] of shown) console.log(`  ${whole(micros / 1_000).padStart(8)} ms  ${part}`);
}

function namePart({ functionName, url }: Profile["nodes"][number]["callFrame"]): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "(native)";
  if (url.startsWith("node:")) return /^node:internal\/modules/.test(url) ? "Node's loader" : "Node";
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? "nsindex";
}

function surroundings(): Environment {
  const { PATH, HOME } = process.env;
  return { PATH, HOME };
}
