import { expect, test } from "vitest";
import { createEmbedded } from "../../../test/support/embedded/database.ts";
import { createDatabase } from "./client.ts";

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
