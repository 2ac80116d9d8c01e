import type { PgTable } from "drizzle-orm/pg-core";
import { z } from "zod/v4";
import { moduleOfPonder } from "../expected.ts";
import type { EventAhead } from "../prefetch-events.ts";
import type { Row } from "./table-shape.ts";

/** An event as Ponder passes it to its store. */
export type StoreEvent = EventAhead;

type Pattern = object;
type KeyColumns = Map<PgTable, [string, unknown][]>;
const callable = <Function>() => z.custom<Function>((value) => typeof value === "function");
const profile = z.object({
  getProfilePatternKey: callable<(pattern: Pattern) => string>(),
  recordProfilePattern:
    callable<
      (
        event: StoreEvent,
        table: PgTable,
        key: Row,
        hints: Pattern[],
        columns: KeyColumns,
      ) => Pattern | undefined
    >(),
  recoverProfilePattern: callable<(pattern: Pattern, event: StoreEvent) => Row>(),
});
const utilities = z.object({ getPrimaryKeyCache: callable<(tables: readonly PgTable[]) => KeyColumns>() });

// Each tenth event of a kind is looked at, and a key is expected of an event if one in four of its kind used it.
const sampling = 10;
const threshold = 0.25;

/** Which rows the rules of an event will use. */
export type Predictions = ReturnType<typeof createPredictions>;

/**
 * Expects of an event the keys that those of its kind have used, as far as they are an argument of the event or a field of its
 * log. `eventCount`: how many events of each kind have been indexed; it changes meanwhile.
 */
export function createPredictions(tables: readonly PgTable[], eventCount: Readonly<Record<string, number>>) {
  const parts = moduleOfPonder(profile, "indexing-store/profile.js");
  const keyColumns = moduleOfPonder(utilities, "indexing-store/utils.js").getPrimaryKeyCache(tables);
  const seen = new Map<string, Map<PgTable, Map<string, { pattern: Pattern; count: number }>>>();

  return {
    /** Whether the uses of this event are to be seen. */
    isSample: ({ eventCallback }: StoreEvent): boolean =>
      (eventCount[eventCallback.name] ?? 0) % sampling === 1,

    /** A rule used the row with a key while it handled the event. */
    see(event: StoreEvent, table: PgTable, key: Row): void {
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
    *keysOf(events: readonly StoreEvent[], table: PgTable): Generator<Row> {
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
