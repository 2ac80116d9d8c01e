import { expect, test } from "vitest";
import { createEmbedded } from "../../../test/support/embedded/database.ts";
import { createDatabase, planOnce } from "./client.ts";

test("reads the tables of the index where a temporary table has the same name", async () => {
  const client = await createEmbedded();
  await client.exec("CREATE TABLE domain (id text); INSERT INTO domain VALUES ('0x01')");
  await client.exec("CREATE TEMP TABLE domain (id text)");
  const database = createDatabase(client);
  const { signal } = new AbortController();
  expect(await database.row("SELECT id FROM domain WHERE id = $1", ["0x01"], signal)).toEqual(["0x01"]);
  // The writer's session still finds its temporary table.
  expect((await client.query("SELECT id FROM domain")).rows).toEqual([]);
  await client.close();
});

// Backends of a stand-in server: what runs, by process id, and how to cancel it.
const running = new Map<number, () => void>();
let backends = 0;
let most = 0;
const names: (string | undefined)[] = [];

/** A pool whose statements run until they are cancelled, but for "SELECT 1"; a connection of its own is a pool of one. */
class StandInPool {
  readonly options: { max: number };
  private readonly waiting: (() => void)[] = [];
  private free: number;

  constructor({ max }: { max: number }) {
    this.options = { max };
    this.free = max;
  }

  on(): void {}

  async connect() {
    if (this.free === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.free -= 1;
    backends += 1;
    const processID = backends;
    const release = () => {
      running.delete(processID);
      const next = this.waiting.shift();
      if (next === undefined) this.free += 1;
      else next();
    };
    const query = async ({ text, name }: { text: string; name?: string | undefined }) => {
      if (text.startsWith("SET")) return { rows: [] };
      names.push(name);
      if (text === "SELECT 1") return { rows: [["1"]] };
      return new Promise<{ rows: unknown[][] }>((_, reject) => {
        running.set(processID, () => reject(new Error("canceling statement due to user request")));
        most = Math.max(most, running.size);
      });
    };
    return { processID, query, release };
  }

  async query({ values: [processID] = [] }: { values?: unknown[] }) {
    const { release } = await this.connect();
    running.get(processID as number)?.();
    release();
    return { rows: [] };
  }
}

test("a statement that is planned once has a name for each connection, others have none", async () => {
  const database = createDatabase(new StandInPool({ max: 10 }));
  const { signal } = new AbortController();
  await database.row("SELECT 1", [], signal);
  planOnce("SELECT 1");
  await database.row("SELECT 1", [], signal);
  await database.row("SELECT 1", [], signal);
  expect(names).toEqual([undefined, expect.stringMatching(/^once_\d+$/), names[1]]);
});

test("statements aborted together leave the pool usable, and never take its last two connections", async () => {
  const database = createDatabase(new StandInPool({ max: 10 }), { concurrency: 50, slow: 0 });
  for (let round = 0; round < 3; round++) {
    const client = new AbortController();
    const rows = Array.from({ length: 60 }, () => database.row("SELECT pg_sleep(60)", [], client.signal));
    const ended = Promise.allSettled(rows);
    await new Promise((resolve) => setTimeout(resolve, 5));
    client.abort();
    expect((await ended).every(({ status }) => status === "rejected")).toBe(true);
    expect(await database.row("SELECT 1", [], new AbortController().signal)).toEqual(["1"]);
  }
  expect(most).toBe(8);
  await expect.poll(() => running.size).toBe(0);
});
