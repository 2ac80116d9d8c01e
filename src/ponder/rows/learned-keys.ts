import { createKeyFilter } from "./key-filter.ts";
import type { KnownRows, RowCache } from "./row-cache.ts";
import { countRows, keysOfTable } from "./row-statements.ts";

// Reading a key with others takes a fiftieth of asking whether the database has it.
const [fewest, share] = [100, 50];

/**
 * Reads all keys of each table that was asked for rows it does not have so often that this had been the cheaper way, as after a
 * restart in the middle of a backfill. Nothing may change a row meanwhile.
 */
export async function learnKeys({ tables, connection }: RowCache): Promise<void> {
  if (connection === undefined) return;
  for (const known of tables.values()) {
    if (known.isComplete || known.keys !== undefined || !isWorthCounting(known)) continue;
    known.countedAt = known.absent;
    if (known.absent * share < (await countRows(connection, known.shape))) continue;
    const keys = createKeyFilter();
    for await (const rows of keysOfTable(connection, known.shape))
      for (const row of rows) keys.add(known.shape.keyOf(row));
    known.keys = keys;
  }
}

// A large table is not counted for each batch.
const isWorthCounting = ({ absent, countedAt }: KnownRows) => absent >= fewest && absent >= 2 * countedAt;
