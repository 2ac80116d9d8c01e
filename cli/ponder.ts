// Starts the indexing service: `ponder.ts <dev|start|serve> [options of Ponder]`.
//
// Checks the environment, waits for unavailable dependencies (RPC, label service), runs Ponder as a child, and restarts
// it after the disk was full, or a dependency failed for longer than Ponder retries (exit code 75).

import { type ChildProcess, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Config, misspeltVariables } from "../src/config/environment.ts";
import { contractSources } from "../src/config/sources.ts";
import { escapeControls, seeOperations } from "../src/log/json-log.ts";
import { Refusal, withSection } from "../src/log/refusal.ts";
import { requireExpectedVersion } from "../src/ponder/expected.ts";
import { readFirstLabelSetVersion, readKnownBlocks } from "./checks/index-state.ts";
import { findNearestUrl } from "./checks/read-servers.ts";
import { requireSound, type Start, starts } from "./checks.ts";
import { loadConfig } from "./command.ts";
import { createLogLines, listSecrets, watchForFullDisk } from "./log-lines.ts";
import { type Hold, holdServer } from "./postgres/private.ts";
import { createProgressBar } from "./progress-bar.ts";
import { PreflightError } from "./refusal.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// Ponder's exit code after it lost a database or RPC endpoint for longer than it retries.
const retryableExitCode = 75;
// EX_CONFIG of sysexits.h. The start was refused, and a restart changes nothing (deploy/systemd).
const refused = 78;
const restartPause = 5_000;
const fullDiskPause = 30_000;
const shutdownGrace = 20_000;

// A backfill creates many short-lived rows. Node's small default young generation copies half of them before they are
// dropped, and a larger one delays requests while it is cleared. By default the old generation may grow by hundreds of
// megabytes before it is cleared.
const heapFlags = ["--max-semi-space-size=32", "--heap-growing-percent=50"];

const log = (message: string) => console.error(escapeControls(message));

let child: ChildProcess | undefined;
// Settles once the private server runs: what was begun to create it ends before this process does.
let server: Promise<Hold | undefined> = Promise.resolve(undefined);
let isStopping = false;

function stop(): void {
  isStopping = true;
  if (child === undefined) return void releaseServer().finally(() => process.exit(0));
  // On SIGINT Ponder releases its database lock; after SIGTERM the next start would have to wait for it.
  child.kill("SIGINT");
  setTimeout(() => child?.kill("SIGKILL"), shutdownGrace).unref();
}
process.on("SIGINT", stop);
process.on("SIGTERM", stop);
// cli/with-node.mjs was killed.
process.on("disconnect", stop);
process.channel?.unref();

async function releaseServer(): Promise<void> {
  const held = server;
  server = Promise.resolve(undefined);
  await (await held.catch(() => undefined))?.release();
}

async function main([asked, ...options]: string[]): Promise<number> {
  const command = starts.find((start) => start === asked);
  if (command === undefined)
    throw new PreflightError(`Usage: ponder.ts <${starts.join("|")}> [options of Ponder]`);
  if (options.some((option) => option === "--help" || option === "-h")) {
    console.log(writeHelp(command));
    return 0;
  }
  requireExpectedVersion();
  const config = toReaderConfig(command, loadConfig());
  for (const warning of misspeltVariables(process.env))
    log(withSection(`warning: ${warning}`, seeOperations("Before a start")));
  if (Object.keys(contractSources(config)).length === 0)
    throw new PreflightError(
      "None of the active plugins has a contract to index. Correct NAMESPACE, PLUGINS or DATASOURCES_FILE.",
    );
  if (command !== "serve" && config.sharesSessions)
    throw new PreflightError(
      "DATABASE_POOLER=transaction is for readers (npm run serve). Leave it out, and name Postgres itself in DATABASE_URL, or a pooler in session mode.",
    );
  if (
    command !== "serve" &&
    config.databaseFolder === undefined &&
    config.databaseSchema === config.stableSchema
  )
    throw new PreflightError(
      "DATABASE_SCHEMA is missing. DATABASE_STABLE_SCHEMA alone is enough for readers (npm run serve).",
    );
  for (;;) {
    // Anew for each run: whatever ended the last one may have ended the server.
    if (config.databaseFolder !== undefined) {
      server = holdServer(config.databaseFolder, { isOwner: command !== "serve" });
      if ((await server) === undefined)
        throw new PreflightError(
          `There is no index in ${config.databaseFolder} yet. Start it with npm start, or set DATABASE_URL.`,
        );
    }
    await requireSound(command, config, { log, wait });
    const databaseUrl = command === "serve" ? await findNearestUrl(config) : config.databaseUrl;
    const first = command === "start" ? await readFirstLabelSetVersion(config) : undefined;
    const startBlocks = command === "start" ? await readKnownBlocks(config) : {};
    if (isStopping) return 0;
    const { code, isDiskFull } = await run(
      command,
      { ...config, databaseUrl, firstLabelSetVersion: first },
      { options, startBlocks: JSON.stringify(startBlocks) },
    );
    await releaseServer();
    if (isStopping || (code !== retryableExitCode && !isDiskFull)) return code;
    const pause = isDiskFull ? fullDiskPause : restartPause;
    const reason = isDiskFull
      ? `The disk of the database is full. Free space on it. ${seeOperations("When the disk is full")}`
      : `A dependency failed for too long. ${seeOperations("When a dependency is unavailable")}`;
    log(`${reason} Restarting in ${pause / 1000} s.`);
    await wait(pause);
  }
}

const writeHelp = (
  command: Start,
) => `Usage: npm ${command === "start" ? command : `run ${command}`} [-- <options of ponder ${command}>]

${purposes[command]}
The environment configures it, or a file .env.local: .env.example documents every variable.
Check the configuration with: npm run doctor`;

const purposes: Record<Start, string> = {
  start: "Indexes the contracts of a namespace and serves them over HTTP.",
  serve: "Serves an index that another process maintains in Postgres.",
  dev: "As start, and begins anew when a source file changes.",
};

// Readers connect to the servers of DATABASE_READ_URLS alone.
function toReaderConfig(command: Start, config: Config): Config {
  const [first] = config.readUrls;
  return command === "serve" && first !== undefined
    ? { ...config, databaseUrl: first, databaseFolder: undefined }
    : config;
}

const formatRefusal = ({ message, section = seeOperations("When the start is refused") }: Refusal) =>
  withSection(message, section);

type End = { code: number; isDiskFull: boolean };

type Given = { options: string[]; startBlocks: string };

function run(command: Start, config: Config, { options, startBlocks }: Given): Promise<End> {
  const bin = join(root, "node_modules", "ponder", "dist", "esm", "bin", "ponder.js");
  const preload = new URL("preload.mjs", import.meta.url).href;
  const served = config.stableSchema ?? config.databaseSchema;
  const schema = command === "dev" ? [] : ["--schema", command === "serve" ? served : config.databaseSchema];
  const given = [
    "--root",
    root,
    ...schema,
    "--port",
    String(config.port),
    ...(config.host === undefined ? [] : ["--hostname", config.host]),
    "--log-level",
    config.logLevel,
    ...options,
  ];
  // Operators cannot fix deprecations of Ponder's libraries.
  const quiet = "--disable-warning=DeprecationWarning";
  // Own process group: Ctrl-C in a terminal reaches the launcher only, which passes it on once.
  const ponder = spawn(process.execPath, [...heapFlags, quiet, "--import", preload, bin, command, ...given], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
    // Buffers from 128 KiB on return to the system when they are released: by default glibc raises that limit and keeps
    // them. Ponder's output has no colours, since its control characters are escaped.
    env: {
      MALLOC_MMAP_THRESHOLD_: "131072",
      // ponder: the size of its row store, which ours uses too (src/ponder/rows).
      PONDER_CACHE_BYTES: String(config.rowCacheMegabytes * 2 ** 20),
      ...process.env,
      ...(config.databaseFolder === undefined ? { DATABASE_URL: config.databaseUrl } : {}),
      FIRST_LABEL_SET_VERSION: String(config.firstLabelSetVersion ?? ""),
      START_BLOCKS: startBlocks,
      NO_COLOR: "1",
    },
  });
  const secrets = listSecrets(config);
  const lines = ponder.stdout?.pipe(createLogLines(secrets, true));
  (process.stdout.isTTY ? lines?.pipe(createProgressBar()) : lines)?.pipe(process.stdout);
  ponder.stderr?.pipe(createLogLines(secrets, false)).pipe(process.stderr);
  const disk = watchForFullDisk(Date.now);
  ponder.stdout?.on("data", disk.see);
  child = ponder;
  return new Promise((resolve, reject) => {
    ponder.on("error", reject);
    // "close" is emitted after the last line of output.
    ponder.on("close", (code) => {
      child = undefined;
      resolve({ code: code ?? (isStopping ? 0 : 1), isDiskFull: code !== 0 && disk.isFull() });
    });
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // Errors that operators can correct are one message. Anything else is a bug, shown with its stack.
  console.error(error instanceof Refusal ? formatRefusal(error) : error);
  process.exitCode = error instanceof Refusal ? refused : 1;
  await releaseServer();
}
