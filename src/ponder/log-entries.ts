import { seeOperations } from "../log/json-log.ts";
import { ponderLogger } from "./process.ts";
import { shared } from "./shared.ts";

const levels = ["error", "warn", "info", "debug", "trace"] as const;
type Level = (typeof levels)[number];

/** An entry of Ponder's log: `msg`, maybe an `error`, and fields. */
type LogEntry = Readonly<Record<string, unknown>>;
type Logger = Record<Level, (entry: LogEntry, ...more: unknown[]) => void> & { child(facts: object): Logger };
type Rewrite = (level: Level, entry: LogEntry) => readonly [Level, LogEntry];

type LogEntryOptions = {
  schema: string;
  /** Where this service is opened. */
  url: string;
  /** Whether the cause of an error is already logged: its warnings are lowered to debug. */
  isReported: (error: unknown) => boolean;
};

/** Adapts the texts and levels of Ponder's log to this service; does nothing outside of Ponder. */
export function rewriteLog({ schema, url, isReported }: LogEntryOptions, scope: object = globalThis): void {
  const logger = ponderLogger(scope);
  if (logger === undefined) return;
  rewriteEntries(logger as unknown as Logger, (level, entry) => {
    const { msg, error, endpoint, hostnames } = entry;
    // ponder: after it has committed the block; it tells nothing else.
    if (msg === "Indexed block") shared(scope).blockIndexed?.();
    if (msg === "Created HTTP server") return [level, { ...entry, open: url }];
    // cli/progress-bar.ts draws it.
    if (msg === "Updated backfill indexing progress")
      return [level, { ...entry, ...formatBlocks(shared(scope).backfill?.()), open: url }];
    // One per entry of the list of RPC URLs, which repeats URLs (`entriesForRate`).
    if (msg === "Connected to JSON-RPC" && typeof hostnames === "string")
      return [level, { ...entry, hostnames: JSON.stringify([...new Set(JSON.parse(hostnames))]) }];
    // src/ponder/progress.ts serves /ready, which also waits for the indexes for queries.
    const isLowered =
      endpoint === "/health" || endpoint === "/ready" || (level === "warn" && isReported(error));
    if (isLowered) return ["debug", entry];
    const isRefusal = level === "error" && error instanceof Error && error.name === "MigrationError";
    if (!isRefusal) return [level, entry];
    const [, behind] = /^Finalized block for chain "(\d+)"/.exec(error.message) ?? [];
    return [level, behind === undefined ? refuseIndex(schema) : describeLag(behind)];
  });
}

const formatBlocks = (progress: { done: number; all: number } | undefined) =>
  progress && { blocks: `${progress.done.toLocaleString("en")} of ${progress.all.toLocaleString("en")}` };

/** Passes all entries of a logger and its children through `rewrite`. */
function rewriteEntries(logger: Logger, rewrite: Rewrite): Logger {
  const { child, ...write } = { ...logger };
  for (const level of levels)
    logger[level] = (entry, ...more) => {
      const [to, rewritten] = rewrite(level, entry);
      write[to](rewritten, ...more);
    };
  logger.child = (facts) => rewriteEntries(child(facts), rewrite);
  return logger;
}

// The check of the start waits for such a node, unless none responded to it (cli/checks/chains.ts).
const describeLag = (chainId: string): LogEntry => ({
  msg: `The node of chain ${chainId} is behind the finalized blocks that the index rests on. Nothing was changed. Start again: the start waits for it`,
  section: seeOperations("When the chain contradicts the index"),
});

// sysexits.h: EX_CONFIG, as for other refused starts (cli/ponder.ts).
const refused = 78;

// ponder: it advises operators to drop the schema, which readers may still use.
function refuseIndex(schema: string): LogEntry {
  process.once("exit", () => {
    process.exitCode = refused;
  });
  const fields = { schema, section: seeOperations("Upgrade without downtime") };
  const msg =
    "The index in this schema was built by other code or another release, and cannot be continued. Nothing was changed. " +
    "Set a new DATABASE_SCHEMA: readers are served from this index until the new one is complete";
  return { msg, ...fields };
}
