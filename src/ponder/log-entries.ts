import { seeOperations } from "../log/json-log.ts";
import { ponderLogger } from "./process.ts";

const levels = ["error", "warn", "info", "debug", "trace"] as const;
type Level = (typeof levels)[number];

/** A line of Ponder's log: `msg`, an `error` perhaps, and facts by name. */
type Entry = Readonly<Record<string, unknown>>;
type Logger = Record<Level, (entry: Entry, ...more: unknown[]) => void> & { child(facts: object): Logger };
type Rewrite = (level: Level, entry: Entry) => readonly [Level, Entry];

type Options = {
  /** That of the index. */
  schema: string;
  /** Whether the cause of an error is in the log already: its warnings are lowered to debug. */
  isReported: (error: unknown) => boolean;
};

/** Has Ponder's log say what holds for this service, at the level at which it matters; does nothing outside of Ponder. */
export function rewriteLog({ schema, isReported }: Options, scope: object = globalThis): void {
  const logger = ponderLogger(scope);
  if (logger === undefined) return;
  rewriteEntries(logger as unknown as Logger, (level, entry) => {
    const { error, endpoint, hostnames } = entry;
    // One for each entry of the list of RPC URLs, in which a URL is repeated (`entriesForRate`).
    if (typeof hostnames === "string")
      return [level, { ...entry, hostnames: JSON.stringify([...new Set(JSON.parse(hostnames))]) }];
    // Its /ready is answered by src/ponder/progress.ts, when the indexes for queries are there.
    const isLowered =
      endpoint === "/health" || endpoint === "/ready" || (level === "warn" && isReported(error));
    if (isLowered) return ["debug", entry];
    const isRefusal = level === "error" && error instanceof Error && error.name === "MigrationError";
    return [level, isRefusal ? refusalOf(schema) : entry];
  });
}

/** Passes all entries of a logger, and of those that are made of it, through `rewrite`. */
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

// sysexits.h: EX_CONFIG, as of other starts that are refused (cli/ponder.ts).
const refused = 78;

// Ponder advises to drop the schema, which may be the one that readers are served from.
function refusalOf(schema: string): Entry {
  process.once("exit", () => {
    process.exitCode = refused;
  });
  const fields = { schema, section: seeOperations("Upgrade without downtime") };
  const msg =
    "The index in this schema was built by other code or another release, and cannot be continued. Nothing was changed. " +
    "Set a new DATABASE_SCHEMA: readers are served from this index until the new one is complete";
  return { msg, ...fields };
}
