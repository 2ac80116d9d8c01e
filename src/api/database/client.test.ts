import { Socket } from "node:net";
import { expect, test } from "vitest";
import { createEmbedded } from "../../../test/support/embedded/database.ts";
import { defaultSubgraphLimits } from "../../config/limits.ts";
import { createDatabase, type DatabaseLimits, planOnce, queueStatements } from "./client.ts";

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
    return { processID, connection: { stream: new Socket() }, query, release, end: async () => undefined };
  }

  async query(_: string, [processID]: unknown[]) {
    const { release } = await this.connect();
    running.get(processID as number)?.();
    release();
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

test("a statement that is given up keeps its turn until it has ended", async () => {
  let end = () => {};
  const statements: string[] = [];
  const columns = (sql: string) => {
    statements.push(sql);
    return new Promise<string[]>((resolve) => {
      end = () => resolve(["late"]);
    });
  };
  const limits = { ...defaultSubgraphLimits, concurrency: 1, timeoutMs: 60_000 };
  const database = queueStatements(columns, limits, 1);
  const leaving = new AbortController();
  const first = database.row("a", [], leaving.signal);
  const second = database.row("b", [], new AbortController().signal);
  await expect.poll(() => statements).toEqual(["a"]);
  leaving.abort(new Error("left"));
  await expect(first).rejects.toThrow("left");
  expect(statements).toEqual(["a"]);
  end();
  await expect.poll(() => statements).toEqual(["a", "b"]);
  end();
  expect(await second).toEqual(["late"]);
});

test("stops a statement that takes too long", async () => {
  const limits = { ...defaultSubgraphLimits, concurrency: 1, timeoutMs: 20 };
  const database = queueStatements(() => new Promise(() => undefined), limits, 1);
  await expect(database.row("a", [], new AbortController().signal)).rejects.toThrow(
    "The statement took too long.",
  );
});

/** A database whose statements, all but "quick", run until they are stopped or `end` is called with their text, in two lanes. */
function openLanes(limits: Partial<DatabaseLimits>) {
  const running = new Map<string, (row: string[]) => void>();
  const started: string[] = [];
  const stopped: string[] = [];
  const columns = (sql: string, _: readonly string[], signal: AbortSignal) =>
    new Promise<string[]>((resolve, reject) => {
      started.push(sql);
      if (sql === "quick") resolve([sql]);
      running.set(sql, resolve);
      signal.addEventListener("abort", () => {
        stopped.push(sql);
        reject(new Error("canceling statement due to user request"));
      });
    });
  const database = queueStatements(columns, { ...defaultSubgraphLimits, ...limits }, 4);
  const ask = (client: string, sql: string, signal = new AbortController().signal) =>
    database.forClient(client, () => database.row(sql, [], signal));
  return { ask, started, stopped, end: (sql: string) => running.get(sql)?.([sql]) };
}

test("a quick statement does not wait for slow ones, and a stopped one is run again among them", async () => {
  const { ask, started, end } = openLanes({ concurrency: 1, slow: 1, quickMs: 300, timeoutMs: 60_000 });
  const first = ask("a", "slow 1");
  const second = ask("a", "slow 2");
  await expect.poll(() => started).toEqual(["slow 1", "slow 2"]);
  const quick = ask("a", "quick");
  expect(await quick).toEqual(["quick"]);
  end("slow 1");
  expect(await first).toEqual(["slow 1"]);
  await expect.poll(() => started).toEqual(["slow 1", "slow 2", "quick", "slow 2"]);
  end("slow 2");
  expect(await second).toEqual(["slow 2"]);
});

test("a statement among the slow ones takes no longer than any may", async () => {
  const { ask } = openLanes({ concurrency: 1, slow: 1, quickMs: 10, timeoutMs: 50 });
  await expect(ask("a", "slow")).rejects.toThrow("The statement took too long.");
  await expect(ask("a", "slow")).rejects.toThrow("The statement took too long.");
});

test("a client may leave while its stopped statement waits among the slow ones", async () => {
  const lanes = openLanes({ concurrency: 1, slow: 1, quickMs: 300, timeoutMs: 60_000 });
  const { ask, stopped, end } = lanes;
  const first = ask("a", "slow 1");
  const leaving = new AbortController();
  const second = ask("b", "slow 2", leaving.signal);
  await expect.poll(() => stopped).toEqual(["slow 2"]);
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  end("slow 1");
  await first;
  const third = ask("c", "quick");
  expect(await third).toEqual(["quick"]);
});
