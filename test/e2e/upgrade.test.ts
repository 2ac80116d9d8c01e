import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceProcess } from "../../devnet/service-process.ts";
import { waitFor } from "../../devnet/wait.ts";
import { createPool, query as statement } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

// Two indexes of one database, readers of a views schema, and a client that goes on asking.

const query = {
  query: "{ _meta { block { number } hasIndexingErrors } domains(first: 3) { id owner { id } } }",
};
const paths = ["/ready", "/status", "/amirealtime?maxWorstCaseDistance=999999999999", "/api/indexing-status"];

/** Asks the reader until it is stopped; gives what was not answered with 200, and how many requests there were. */
function keepAsking(url: string) {
  const failures: string[] = [];
  const answers = new Set<string>();
  let isOpen = true;
  let requests = 0;
  const ask = async () => {
    for (let turn = 0; isOpen; turn += 1) {
      const path = paths[Math.floor(turn / 4) % paths.length] ?? "";
      const response = await (turn % 4 === 3
        ? fetch(url + path)
        : fetch(`${url}/subgraph`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(query),
          })
      ).catch((error) => new Response(String(error), { status: 599 }));
      const body = await response.text();
      requests += 1;
      if (response.status !== 200 || body.includes('"errors"'))
        failures.push(`${response.status} ${path} ${body}`);
      else if (turn % 4 !== 3) answers.add(body);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const clients = [ask(), ask()];
  return async () => {
    isOpen = false;
    await Promise.all(clients);
    return { failures, requests, answers: [...answers] };
  };
}

// The tests continue each other.
describe("an upgrade", () => {
  let world: World;
  let reader: ServiceProcess & { url: string };
  let next: ServiceProcess | undefined;
  let stopAsking: ReturnType<typeof keepAsking>;
  let before: { block: number; names: number } | undefined;
  beforeAll(async () => {
    const environment = { DATABASE_SCHEMA: "names_v1", DATABASE_STABLE_SCHEMA: "names" };
    world = await startWorld({ head: 120, environment });
  });
  const analyst = `analyst_${process.pid}`;
  afterAll(async () => {
    await next?.stop("SIGINT");
    await statement(world.databaseUrl, `DROP OWNED BY ${analyst}; DROP ROLE ${analyst}`);
    await world?.close();
  });

  const db = (...args: string[]) => world.run("db", args);

  const analysed = () =>
    statement<{ block: number; names: number }>(
      Object.assign(new URL(world.databaseUrl), { username: analyst }).href,
      "SELECT block_number AS block, (SELECT count(*)::int FROM names) AS names FROM blocks",
    );
  const served = async () => {
    const config = (await (await fetch(`${reader.url}/api/config`)).json()) as { databaseSchemaName: string };
    return config.databaseSchemaName;
  };
  const servedBecomes = (schema: string) =>
    waitFor(`readers to be served from ${schema}`, async () => {
      const now = await served().catch(String);
      return now === schema ? { done: now } : { state: now };
    });
  const checksum = async (url: string) => {
    const response = await fetch(`${url}/api/checksum`);
    return (await response.json()) as {
      timestamp?: number;
      hash?: string;
      tables?: Record<string, object>;
    };
  };

  test("begins with a reader of the first index", async () => {
    world.start();
    await world.waitForIndex();
    expect(world.running().lastLines(10_000).join("\n")).not.toContain("DeprecationWarning");
    reader = await world.startBeside("serve");
    await waitFor("the reader to wait", async () =>
      reader.lastLines(9).some((line) => line.includes('Views schema "names" points to no index yet'))
        ? { done: true }
        : { state: reader.lastLines(3).join("\n") },
    );
    await waitFor("the first switch", async () => {
      const { code, output } = await db("switch", "names_v1");
      return code === 0 ? { done: output } : { state: output };
    });

    await statement(world.databaseUrl, `CREATE ROLE ${analyst} LOGIN`);
    expect(await db("grant-readonly", analyst)).toMatchObject({ code: 0 });
    [before] = await analysed();
    expect(before?.names).toBeGreaterThan(10);
    expect(before?.block).toBe(120);

    await servedBecomes("names_v1");
    await waitFor("the reader", async () =>
      (await fetch(`${reader.url}/ready`)).status === 200 ? { done: true } : { state: "not ready" },
    );
    stopAsking = keepAsking(reader.url);
  });

  test("moves readers and SQL views to a new index with the same rows", async () => {
    next = await world.startBeside("start", { DATABASE_SCHEMA: "names_v2", SWITCH_WHEN_READY: "true" });
    await servedBecomes("names_v2");
    // SQL views follow, with the role's rights on them.
    await waitFor("the SQL views", async () => {
      const { output } = await db("list");
      return /^names_v2(.*\n)*? {2}served as names, nsindex_v1$/m.test(output)
        ? { done: true }
        : { state: output };
    });
    expect(await analysed()).toEqual([before]);

    await waitFor("the first pass of the new index", async () =>
      next?.lastLines(500).some((line) => line.includes("Computed the checksums"))
        ? { done: true }
        : { state: "none" },
    );
    for (let head = 124; head <= 184; head += 4) {
      world.node.chain.setHead(head);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    // Once the same blocks are final.
    const found = await waitFor("equal checksums", async () => {
      const both = [await checksum(world.url), await checksum(reader.url)] as const;
      const isSame = both[0].timestamp !== undefined && both[0].timestamp === both[1].timestamp;
      return isSame ? { done: both } : { state: JSON.stringify(both) };
    });
    expect(found[1]).toEqual(found[0]);
    expect(found[0].hash).toMatch(/^[0-9a-f]{64}$/);
    expect(found[0].tables).toMatchObject({ domain: { rows: expect.any(Number) } });
  });

  test("and the way back lose no request of readers", async () => {
    // A statement that is long under way does not hold up others, and is not cancelled.
    const pool = createPool(world.databaseUrl, 1);
    const client = await pool.connect();
    await client.query("BEGIN; SELECT id FROM names.domain LIMIT 1");
    const back = db("switch", "names_v1");
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await served()).toBe("names_v2");
    await client.query("COMMIT");
    expect((await back).output).toMatch(
      /^Readers of names are now served from names_v1, previously from names_v2\./,
    );
    await servedBecomes("names_v1");

    const { failures, requests, answers } = await stopAsking();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(100);
    const metas = answers.map((text) => JSON.parse(text).data._meta);
    expect(metas.filter(({ hasIndexingErrors }) => hasIndexingErrors !== false)).toEqual([]);
    // It took over once only.
    expect(await served()).toBe("names_v1");
    client.release();
    await pool.end();
  });

  test("leaves indexes in use, whose readers describe them", async () => {
    const { output } = await db("list");
    expect(output).toMatch(/^names_v1, release \S+, build \w+, 0\.\d\d GB, live$/m);
    expect(output).toMatch(/^ {2}ens-test-env: subgraph$/m);
    expect(output).toMatch(
      /^ {2}chain 15658733 \(ens-test-env\): block 184, [\d,]+ days old\n {2}served as names, nsindex_v1\n {2}read from/m,
    );
    expect(output).toMatch(/^names_v2, .* live$/m);

    expect((await db("prune", "names_v1")).output).toMatch(
      /its indexer is running.*; it is served as "names"/,
    );
    expect((await db("prune", "names_v2")).output).toMatch(/"names_v2" is in use: its indexer is running/);
    await next?.stop("SIGINT");

    // Readers describe the index that they are switched to, not the one that they were started with.
    const described = async () => {
      const config = await (await fetch(`${reader.url}/api/config`)).json();
      const { status } = await fetch(`${reader.url}/api/registrar-actions`);
      return { ...(config as Record<string, unknown>), status };
    };
    expect(await described()).toMatchObject({
      isSubgraphCompatible: true,
      plugins: ["subgraph"],
      status: 503,
    });
    const other = { SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,registrars" };
    next = await world.startBeside("start", {
      ...{ ...other, DATABASE_SCHEMA: "names_v3", SWITCH_WHEN_READY: "true" },
    });
    await servedBecomes("names_v3");
    expect(await described()).toMatchObject({
      isSubgraphCompatible: false,
      plugins: ["subgraph", "registrars"],
      status: 200,
    });
    await next.stop("SIGINT");
    expect((await db("switch", "names_v1", "--force")).code).toBe(0);
    await servedBecomes("names_v1");
    expect(await described()).toMatchObject({
      isSubgraphCompatible: true,
      plugins: ["subgraph"],
      status: 503,
    });

    expect(await db("prune", "names_v2", "names_v3")).toEqual({
      code: 0,
      output: "Dropped names_v2, names_v3.\n",
    });
    expect(await statement(world.databaseUrl, "SELECT FROM pg_namespace WHERE nspname = 'names_v2'")).toEqual(
      [],
    );
    expect(await db("switch", "names_v2")).toEqual({
      code: 1,
      output: expect.stringContaining(
        'Unknown schema "names_v2". Did you mean "names_v1"? There are: names_v1.',
      ),
    });
    expect(await served()).toBe("names_v1");
    await reader.stop();
  });

  test("to other code in the same schema is refused, and changes nothing", async () => {
    await world.stop();
    const pool = createPool(world.databaseUrl, 1);
    const state = "SELECT value FROM names_v1._ponder_meta WHERE key = 'app'";
    // The framework compares this hash of the code.
    await pool.query(`UPDATE names_v1._ponder_meta SET value = jsonb_set(value::jsonb, '{build_id}', '"other"')
      WHERE key = 'app'`);
    const before = await pool.query(state);
    world.start();
    const output = await world.refusal();
    expect(output).toContain("was built by other code or another release, and cannot be continued");
    expect(output).toContain("Set a new DATABASE_SCHEMA");
    expect(output).not.toMatch(/drop the schema|MigrationError/i);
    expect((await pool.query(state)).rows).toEqual(before.rows);
    await pool.end();
  });
});
