import { expect, inject, onTestFinished, test } from "vitest";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { programOf, startPgBouncer } from "../support/pgbouncer.ts";
import { query as rowsOf } from "../support/postgres.ts";
import { clientQueries } from "../support/recordings.ts";
import { startWorld } from "../support/world.ts";

const canRun = programOf("pgbouncer") !== undefined && inject("postgresUrl") !== "";

const former =
  "{ domains(first: 9, block: { number: 1665 }) { id name } _meta(block: { number: 1665 }) { block { number } } }";
const ofPast = [
  `/subgraph?${new URLSearchParams({ query: former })}`,
  `/v1/names/eth?at=${chainIds.root}:1665`,
];
// Paths that read the index in each way: by name, lists, a former block, the progress.
const paths = [
  "/v1/names/eth",
  "/v1/events?page_size=50",
  ...ofPast,
  "/api/registrar-actions",
  "/status",
  "/ready",
];

/** What a service answers: the recorded queries of clients, and some paths. */
async function answersOf(url: string): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const { name, ...body } of clientQueries()) {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const response = await fetch(`${url}/subgraph`, init);
    answers[name] = [response.status, await response.text()];
  }
  for (const path of paths) {
    const response = await fetch(url + path);
    answers[path] = [response.status, await response.text()];
  }
  return answers;
}

test.skipIf(!canRun)(
  "readers answer through PgBouncer as without it, and set nothing on sessions that others get",
  async () => {
    const environment = {
      SUBGRAPH_COMPAT: "false",
      PLUGINS: "subgraph,registrars,protocol-acceleration",
      DATABASE_SCHEMA: "names_v1",
    };
    const world = await startWorld({ environment });
    onTestFinished(() => world.close());
    world.start();
    await world.waitForIndex();
    const through = async (
      mode: "session" | "transaction",
      settings: string[],
      more: Record<string, string> = {},
    ) => {
      const pooler = await startPgBouncer(world.databaseUrl, mode, {
        connections: mode === "session" ? 40 : 3,
        settings,
      });
      onTestFinished(() => pooler.stop());
      const reader = await world.startBeside("serve", { DATABASE_URL: pooler.url, ...more });
      onTestFinished(async () => void (await reader.stop("SIGINT")));
      return { ...reader, pooler };
    };
    const untilReady = (url: string) =>
      world.waitFor("the reader", async () => {
        const { status } = await fetch(`${url}/ready`);
        return status === 200 ? { done: true } : { state: `/ready ${status}` };
      });

    const [refused, unknown] = [await through("transaction", []), await through("session", [])];
    expect([await refused.ended, await unknown.ended]).toMatchObject([{ code: 78 }, { code: 78 }]);
    expect(refused.lastLines(9).join()).toContain("Set DATABASE_POOLER=transaction for a reader");
    expect(unknown.lastLines(9).join()).toContain("Set ignore_startup_parameters = statement_timeout");

    const direct = await world.startBeside("serve");
    onTestFinished(async () => void (await direct.stop("SIGINT")));
    const session = await through("session", ["ignore_startup_parameters = statement_timeout"]);
    const transaction = await through("transaction", [], { DATABASE_POOLER: "transaction" });
    for (const { url } of [direct, session, transaction]) await untilReady(url);
    const expected = await answersOf(direct.url);
    expect(Object.values(expected).map((answer) => (answer as [number])[0])).toEqual(
      Object.keys(expected).map(() => 200),
    );
    expect(expected[ofPast[0] ?? ""]).toMatchObject([200, expect.stringContaining('"number":1665')]);
    // The recorded blocks are years old.
    for (const path of ofPast)
      expect((await fetch(direct.url + path)).headers.get("cache-control")).toBe("public, max-age=3600");
    expect(await answersOf(session.url)).toEqual(expected);
    // More at a time than there are sessions.
    const [some] = await Promise.all(Array.from({ length: 8 }, () => answersOf(transaction.url)));
    expect(some).toEqual(expected);
    const [settings] = await rowsOf(
      transaction.pooler.url,
      "SELECT current_setting('search_path') AS path, current_setting('transaction_read_only') AS reading, current_setting('statement_timeout') AS timeout, current_setting('work_mem') AS memory, (SELECT count(*)::int FROM pg_prepared_statements) AS prepared",
    );
    const [fresh] = await rowsOf(
      world.databaseUrl,
      "SELECT current_setting('search_path') AS path, current_setting('transaction_read_only') AS reading, current_setting('statement_timeout') AS timeout, current_setting('work_mem') AS memory, 0 AS prepared",
    );
    expect(settings).toEqual(fresh);

    const indexer = await world.startBeside("start", {
      DATABASE_POOLER: "transaction",
      DATABASE_SCHEMA: "names_v2",
    });
    expect(await indexer.ended).toMatchObject({ code: 78 });
    expect(indexer.lastLines(9).join()).toContain("DATABASE_POOLER=transaction is for readers");
  },
);
