import { openDatabase } from "../../cli/database.ts";

/** Lets the lock of a killed indexer on its schema expire at once instead of after 25 seconds. */
export async function expireLock(
  of: { databaseUrl: string; databaseFolder?: string | undefined },
  schema: string,
): Promise<void> {
  const database = await openDatabase({ databaseFolder: undefined, ...of });
  const heartbeat = `value = jsonb_set(value, '{heartbeat_at}', '0')`;
  await database
    ?.run(`UPDATE ${schema}._ponder_meta SET ${heartbeat} WHERE key = 'app'`)
    .catch(() => undefined);
  await database?.close();
}
