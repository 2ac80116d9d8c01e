import { setTimeout as pause } from "node:timers/promises";
import { namehash } from "viem";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { emits } from "../../devnet/events.ts";
import { readDeployment, register } from "../../devnet/life.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { waitFor } from "../../devnet/wait.ts";
import { programOf, startPgBouncer } from "../support/pgbouncer.ts";
import { query as rowsOf } from "../support/postgres.ts";
import { clientQueries } from "../support/recordings.ts";
import { seeds } from "../support/rounds.ts";
import { startWorld, type World } from "../support/world.ts";

// One index of the recorded chain, its indexer, and processes that only serve it: by themselves, and through poolers.

const canPool = programOf("pgbouncer") !== undefined;
let world: World;
let direct: Awaited<ReturnType<World["startBeside"]>>;

beforeAll(async () => {
  const environment = {
    SUBGRAPH_COMPAT: "false",
    PLUGINS: "subgraph,registrars,protocol-acceleration",
    DATABASE_SCHEMA: "names_v1",
  };
  world = await startWorld({ environment });
  world.start();
  await world.waitForIndex();
  direct = await world.startBeside("serve");
  await untilReady(direct.url);
});
afterAll(async () => {
  await direct?.stop("SIGINT");
  await world?.close();
});

const untilReady = (url: string) =>
  waitFor("the reader", async () => {
    const { status } = await fetch(`${url}/ready`);
    return status === 200 ? { done: true } : { state: `/ready ${status}` };
  });

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

test.skipIf(!canPool)(
  "readers answer through PgBouncer as without it, and set nothing on sessions that others get",
  async () => {
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
    const [refused, unknown] = [await through("transaction", []), await through("session", [])];
    expect([await refused.ended, await unknown.ended]).toMatchObject([{ code: 78 }, { code: 78 }]);
    expect(refused.lastLines(9).join()).toContain("Set DATABASE_POOLER=transaction for a reader");
    expect(unknown.lastLines(9).join()).toContain("Set ignore_startup_parameters = statement_timeout");

    const session = await through("session", ["ignore_startup_parameters = statement_timeout"]);
    const transaction = await through("transaction", [], { DATABASE_POOLER: "transaction" });
    for (const { url } of [session, transaction]) await untilReady(url);
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
    const [some] = await Promise.all(Array.from({ length: 4 }, () => answersOf(transaction.url)));
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

const root = readDeployment("root");
const ownerOf = (entropy: number) => `0x${entropy.toString(16).padStart(40, "0")}` as const;
const clock = namehash("clock.eth");
const query = `{ _meta { block { number timestamp } } domain(id: "${clock}") { owner { id } } }`;
type Answer = { _meta: { block: { number: number; timestamp: number } }; domain: { owner: { id: string } } };

describe("while reorganizations are followed", () => {
  let timestamp = Math.floor(Date.now() / 1_000) - 600;
  let entropy = timestamp;
  /** The owner in a block, by its hash: each block of each branch has its own. */
  const owners = new Map<string, string>();

  /** Mines blocks a second apart, from `from` on. */
  const mine = (count: number, from = timestamp) => {
    timestamp = from;
    for (let block = 0; block < count; block++) {
      timestamp += 1;
      entropy += 1;
      const owner = ownerOf(entropy);
      const logs = [emits.registryTransfer(root.registry, clock, owner)];
      const sale = register(root, { label: "clock", owner, expires: 2_000_000_000n });
      const { hash } = world.node.mineBlock({
        timestamp,
        transactions: [sale, { from: owner, to: root.registry, value: 0n, logs }],
      });
      owners.set(hash, owner);
    }
  };

  beforeAll(async () => {
    mine(1);
    await world.waitForIndex();
  });

  test("the block of an answer is the one of its rows", async () => {
    const { chain } = world.node;
    entropy = timestamp;
    const heads = new Set<number>();
    for (const depth of [1, 2, 3]) {
      mine(4);
      await world.waitForIndex();
      chain.setHead(chain.head() - depth);
      mine(depth + 1);
      const newest = timestamp;
      let seen = 0;
      while (seen < newest) {
        // While a reorganization holds its locks, an answer may be a 503.
        const answer = await world.query<Answer>(query).catch(() => undefined);
        if (answer === undefined) continue;
        const { _meta, domain } = answer;
        seen = _meta.block.timestamp;
        heads.add(_meta.block.number);
        expect(domain.owner.id).toBe(ownerOf(seen));
        await pause(20);
      }
    }
    expect(heads.size).toBeGreaterThan(2);
    const counted =
      "SELECT snapshot::text AS reorganizations FROM names_v1._indexing_status WHERE id = 'reorganizations'";
    expect(await rowsOf(world.databaseUrl, counted)).toEqual([{ reorganizations: "3" }]);
  });

  type Found = { _meta: { block: { hash: string } }; domain: { owner: object } };
  const subgraph = async (url: string, text: string) => {
    const body = JSON.stringify({ query: text });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/subgraph`, { method: "POST", headers, body });
    return { response, body: (await response.json()) as { data?: Found; errors?: object } };
  };
  const isDocumented = (status: number, text: string) =>
    [409, 503].includes(status) ||
    // The last two: of a machine that has much else to do.
    /no block with that hash found|has only indexed up to|does not have block number|index changed during|no node responds|Query timed out/.test(
      text,
    );

  /** Asks for a block by its hash: the answer has its rows or is a documented error. Returns whether it had rows. */
  async function askByHash(url: string, hash: string): Promise<boolean> {
    const at = `(block: { hash: "${hash}" })`;
    const { response, body } = await subgraph(
      url,
      `{ _meta${at} { block { hash } } domain(id: "${clock}", block: { hash: "${hash}" }) { owner { id } } }`,
    );
    if (body.data === undefined) {
      const text = JSON.stringify(body.errors);
      expect([hash, isDocumented(response.status, text) || text]).toEqual([hash, true]);
      return false;
    }
    expect(body.data).toEqual({
      _meta: { block: { hash } },
      domain: { owner: { id: owners.get(hash) } },
    });
    return true;
  }

  /**
   * Asks for the newest block, and for a former one by its number: what is said of the block and the rows are of one
   * branch.
   */
  async function askForHeads(url: string, former: number) {
    const { body } = await subgraph(
      url,
      `{ _meta { block { hash } } domain(id: "${clock}") { owner { id } } }`,
    );
    const { data } = body;
    if (data) expect(data.domain.owner).toEqual({ id: owners.get(data._meta.block.hash) });
    for (const at of ["", `?at=${chainIds.root}:${former}`]) {
      const response = await fetch(`${url}/v1/names/clock.eth${at}`);
      const text = await response.text();
      if (response.status !== 200) {
        expect([at, isDocumented(response.status, text)]).toEqual([at, true]);
        continue;
      }
      const found = JSON.parse(text) as {
        data: { manager: string };
        meta: { as_of: Record<string, { block_hash: string; block_number: number }> };
      };
      const asOf = found.meta.as_of[chainIds.root];
      expect([at, found.data.manager]).toEqual([at, owners.get(asOf?.block_hash ?? "")]);
      if (at !== "") expect(asOf?.block_number).toBe(former);
    }
  }

  test("each answer is of the branch that its block is of, on the indexer and on a reader", async () => {
    const { chain } = world.node;
    mine(6);
    await world.waitForIndex();
    for (let round = 0; round < 8 * seeds.length; round++) {
      const depth = 1 + (round % 5);
      const common = chain.head() - depth;
      const branchOf = () =>
        Array.from({ length: depth }, (_, at) => chain.block(common + 1 + at)?.hash ?? "");
      const dropped = branchOf();
      for (const url of [world.url, direct.url])
        for (const hash of dropped)
          await waitFor(`block ${hash}`, async () =>
            (await askByHash(url, hash)) ? { done: hash } : { state: "an error" },
          );
      // Each second branch has the times of the first.
      const since = chain.block(common)?.timestamp ?? 0;
      chain.setHead(common);
      mine(depth + 1, round % 2 === 0 ? since : timestamp);
      const kept = branchOf();
      const left = new Set([world.url, direct.url]);
      while (left.size > 0) {
        for (const url of [world.url, direct.url]) {
          for (const hash of dropped) await askByHash(url, hash);
          const known = await Promise.all(kept.map((hash) => askByHash(url, hash)));
          await askForHeads(url, common + 1);
          if (known.every(Boolean)) left.delete(url);
        }
        await pause(20);
      }
      await world.waitForIndex();
      for (const url of [world.url, direct.url])
        for (const hash of dropped) expect([hash, await askByHash(url, hash)]).toEqual([hash, false]);
    }
  });
});
