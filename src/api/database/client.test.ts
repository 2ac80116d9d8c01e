import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "vitest";
import { createDatabase } from "./client.ts";

test("reads the tables of the index where a temporary table has the same name", async () => {
  const client = new PGlite();
  await client.exec("CREATE TABLE domain (id text); INSERT INTO domain VALUES ('0x01')");
  await client.exec("CREATE TEMP TABLE domain (id text)");
  const database = createDatabase(client);
  const { signal } = new AbortController();
  expect(await database.row("SELECT id FROM domain WHERE id = $1", ["0x01"], signal)).toEqual(["0x01"]);
  // The writer's session still finds its temporary table.
  expect((await client.query("SELECT id FROM domain")).rows).toEqual([]);
  await client.close();
});

/** A pool of `max` connections whose statements run until they are cancelled, but for "SELECT 1". */
function createPool(max: number) {
  const running = new Map<number, () => void>();
  const waiting: (() => void)[] = [];
  let free = max;
  let ids = 0;
  let most = 0;

  async function connect() {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    const processID = ++ids;
    return {
      processID,
      async query({ text }: { text: string }) {
        if (text.startsWith("SET")) return { rows: [] };
        if (text === "SELECT 1") return { rows: [["1"]] };
        return new Promise<{ rows: unknown[][] }>((_, reject) => {
          running.set(processID, () => reject(new Error("canceling statement due to user request")));
          most = Math.max(most, running.size);
        });
      },
      release() {
        running.delete(processID);
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      },
    };
  }
  return {
    options: { max },
    connect,
    async query(_: string, [processID]: unknown[]) {
      const client = await connect();
      running.get(processID as number)?.();
      client.release();
    },
    most: () => most,
  };
}

test("statements aborted together leave the pool usable, and never take its last two connections", async () => {
  const pool = createPool(10);
  const database = createDatabase(pool);
  for (let round = 0; round < 3; round++) {
    const client = new AbortController();
    const rows = Array.from({ length: 60 }, () => database.row("SELECT pg_sleep(60)", [], client.signal));
    const ended = Promise.allSettled(rows);
    await new Promise((resolve) => setTimeout(resolve, 5));
    client.abort();
    expect((await ended).every(({ status }) => status === "rejected")).toBe(true);
    expect(await database.row("SELECT 1", [], new AbortController().signal)).toEqual(["1"]);
  }
  expect(pool.most()).toBe(8);
});
