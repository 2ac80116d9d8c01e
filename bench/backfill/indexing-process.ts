import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { readProcessorSeconds, residentMegabytes } from "../measure.ts";

/** The folder of this checkout. */
export const realRoot = fileURLToPath(new URL("../..", import.meta.url));
const ponder = "node_modules/ponder/dist/esm/bin/ponder.js";

/**
 * Seconds of the backfill; processor seconds of the process until it begins to index, and from there to the end of the
 * backfill; its largest memory.
 */
export type Indexed = Record<"seconds" | "startSeconds" | "processorSeconds" | "peakMegabytes", number>;

/** An entry of Ponder's log. */
export type LogEntry = {
  msg: string;
  level: number;
  duration?: number;
  block_range?: string;
  error?: unknown;
};

/** What a service uses: memory, and processor time since its start. */
export type Usage = { megabytes: number; processorSeconds: number };

/** An index in the database schema `name`; `seeEntry` gets each entry of the service's log. */
type Job = {
  name: string;
  appRoot: string;
  port: number;
  environment: Readonly<Record<string, string>>;
  whenComplete?: (pid: number | undefined) => unknown;
  seeEntry?: (entry: LogEntry, usage: () => Usage) => void;
};

/**
 * Indexes once, calls `whenComplete` when the backfill is complete, and stops the service. Throws if the service exits
 * earlier, or logs a fatal error.
 */
export async function indexOnce(job: Job): Promise<Indexed> {
  const { name, seeEntry, whenComplete } = job;
  let peakMegabytes = 0;
  let atBegin: number | undefined;
  const completed = Promise.withResolvers<number>();
  const service = startService(job, (entry) => {
    const { msg, level, duration = 0, error } = entry;
    if (level >= 50) completed.reject(new Error(`${name}: ${msg} ${JSON.stringify(error)}`));
    if (msg === "Started backfill indexing") atBegin ??= readProcessorSeconds(service.pid);
    seeEntry?.(entry, usage);
    if (msg === "Completed backfill indexing across all chains") completed.resolve(duration);
  });
  const usage = (): Usage => ({
    megabytes: residentMegabytes(service.pid),
    processorSeconds: readProcessorSeconds(service.pid),
  });
  void service.ended.then(() =>
    completed.reject(new Error(`${name}: the indexing service ended before its backfill was complete`)),
  );
  const watch = setInterval(() => {
    peakMegabytes = Math.max(peakMegabytes, usage().megabytes);
  }, 250);
  try {
    const seconds = (await completed.promise) / 1000;
    const startSeconds = atBegin ?? 0;
    const processorSeconds = usage().processorSeconds - startSeconds;
    await whenComplete?.(service.pid);
    return { seconds, startSeconds, processorSeconds, peakMegabytes };
  } finally {
    clearInterval(watch);
    await service.stop();
  }
}

// As cli/ponder.ts starts it; another checkout runs on its own packages.
function startService({ name, appRoot, port, environment }: Job, see: (entry: LogEntry) => void) {
  const home = existsSync(join(appRoot, ponder)) ? appRoot : realRoot;
  return startServiceProcess({
    name,
    args: [
      ...["--max-semi-space-size=32", "--heap-growing-percent=50", "--disable-warning=DeprecationWarning"],
      ...["--import", pathToFileURL(join(home, "cli/preload.mjs")).href, join(home, ponder), "start"],
      ...["--root", appRoot, "--schema", name, "--log-format", "json", "--port", String(port)],
    ],
    cwd: process.cwd(),
    env: {
      PONDER_CACHE_BYTES: String(512 * 2 ** 20),
      ...process.env,
      ...environment,
      DATABASE_SCHEMA: name,
      PORT: String(port),
    },
    onLine(line) {
      if (!/^["{]/.test(line)) return console.error(line);
      const parsed: LogEntry | string = JSON.parse(line);
      // As the preloaded module logs, or as a checkout without it does.
      see(typeof parsed === "string" ? JSON.parse(parsed) : parsed);
    },
  });
}
