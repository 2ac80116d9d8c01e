import type { PgTable } from "drizzle-orm/pg-core";
import { moduleOfPonder } from "../expected.ts";
import type { EventAhead } from "../shared.ts";
import type { Row } from "./table-shape.ts";

type Pattern = object;
type KeyColumns = Map<PgTable, [string, unknown][]>;
type Profile = {
  getProfilePatternKey(pattern: Pattern): string;
  recordProfilePattern(
    event: EventAhead,
    table: PgTable,
    key: Row,
    hints: Pattern[],
    columns: KeyColumns,
  ): Pattern | undefined;
  recoverProfilePattern(pattern: Pattern, event: EventAhead): Row;
};
type Utilities = { getPrimaryKeyCache(tables: readonly PgTable[]): KeyColumns };

// Every tenth event of a kind is a sample; a key is expected if more than one in four samples used it.
const sampling = 10;
const threshold = 0.25;

/** Predicts which rows the handlers of an event use. */
export type Predictions = ReturnType<typeof createPredictions>;

/**
 * Expects an event to use the keys that earlier ones of its kind used, as far as they are arguments of the event or
 * fields of its log. `eventCount` is the number of indexed events by kind; it changes meanwhile.
 */
export function createPredictions(tables: readonly PgTable[], eventCount: Readonly<Record<string, number>>) {
  const parts = moduleOfPonder<Profile>(
    "indexing-store/profile.js",
    "getProfilePatternKey",
    "recordProfilePattern",
    "recoverProfilePattern",
  );
  const { getPrimaryKeyCache } = moduleOfPonder<Utilities>("indexing-store/utils.js", "getPrimaryKeyCache");
  const keyColumns = getPrimaryKeyCache(tables);
  const seen = new Map<string, Map<PgTable, Map<string, { pattern: Pattern; count: number }>>>();

  return {
    /** Whether to record which rows this event uses. */
    isSample: ({ eventCallback }: EventAhead): boolean =>
      (eventCount[eventCallback.name] ?? 0) % sampling === 1,

    /** Records that a handler of the event used a row. */
    see(event: EventAhead, table: PgTable, key: Row): void {
      const { name } = event.eventCallback;
      const byTable = seen.get(name) ?? new Map();
      seen.set(name, byTable);
      const patterns = byTable.get(table) ?? new Map();
      byTable.set(table, patterns);
      const hints = [...patterns.values()].map(({ pattern }) => pattern);
      const pattern = parts.recordProfilePattern(event, table, key, hints, keyColumns);
      if (pattern === undefined) return;
      const text = parts.getProfilePatternKey(pattern);
      const known = patterns.get(text);
      if (known) known.count++;
      else patterns.set(text, { pattern, count: 1 });
    },

    /** Keys of the table's rows that the events are expected to use. */
    *keysOf(events: readonly EventAhead[], table: PgTable): Generator<Row> {
      for (const event of events) {
        const { name } = event.eventCallback;
        for (const { pattern, count } of seen.get(name)?.get(table)?.values() ?? []) {
          const uses = (count * sampling) / (eventCount[name] ?? 0);
          if (uses > threshold) yield parts.recoverProfilePattern(pattern, event);
        }
      }
    },
  };
}
