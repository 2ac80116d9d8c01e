import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { stateTables } from "../../test/support/create-tables.ts";
import { createTestDatabase } from "../../test/support/database.ts";
import { createProgress } from "./progress.ts";
import type { Pool } from "./sql-client.ts";

const away = { message: "The database does not respond.", details: "Try again in some seconds." };
const client = await createTestDatabase("nothing");
afterAll(() => client.close());
beforeEach(() =>
  client.exec(`drop table if exists _ponder_meta, _ponder_checkpoint, owners; ${stateTables({ is_ready: 0 })};
    create table owners (owner text); create index by_owner on owners (owner)`),
);

const servers: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function serve(sqlClient: Pool, isBackfilling = () => false) {
  const headers = { "x-nsindex-version": "1.5.1" };
  const indexes = {
    sql: () => "(SELECT count(*)::text FROM pg_indexes WHERE indexname = 'by_owner')",
    areBuilt: (built: string | null) => built === "1",
  };
  const progress = createProgress(sqlClient, { schema: "public", isBackfilling, indexes, headers });
  const server = await listen((incoming, outgoing) => {
    if (!progress.respond(incoming.url ?? "", outgoing)) outgoing.writeHead(404).end();
  });
  servers.push(server);
  const ask = async (path: string) => {
    const response = await fetch(`${server.url}${path}`);
    return [response.status, response.headers.get("content-type"), await response.text()];
  };
  const versionOf = async (path: string) =>
    (await fetch(`${server.url}${path}`)).headers.get("x-nsindex-version");
  return { ...progress, ask, versionOf };
}

/** A pool that runs statements as `query` does. */
function poolOf(query: Pool["query"]) {
  const pool = { options: {}, query: vi.fn(query), connect: () => Promise.reject(new Error("not used")) };
  return pool satisfies Pool;
}

// Texts and shapes of Ponder 0.17.7 (src/server/index.ts).
describe("Ponder's own paths", () => {
  const text = "text/plain; charset=UTF-8";

  test("/ready waits for the backfill, the end of a range whose last blocks are not final yet, and the indexes", async () => {
    let isBackfilling = true;
    const { ask } = await serve(client, () => isBackfilling);
    const incomplete = [503, text, "Historical indexing is not complete."];
    expect(await ask("/ready")).toEqual(incomplete);
    await client.exec(`update _ponder_meta set value = '{"is_ready":1}'; drop index by_owner`);
    expect(await ask("/ready")).toEqual(incomplete);
    isBackfilling = false;
    expect(await ask("/ready")).toEqual([503, text, "The database's indexes are being built."]);
    await client.exec("create index by_owner on owners (owner)");
    expect(await ask("/ready")).toEqual([200, text, ""]);
  });

  test("/status has the latest block of each chain, by chain id", async () => {
    const { ask } = await serve(client);
    expect(await ask("/status")).toEqual([200, "application/json", "{}"]);
    const checkpoint = (chainId: number, number: number) =>
      `1700000000${String(chainId).padStart(16, "0")}${String(number).padStart(16, "0")}${"9".repeat(33)}`;
    await client.exec(`insert into _ponder_checkpoint (chain_name, chain_id, latest_checkpoint) values
      ('base', 8453, '${checkpoint(8453, 7)}'), ('mainnet', 1, '${checkpoint(1, 18_000_000)}')`);
    expect(await ask("/status")).toEqual([
      200,
      "application/json",
      '{"mainnet":{"id":1,"block":{"number":18000000,"timestamp":1700000000}},"base":{"id":8453,"block":{"number":7,"timestamp":1700000000}}}',
    ]);
  });

  test("all carry the version, and others are left to Ponder", async () => {
    const { ask, versionOf } = await serve(client);
    for (const path of ["/health", "/metrics", "/", "/ready/"]) expect((await ask(path))[0]).toBe(404);
    for (const path of ["/health", "/ready", "/status", "/metrics"])
      expect([path, await versionOf(path)]).toEqual([path, "1.5.1"]);
  });
});

describe("while the database is away", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED" });

  test("they respond with 503, without a path or a stack", async () => {
    const { ask, isDatabaseAway } = await serve(poolOf(() => Promise.reject(refused)));
    for (const path of ["/ready", "/status"])
      expect(await ask(path)).toEqual([503, "application/json", JSON.stringify(away)]);
    expect(await isDatabaseAway()).toBe(true);
  });

  test("a server that is silent is asked once, however many wait, and given up", async () => {
    const pool = poolOf(() => new Promise(() => {}));
    const { ask, isDatabaseAway } = await serve(pool);
    const replies = await Promise.all(["/ready", "/status", "/ready", "/status"].map(ask));
    expect(replies.map(([status]) => status)).toEqual([503, 503, 503, 503]);
    expect(await isDatabaseAway()).toBe(true);
    expect(pool.query).toHaveBeenCalledTimes(1);
  });

  test("a server that takes most of a second is not away", async () => {
    const late = async () => {
      await new Promise((resolve) => setTimeout(resolve, 700));
      return { rows: [["{}"]] };
    };
    const { isDatabaseAway } = await serve(poolOf(late));
    expect(await isDatabaseAway()).toBe(false);
  });

  test("a statement that fails is no sign of it", async () => {
    const missing = Object.assign(new Error('relation "_ponder_meta" does not exist'), { code: "42P01" });
    const { isDatabaseAway } = await serve(poolOf(() => Promise.reject(missing)));
    expect(await isDatabaseAway()).toBe(false);
  });
});
