import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  describeEnding,
  projectRoot,
  requireRunning,
  startIndexingService,
  waitWhileRunning,
} from "../../devnet/indexing-service.ts";
import { writeLabelsFile } from "../../devnet/labels-file.ts";
import { freePort } from "../../devnet/ports.ts";
import type { ServiceProcess } from "../../devnet/service-process.ts";
import { waitFor } from "../../devnet/wait.ts";
import { privateServerUrl } from "../../src/config/environment.ts";
import type { Snapshot } from "../../src/status/types.ts";
import { recordArchives } from "./archive/recorded.ts";
import { expireLock } from "./expire-lock.ts";
import { childrenOf } from "./process-tree.ts";

/** What an indexing service is started with. */
export type IndexerOptions = {
  labels: readonly string[];
  /** A database on a Postgres server; without it, or if it is empty, the launcher starts a private one. */
  databaseUrl?: string | undefined;
  /** Folder of compiled modules that services share. */
  compiledModules: string;
  environment: Record<string, string>;
  /** Text of a datasources file. */
  datasources?: string | undefined;
  /** Last block of each chain in an archive that is recorded from its node and stands in front of it. */
  archived?: Record<number, number> | undefined;
  /** Sees each line of its output. */
  onLine?: (line: string) => void;
};

/** Newest indexed block of all chains, as Ponder's own status at the service's URL reports it. */
export async function indexedBlock(url: string): Promise<number> {
  const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(60_000) });
  const all = Object.values((await response.json()) as Record<string, { block: { number: number } }>);
  return Math.max(...all.map(({ block }) => block.number));
}

/**
 * Kills an indexing process at once, like the OOM killer, and waits until it is gone. Its lock on the schema does not
 * hold up the next start.
 */
export async function killIndexer(
  service: Pick<ServiceProcess, "pid" | "ended">,
  database: Parameters<typeof expireLock>[0],
  schema: string,
): Promise<void> {
  const ponder = await waitFor("the indexing process", async () => {
    const [child] = await childrenOf(service.pid);
    return child === undefined ? { state: "the launcher has not started it" } : { done: child };
  });
  process.kill(ponder, "SIGKILL");
  await service.ended;
  await expireLock(database, schema);
}

/** An indexing service on a free port, with its own database, labels and working folder. Not started yet. */
export async function createIndexer(options: IndexerOptions) {
  const { labels, databaseUrl, datasources, archived, onLine } = options;
  const folder = mkdtempSync(join(tmpdir(), "name-index-"));
  // A private server may run as another user.
  chmodSync(folder, 0o711);
  const inFolder = (name: string) => join(folder, name);
  writeLabelsFile(inFolder("labels.sqlite"), labels);
  if (datasources !== undefined) writeFileSync(inFolder("datasources.json"), datasources);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let service: ServiceProcess | undefined;

  const environment: Record<string, string | undefined> = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    NODE_COMPILE_CACHE: options.compiledModules,
    LABELS_URL: `file:${inFolder("labels.sqlite")}`,
    ...(databaseUrl
      ? { DATABASE_URL: databaseUrl, DATABASE_SCHEMA: "public" }
      : { DATABASE_FOLDER: inFolder("postgres") }),
    PORT: String(port),
    LOG_LEVEL: "info",
    ...(datasources === undefined ? {} : { DATASOURCES_FILE: inFolder("datasources.json") }),
    ...options.environment,
  };
  if (archived) {
    await recordArchives(inFolder("archive"), environment, archived);
    environment["ARCHIVE"] = inFolder("archive");
  }

  function running(): ServiceProcess {
    if (service === undefined) throw new Error("The indexing service was not started.");
    return service;
  }

  /** Polls `look` until it is done; throws as soon as the service has ended. */
  const waitForIt = <Result>(
    what: string,
    look: () => Promise<{ done: Result } | { state: string }>,
    everyMs = 100,
  ) => waitWhileRunning([running()], what, look, { timeoutMs: 1_500_000, everyMs });

  /** The service's snapshot of all chains; undefined while there is none. */
  async function snapshot(): Promise<Snapshot | undefined> {
    const response = await fetch(`${url}/api/indexing-status`).catch(() => undefined);
    if (response?.status !== 200) return undefined;
    const body = (await response.json()) as { realtimeProjection: { snapshot: Snapshot } };
    return body.realtimeProjection.snapshot;
  }

  return {
    folder,
    port,
    url,
    /** What the service is started with. */
    environment,
    /** URL of its database on the shared server; empty for a private one. */
    databaseUrl: environment["DATABASE_URL"] ?? "",
    running,
    waitFor: waitForIt,
    snapshot,

    /** Starts the service; on the same data as before if it ran already. */
    start(more: Record<string, string> = {}): ServiceProcess {
      if (service !== undefined && service.ending() === undefined) throw new Error("The service is running.");
      service = startIndexingService({ cwd: folder, env: { ...environment, ...more }, onLine });
      return service;
    },

    /**
     * Starts a process on a port of its own: one that only serves the index, or another indexer. Needs a Postgres
     * server.
     */
    async startBeside(command: "serve" | "start", more: Record<string, string> = {}) {
      const ownPort = await freePort();
      const env = { ...environment, PORT: String(ownPort), ...more };
      const beside = startIndexingService({ cwd: folder, env, command });
      return { ...beside, url: `http://127.0.0.1:${ownPort}` };
    },

    /** Runs a command of the project, `cli/<name>.ts`, with the service's settings. */
    run: (name: string, args: readonly string[], more: Record<string, string> = {}) =>
      new Promise<{ code: number; output: string }>((resolve) => {
        const path = join(projectRoot, `cli/${name}.ts`);
        const given = ["--disable-warning=ExperimentalWarning", path, ...args];
        const env = { ...environment, ...more };
        execFile(process.execPath, given, { cwd: folder, env }, (error, stdout, stderr) =>
          resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` }),
        );
      }),

    /** Waits until `isWanted` accepts the status. */
    waitForStatus: (what: string, isWanted: (snapshot: Snapshot) => boolean) =>
      waitForIt(what, async () => {
        const found = await snapshot();
        if (found && isWanted(found)) return { done: found };
        return { state: JSON.stringify(found?.omnichainSnapshot) ?? "no status" };
      }),

    /** How the service refused to start: its last lines. Throws if it ended otherwise. */
    async refusal(): Promise<string> {
      const { code } = await running().ended;
      if (code !== 78) throw new Error(describeEnding(running()));
      return running().lastLines(50).join("\n");
    },

    /** Kills the indexing process: see killIndexer. */
    crash: (schema = "public") =>
      killIndexer(
        running(),
        databaseUrl
          ? { databaseUrl }
          : { databaseUrl: privateServerUrl(inFolder("postgres")), databaseFolder: inFolder("postgres") },
        schema,
      ),

    /** Throws if the service has ended. */
    expectRunning: () => requireRunning(running()),

    /** Stops the service gracefully. */
    stop: (signal: NodeJS.Signals = "SIGINT") => running().stop(signal),

    /** Stops the service and removes its data. */
    async close() {
      await service?.stop("SIGINT");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
