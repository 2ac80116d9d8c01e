import type { PgTable } from "drizzle-orm/pg-core";
import { z } from "zod/v4";
import { moduleOfPonder } from "./errors.ts";
import type { Row } from "./table-shape.ts";

/** An event as Ponder passes it to its store. */
export type StoreEvent = { eventCallback: { name: string } };

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

/**
 * Which rows the rules of an event will use, from what those of its kind have used: keys that are an argument of the event or a
 * field of its log.
 */
export class Predictions {
  readonly #parts = moduleOfPonder(profile, "indexing-store/profile.js");
  readonly #keyColumns: KeyColumns;
  readonly #eventCount: Readonly<Record<string, number>>;
  readonly #seen = new Map<string, Map<PgTable, Map<string, { pattern: Pattern; count: number }>>>();

  /** `eventCount`: how many events of each kind have been indexed; changes meanwhile. */
  constructor(tables: readonly PgTable[], eventCount: Readonly<Record<string, number>>) {
    this.#keyColumns = moduleOfPonder(utilities, "indexing-store/utils.js").getPrimaryKeyCache(tables);
    this.#eventCount = eventCount;
  }

  /** Whether the uses of this event are to be seen. */
  isSample({ eventCallback }: StoreEvent): boolean {
    return (this.#eventCount[eventCallback.name] ?? 0) % sampling === 1;
  }

  /** A rule used the row with a key while it handled the event. */
  see(event: StoreEvent, table: PgTable, key: Row): void {
    const { getProfilePatternKey, recordProfilePattern } = this.#parts;
    const { name } = event.eventCallback;
    const tables = this.#seen.get(name) ?? new Map();
    this.#seen.set(name, tables);
    const patterns = tables.get(table) ?? new Map();
    tables.set(table, patterns);
    const hints = [...patterns.values()].map(({ pattern }) => pattern);
    const pattern = recordProfilePattern(event, table, key, hints, this.#keyColumns);
    if (pattern === undefined) return;
    const text = getProfilePatternKey(pattern);
    const known = patterns.get(text);
    if (known) known.count++;
    else patterns.set(text, { pattern, count: 1 });
  }

  /** Keys of the table's rows that the events are expected to use. */
  *keysOf(events: readonly StoreEvent[], table: PgTable): Generator<Row> {
    for (const event of events) {
      const { name } = event.eventCallback;
      const patterns = this.#seen.get(name)?.get(table);
      if (patterns === undefined) continue;
      for (const { pattern, count } of patterns.values()) {
        const uses = (count * sampling) / (this.#eventCount[name] ?? 0);
        if (uses > threshold) yield this.#parts.recoverProfilePattern(pattern, event);
      }
    }
  }
}
