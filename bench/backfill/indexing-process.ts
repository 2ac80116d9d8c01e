import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { processorSecondsOf, residentMegabytes } from "../measure.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ponder = "node_modules/ponder/dist/esm/bin/ponder.js";

/** App folders: with the real indexing functions, and with empty ones in their place. */
export const realRoot = root;
export const emptyRoot = fileURLToPath(new URL("empty", import.meta.url));

/** Seconds of the backfill, processor seconds of the process from its first batch to its end, and its largest memory. */
export type Indexed<Result> = {
  seconds: number;
  processorSeconds: number;
  peakMegabytes: number;
  result: Result;
};

/** An entry of Ponder's log. */
export type LogEntry = {
  msg: string;
  level: number;
  duration?: number;
  block_range?: string;
  error?: unknown;
};

/** What a service uses: memory, and processor time since its start; and its end without a warning. */
export type WatchedService = {
  usage: () => { megabytes: number; processorSeconds: number };
  kill: () => void;
};

/**
 * Indexes once into the database schema `name`, calls `whenComplete` when the backfill is complete, and stops the
 * service. Throws if the service exits earlier, or logs a fatal error.
 */
export async function indexOnce<Result>({
  name,
  appRoot,
  port,
  environment,
  whenComplete,
  seeEntry,
}: {
  name: string;
  appRoot: string;
  port: number;
  environment: Readonly<Record<string, string>>;
  whenComplete: () => Result | Promise<Result>;
  /** Gets each entry of the service's log. */
  seeEntry?: (entry: LogEntry, service: WatchedService) => void;
}): Promise<Indexed<Result>> {
  const flags = [
    "--max-semi-space-size=32",
    "--heap-growing-percent=50",
    "--disable-warning=DeprecationWarning",
  ];
  const args = ["start", "--root", appRoot, "--schema", name, "--log-format", "json", "--port", String(port)];
  // Another checkout runs on its own packages.
  const home = existsSync(join(appRoot, ponder)) ? appRoot : root;
  // As cli/ponder.ts starts it.
  const preload = ["--import", pathToFileURL(join(home, "cli/preload.mjs")).href];
  let peakMegabytes = 0;
  let atFirstBatch: number | undefined;
  const completed = Promise.withResolvers<number>();
  const service = startServiceProcess({
    name,
    args: [...flags, ...preload, join(home, ponder), ...args],
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
      const entry: LogEntry = typeof parsed === "string" ? JSON.parse(parsed) : parsed;
      const { msg, level, duration = 0, error } = entry;
      if (level >= 50) completed.reject(new Error(`${name}: ${msg} ${JSON.stringify(error)}`));
      if (msg === "Indexed block range") atFirstBatch ??= processorSecondsOf(service.pid);
      const usage = () => ({
        megabytes: residentMegabytes(service.pid),
        processorSeconds: processorSecondsOf(service.pid),
      });
      seeEntry?.(entry, { usage, kill: service.kill });
      if (msg === "Completed backfill indexing across all chains") completed.resolve(duration);
    },
  });
  void service.ended.then(() =>
    completed.reject(new Error(`${name}: the indexing service ended before its backfill was complete`)),
  );
  const watch = setInterval(() => {
    peakMegabytes = Math.max(peakMegabytes, residentMegabytes(service.pid));
  }, 250);
  try {
    const duration = await completed.promise;
    const processorSeconds = processorSecondsOf(service.pid) - (atFirstBatch ?? 0);
    const result = await whenComplete();
    return { seconds: duration / 1000, processorSeconds, peakMegabytes, result };
  } finally {
    clearInterval(watch);
    await service.stop();
  }
}
