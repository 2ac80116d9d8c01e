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

// Every tenth event of a kind is a sample, of later ones every hundredth. A key is expected if more than one in four
// samples used it.
const firstEvents = 1_000;
const threshold = 0.25;
const isSampled = (count: number) => count % (count < firstEvents ? 10 : 100) === 1;

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
  const samples = new Map<string, number>();

  return {
    /** Whether to record which rows this event uses; called once for each event. */
    isSample({ eventCallback: { name } }: EventAhead): boolean {
      if (!isSampled(eventCount[name] ?? 0)) return false;
      samples.set(name, (samples.get(name) ?? 0) + 1);
      return true;
    },

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
          if (count > (samples.get(name) ?? 0) * threshold) yield parts.recoverProfilePattern(pattern, event);
        }
      }
    },
  };
}
