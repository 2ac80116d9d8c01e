import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Config } from "../src/config/environment.ts";
import { formatSpan } from "../src/log/json-log.ts";
import { readKnownBlocks } from "./checks/index-state.ts";
import { createProgram, isUrl, loadConfig, loadEnvironment, runProgram } from "./command.ts";
import { PreflightError } from "./refusal.ts";

// What a first index needs besides NAMESPACE and an RPC URL.
const usual: Readonly<Record<string, string>> = {
  LABELS_URL: "file:./data/labels.sqlite",
  ARCHIVE: "./archive",
};
const usualPlugins = { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" };

const setup = createProgram(
  "setup",
  "Brings an index from nothing to live: fetches the label set, records an archive of the chains from a portal, then starts. Needs NAMESPACE and RPC URLs, and writes the other settings that it chooses into .env.local. Interrupt it at any point: the next run goes on there.",
).action(async () => {
  chooseSettings();
  const config = loadConfig();
  await inParallel([() => fetchLabels(config), () => recordArchive(config)]);
  say("start: npm start; from now on that is enough");
  process.exitCode = await run(["cli/ponder.ts", "start"], ["inherit", "inherit", "inherit", "ipc"]);
});

const say = (line: string) => console.error(line);

/** Adds settings that are missing to the environment and to .env.local. */
function chooseSettings(): void {
  loadEnvironment();
  const chosen = { ...usual, ...(process.env["PLUGINS"] ? {} : usualPlugins) };
  const missing = Object.entries(chosen).filter(([name]) => !process.env[name]);
  if (missing.length === 0) return;
  const lines = missing.map(([name, value]) => `${name}=${value}`);
  for (const [name, value] of missing) process.env[name] = value;
  // Throws before anything is written.
  loadConfig();
  appendFileSync(".env.local", `\n# Chosen by npm run setup.\n${lines.join("\n")}\n`);
  say(`settings: ${lines.join(", ")} (.env.local)`);
}

async function fetchLabels({ labelsUrl, labelSet: { labelSetId, labelSetVersion } }: Config): Promise<void> {
  if (!labelsUrl.startsWith("file:")) return say("labels: a label service has them");
  const database = fileURLToPath(labelsUrl);
  // Version n has only what n - 1 lacks.
  for (let version = 0; version <= labelSetVersion; version++)
    await runPhase("labels", "labels-service/cli.ts", [
      ...["fetch", labelSetId, String(version), "--database", database],
    ]);
}

async function recordArchive(config: Config): Promise<void> {
  const { archive = "" } = config;
  if (isUrl(archive)) return say("archive: ARCHIVE is on a file host");
  if (Object.keys(await readKnownBlocks(config)).length > 0) return say("archive: the index has its blocks");
  await runPhase("archive", "cli/archive.ts", ["record", "--from", "portal", "--folder", archive]);
}

/** Runs a command whose lines are shown with the phase's name. Throws a PreflightError if it fails. */
async function runPhase(phase: string, script: string, args: readonly string[]): Promise<void> {
  const begun = performance.now();
  const code = await run([script, ...args], ["ignore", "pipe", "pipe", "ipc"], (line) =>
    say(`${phase}: ${line}`),
  );
  if (code !== 0)
    throw new PreflightError(
      isStopping
        ? `${phase}: stopped. npm run setup goes on there.`
        : `${phase}: failed, for the reason above. Correct it and run npm run setup again, which goes on there.`,
    );
  say(`${phase}: done in ${formatSpan((performance.now() - begun) / 1_000)}`);
}

// --- Processes ---

const root = fileURLToPath(new URL("..", import.meta.url));
const children = new Set<ChildProcess>();
let isStopping = false;

// Ctrl-C reaches the children too, since they share the terminal's process group; each ends in its own way. After a
// kill of this process each ends by its closed channel.
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    isStopping = true;
    for (const child of children) child.kill(signal);
  });

async function run(
  [script = "", ...args]: readonly string[],
  stdio: StdioOptions,
  onLine?: (line: string) => void,
): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, `${root}${script}`, ...args], { stdio });
  children.add(child);
  for (const input of [child.stdout, child.stderr])
    if (input !== null && onLine !== undefined) createInterface({ input }).on("line", onLine);
  const [code] = (await once(child, "close")) as [number | null];
  children.delete(child);
  return code ?? 1;
}

/** Runs tasks at once. Waits for all, then throws the first error. */
async function inParallel(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const results = await Promise.allSettled(tasks.map((task) => task()));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

await runProgram(setup, import.meta.url);
