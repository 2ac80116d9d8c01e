import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findClient } from "../../src/api/kit/client-address.ts";
import { errorResponse } from "../../src/api/kit/errors.ts";
import { createSubgraph, subgraphRoutes } from "../../src/api/subgraph/routes.ts";
import { forClient } from "../../src/http/turn.ts";
import { PooledConnection } from "../../src/ponder/pooled-connection.ts";
import type { Pool } from "../../src/ponder/sql-client.ts";
import { createChainBlocks } from "../../src/read/chain-blocks.ts";
import { createDatabase, type DatabaseLimits, RowTooLongError } from "../../src/read/sql/client.ts";
import { maxPrepared, planOnce, prepareOften } from "../../src/read/sql/prepared.ts";
import { programOf, startPgBouncer } from "../support/pgbouncer.ts";
import { createPool } from "../support/postgres.ts";
import { createGeneratedDatabase, type GeneratedDatabase } from "../support/subgraph/generated-database.ts";
import { closedAfterEach } from "./support/raw.ts";

let generated: GeneratedDatabase;
beforeAll(async () => {
  generated = await createGeneratedDatabase(2_000);
  // Through a pooler no connection can ask for it.
  for (const setting of ["lock_timeout = 500", "deadlock_timeout = '5s'"])
    await generated?.run(`ALTER DATABASE ${new URL(generated.url).pathname.slice(1)} SET ${setting}`);
});
afterAll(() => generated?.close());

const servers = closedAfterEach();
// What the API's statements go through.
let client: Pool;
let schema: string | undefined;
// Postgres locks tables in the order of FROM.
const twoTables = "SELECT d.id FROM domain d CROSS JOIN registration r LIMIT 1";

/** The subgraph, and an endpoint whose statement takes `ms` milliseconds, behind one proxy that reports its clients. */
async function listen(limits: Partial<DatabaseLimits>) {
  const database = createDatabase(client, limits, schema);
  const subgraph = createSubgraph({
    database,
    chainId: 1,
    deployment: "test",
    blocks: createChainBlocks(async () => undefined, { log: () => undefined }),
    limits,
  });
  const app = new Hono()
    .use((c, next) => forClient(findClient(c, 1), next))
    .get("/slow/:ms", async (c) => {
      const seconds = String(Number(c.req.param("ms")) / 1_000);
      return c.json(await database.row("SELECT pg_sleep($1::float)::text", [seconds], c.req.raw.signal));
    })
    .get("/domain", async (c) => c.json(await database.row(twoTables, [], c.req.raw.signal)))
    .route("/subgraph", subgraphRoutes(subgraph))
    .onError((error, c) => errorResponse(error, c, () => undefined));
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const as = (client: string, path: string, signal?: AbortSignal) =>
    fetch(url + path, { headers: { "x-forwarded-for": client }, signal: signal ?? null });
  const ask = (query: string) => as("192.0.2.9", `/subgraph?${new URLSearchParams({ query })}`);
  servers.push(server);
  return { database, as, ask };
}

async function connections(where: string): Promise<number> {
  const { rows } = await generated.run(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE ${where} AND pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'`,
  );
  return Number(rows[0]?.["count"]);
}
const working = () => connections("state = 'active'");
const waitingForLocks = () => connections("wait_event_type = 'Lock'");

const pooler = programOf("pgbouncer");

describe.for(["", "session", "transaction"] as const)(
  "through Postgres or PgBouncer in mode '%s'",
  (mode) => {
    let stop: () => Promise<void> = async () => undefined;
    beforeAll(async () => {
      client = generated.client;
      schema = undefined;
      if (mode === "" || pooler === undefined) return;
      const bouncer = await startPgBouncer(generated.url, mode, { connections: 24 });
      const isShared = mode === "transaction";
      const pool = createPool(bouncer.url, 12, isShared ? { Client: PooledConnection } : {});
      client = pool as unknown as Pool;
      schema = isShared ? "public" : undefined;
      stop = async () => {
        await pool.end();
        await bouncer.stop();
      };
    });
    afterAll(() => stop());
    beforeEach(({ skip }) => {
      if (mode !== "" && pooler === undefined) skip("needs PgBouncer");
    });

    // The queue, which is before any pooler.
    test.skipIf(mode !== "")(
      "one client's 80 slow queries let another pass, and its share of places is bounded",
      async () => {
        const limits = { concurrency: 2, slow: 0, queue: 256, queuePerClient: 20, timeoutMs: 40_000 };
        const { as } = await listen(limits);
        const statuses: number[] = [];
        // None of them ends before all have come.
        const slow = Array.from({ length: 80 }, async () => {
          const response = await as("192.0.2.1", "/slow/2000");
          statuses.push(response.status);
          return [response.status, response.headers.get("retry-after")];
        });
        await expect.poll(() => statuses.length).toBeGreaterThanOrEqual(58);
        expect((await as("192.0.2.2", "/slow/1")).status).toBe(200);
        // Not behind all of the 20 that wait.
        expect(statuses.filter((status) => status === 200).length).toBeLessThan(22);
        const all = await Promise.all(slow);
        expect(all.filter(([status]) => status === 200)).toHaveLength(22);
        expect(all.filter(([status, after]) => status === 503 && after === "1")).toHaveLength(58);
      },
    );

    test("slow queries of many clients leave quick ones their places, and are refused beyond those that may wait", async () => {
      const { as } = await listen({
        concurrency: 1,
        slow: 1,
        slowQueue: 2,
        quickMs: 500,
        timeoutMs: 20_000,
      });
      const leaving = new AbortController();
      const statuses: number[] = [];
      const slow = Array.from({ length: 6 }, async (_, index) => {
        const { status } = await as(`192.0.2.${index}`, "/slow/60000", leaving.signal);
        statuses.push(status);
      });
      // One runs, two wait.
      await expect.poll(() => statuses).toEqual([503, 503, 503]);
      expect((await as("192.0.2.9", "/slow/1")).status).toBe(200);
      await expect.poll(working).toBe(1);
      leaving.abort();
      await Promise.allSettled(slow);
      await expect.poll(working).toBe(0);
    });

    test("a response over the limit is refused, and the database is at rest afterwards", async () => {
      const { ask } = await listen({ responseBytes: 5_000_000, timeoutMs: 20_000 });
      const fields = Array.from({ length: 800 }, (_, index) => `a${index}: id`).join(" ");
      for (let round = 0; round < 3; round++) {
        const { errors } = await (await ask(`{ domains(first: 1000) { ${fields} } }`)).json();
        expect(errors[0].message).toMatch(/^The response has more than 5000000 bytes/);
      }
      await expect.poll(working).toBe(0);
      const inside = await (await ask(`{ domains(first: 60) { ${fields} } }`)).text();
      expect(inside.length).toBeGreaterThan(3_000_000);
      expect(JSON.parse(inside).data.domains).toHaveLength(60);
    });

    test("many rows come one by one, and no more of them than a response may have", async () => {
      const database = createDatabase(client, { responseBytes: 1_000_000 }, schema);
      const { signal } = new AbortController();
      const numbered = (length: number) =>
        `SELECT i || repeat('x', ${length}) FROM generate_series(1, $1::int) i`;
      const taken: string[] = [];
      // The last row comes only once the first was taken.
      const last = await hold("SELECT pg_advisory_xact_lock(7)");
      const heldLast =
        "SELECT CASE WHEN i > 1000 THEN pg_advisory_xact_lock(7)::text || i ELSE i::text END FROM generate_series(1, 1001) i";
      let isReleased: Promise<void> | undefined;
      await database.rows(heldLast, [], signal, (text) => {
        taken.push(text);
        isReleased ??= last.release();
      });
      await isReleased;
      expect(taken).toEqual(Array.from({ length: 1_001 }, (_, i) => String(i + 1)));
      // Together, in one, and in one that the driver would otherwise not hold.
      for (const [length, count] of [
        [10_000, 200_000],
        [1_100_000, 1],
        [300_000, 5],
      ] as const) {
        const kept: number[] = [];
        const all = database.rows(numbered(length), [String(count)], signal, (text) =>
          kept.push(text.length),
        );
        await expect(all).rejects.toThrow(RowTooLongError);
        expect(kept.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(1_000_000);
        await expect.poll(working).toBe(0);
      }
      const leaving = new AbortController();
      const left = database.rows("SELECT pg_sleep(20)::text", [], leaving.signal, () => undefined);
      setTimeout(() => leaving.abort(new Error("gone")), 100);
      await expect(left).rejects.toThrow();
      await expect.poll(working).toBe(0);
      expect(await database.row("SELECT 'still here'", [], signal)).toEqual(["still here"]);
    });

    describe("requests that are given up", () => {
      test.each([5, 50, 300])("after %i ms leave no statement behind", async (ms) => {
        const { as, ask } = await listen({ timeoutMs: 60_000 });
        for (let round = 0; round < 3; round++) {
          const leaving = new AbortController();
          const requests = Array.from({ length: 60 }, () => as("192.0.2.1", "/slow/60000", leaving.signal));
          const ended = Promise.allSettled(requests);
          await new Promise((resolve) => setTimeout(resolve, ms));
          leaving.abort();
          await ended;
        }
        await expect.poll(working).toBe(0);
        expect((await ask("{ domains(first: 1) { id } }")).status).toBe(200);
      });
    });

    test("statements never take the last two connections of their pool of 12", async () => {
      const { database } = await listen({ concurrency: 50, slow: 0, timeoutMs: 60_000 });
      const leaving = new AbortController();
      const rows = Array.from({ length: 60 }, () =>
        database.row("SELECT pg_sleep(60)::text", [], leaving.signal),
      );
      const ended = Promise.allSettled(rows);
      await expect.poll(working).toBe(10);
      leaving.abort();
      expect((await ended).every(({ status }) => status === "rejected")).toBe(true);
      await expect.poll(working).toBe(0);
    });

    test("a statement that is planned once is prepared on its connection, others are not", async () => {
      const { database } = await listen({});
      const { signal } = new AbortController();
      const text = `SELECT $1::text AS "through ${mode}"`;
      const counted = "SELECT count(*)::text FROM pg_prepared_statements WHERE statement LIKE '%through%'";
      const prepared = async () => (await database.row(counted, [], signal))[0];
      await database.row(text, ["a"], signal);
      expect(await prepared()).toBe("0");
      for (const value of ["b", "c"]) await database.row(planOnce(text), [value], signal);
      // A session that others get may have no statement of a name, or another one.
      expect(await prepared()).toBe(mode === "transaction" ? "0" : "1");
    });

    test("statements are bounded by settings of their connection, from before they are parsed", async () => {
      const { database, as } = await listen({ timeoutMs: 700 });
      const settings = "SELECT current_setting('statement_timeout'), current_setting('work_mem')";
      expect(await database.row(settings, [], new AbortController().signal)).toEqual(["700ms", "64MB"]);
      const late = await as("192.0.2.1", "/slow/60000");
      expect([late.status, late.headers.get("retry-after")]).toEqual([503, "1"]);
      await expect.poll(working).toBe(0);
    });

    /** A connection that holds tables as a reorganization does while it takes rows back. */
    async function hold(text: string) {
      const connection = await generated.client.connect();
      const run = (statement: string) => connection.query({ text: statement });
      await run("BEGIN; SET LOCAL lock_timeout = 0");
      await run(text);
      return {
        run,
        async release() {
          await run("ROLLBACK");
          connection.release();
        },
      };
    }

    const joined = "{ domains(first: 1) { id registration { id } } }";

    // The framework's own limit for locks is half a second.
    test.skipIf(mode === "session")(
      "a read waits for a reorganization as long as it may take, and is then told to come again",
      async () => {
        const { as, ask } = await listen({ timeoutMs: 60_000 });
        const reorg = await hold("LOCK TABLE domain IN ACCESS EXCLUSIVE MODE");
        const waiting = [ask(joined), as("192.0.2.9", "/domain")];
        await new Promise((resolve) => setTimeout(resolve, 1_200));
        await reorg.release();
        const [answer, row] = await Promise.all(waiting);
        expect([answer?.status, row?.status]).toEqual([200, 200]);
        expect(await answer?.json()).toMatchObject({ data: { domains: [{ id: expect.any(String) }] } });

        // A tenth of the time lies between the end of the wait and that of the statement.
        const hasty = await listen({ timeoutMs: 10_000 });
        const longer = await hold("LOCK TABLE domain IN ACCESS EXCLUSIVE MODE");
        const [late, lateRow] = await Promise.all([hasty.ask(joined), hasty.as("192.0.2.9", "/domain")]);
        for (const { status, headers } of [late, lateRow])
          expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
        const locked = "What the query reads is locked in the database. Try again in a moment.";
        expect(await late.json()).toEqual({ errors: [{ message: locked }] });
        expect(await lateRow.json()).toEqual({ message: locked, details: "A table is being changed." });
        await longer.release();
        expect((await hasty.as("192.0.2.9", "/domain")).status).toBe(200);
      },
    );
    test.skipIf(mode !== "")(
      "what clients send often is prepared, with one plan only where values do not matter",
      async () => {
        const { database } = await listen({});
        const { signal } = new AbortController();
        const prepared = "SELECT json_object_agg(statement, generic_plans)::text FROM pg_prepared_statements";
        const [keyed, filtered] = [
          "SELECT id FROM domain WHERE id = $1",
          "SELECT id FROM domain WHERE id > $1",
        ];
        for (let time = 0; time < 4; time++)
          for (const [sql, isPlannedOnce] of [
            [keyed, true],
            [filtered, false],
          ] as const)
            await database.row(prepareOften(sql, { isPlannedOnce }), ["0x"], signal);
        const [found] = await database.row(prepared, [], signal);
        expect(JSON.parse(found ?? "")).toMatchObject({ [keyed]: 2, [filtered]: 0 });
      },
    );

    test.skipIf(mode !== "")("a connection that has prepared too much makes place for another", async () => {
      const { database } = await listen({});
      const { signal } = new AbortController();
      const backend = async () => database.row("SELECT pg_backend_pid()::text", [], signal);
      const first = await backend();
      const padding = "x".repeat(15_000);
      for (let form = 0; form < maxPrepared / padding.length + 1; form++)
        for (let time = 0; time < 3; time++)
          await database.row(prepareOften(`SELECT '${form}${padding}'`, { isPlannedOnce: true }), [], signal);
      expect(await backend()).not.toEqual(first);
    });

    test("a read that waits for a reorganization which waits for it begins again", async () => {
      // Postgres looks for such circles once in each wait: in the read's after five seconds, in the other never.
      const { as } = await listen({ timeoutMs: 60_000 });
      const reorg = await hold(
        "SET LOCAL deadlock_timeout = '1h'; LOCK TABLE registration IN ACCESS EXCLUSIVE MODE",
      );
      // It has locked the domains, and waits for the registrations.
      const waiting = as("192.0.2.9", "/domain");
      await expect.poll(waitingForLocks).toBe(1);
      try {
        await reorg.run("LOCK TABLE domain IN ACCESS EXCLUSIVE MODE");
      } finally {
        await reorg.release();
      }
      const response = await waiting;
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual([expect.stringMatching(/^0x[0-9a-f]{64}$/)]);
    });

    // What stands for the standby writes.
    test.skipIf(mode === "transaction")(
      "a read that a hot standby cancels, since it conflicts with what is replayed, begins again",
      async () => {
        // As Postgres reports it.
        await generated.run(`CREATE SEQUENCE IF NOT EXISTS tries; CREATE OR REPLACE FUNCTION conflicting() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('tries') % 3 > 0 THEN RAISE 'canceling statement due to conflict with recovery' USING ERRCODE = '40001'; END IF;
    RETURN 'read'; END $$`);
        const { database } = await listen({});
        expect(await database.row("SELECT conflicting()", [], AbortSignal.timeout(10_000))).toEqual(["read"]);
      },
    );
  },
);
