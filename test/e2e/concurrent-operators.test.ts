import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import {
  describeIndex,
  dropIndex,
  listIndexes,
  OperationError,
  saveStatus,
  switchName,
} from "../../src/operations/stored-indexes.ts";
import type { Statement } from "../../src/ponder/sql-client.ts";
import { stateTables } from "../support/create-tables.ts";
import { createEmptyDatabase } from "../support/postgres.ts";

// What operators run at the same time, each on a connection of its own.

describe("two operators on one Postgres", () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  const clients: pg.Client[] = [];
  const connect = async (): Promise<Statement> => {
    const client = new pg.Client(database.url);
    clients.push(client);
    await client.connect();
    return (text, values) => client.query(text, values);
  };
  let run: Statement;
  let other: Statement;

  beforeAll(async () => {
    database = await createEmptyDatabase(inject("postgresUrl"));
    [run, other] = [await connect(), await connect()];
  });
  beforeEach(async () => {
    await run(
      "DROP SCHEMA IF EXISTS v1 CASCADE; DROP SCHEMA IF EXISTS v2 CASCADE; DROP SCHEMA IF EXISTS names CASCADE",
    );
    for (const schema of ["v1", "v2"]) await createIndex(run, schema);
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await database.drop();
  });

  test("an index that is about to be dropped takes no views schema", async () => {
    await switchName(run, { schema: "v2", name: "names" });
    let switched: Promise<unknown> | undefined;
    // The other one switches when all uses were looked at.
    const drop: Statement = async (text, values) => {
      if (text.startsWith("DROP SCHEMA")) {
        switched = switchName(other, { schema: "v1", name: "names" }).catch((error: unknown) => error);
        await Promise.race([switched, new Promise((resolve) => setTimeout(resolve, 500))]);
      }
      return run(text, values);
    };
    await dropIndex(drop, "v1", Date.now());
    expect(await switched).toEqual(new OperationError("The index was dropped meanwhile."));
    expect((await listIndexes(run, Date.now())).map(({ names }) => names)).toEqual([["names"]]);
    expect((await run("SELECT id FROM names.domain")).rows).toEqual([{ id: "v2" }]);
  });
});

/** A servable index as Ponder leaves it, without its process. */
async function createIndex(run: Statement, schema: string) {
  const app = {
    ...{ build_id: "b1", is_ready: 1, is_locked: 0, heartbeat_at: 0 },
    table_names: ["domain", "resolver"],
  };
  await run(`
    CREATE SCHEMA ${schema};
    ${stateTables(app, schema)};
    CREATE TABLE ${schema}.domain (id text PRIMARY KEY); INSERT INTO ${schema}.domain VALUES ('${schema}');
    CREATE TABLE ${schema}.resolver (id text PRIMARY KEY)`);
  await describeIndex(run, schema, {
    release: "1.0.0",
    namespace: "mainnet",
    plugins: ["subgraph"],
    settings: { PLUGINS: "subgraph" },
  });
  await saveStatus(run, schema, "servable", {});
}
