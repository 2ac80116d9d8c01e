import { afterAll, expect, test } from "vitest";
import { createTestDatabase } from "../../../test/support/database.ts";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { createDatabase } from "../../read/sql/client.ts";
import { checksum } from "./checksum.ts";

const client = await createTestDatabase("nothing");
const database = createDatabase(client);
const tables = { domain: { rows: 3, hash: "0123456789abcdef0123456789abcdef" } };
const at = (status?: string) =>
  openEndpoints([checksum], { database, plugins: [], status: { current: () => currentStatus(status) } }).ask;

afterAll(() => client.close());

test("says that there is none yet, also of an index of an old release", async () => {
  const none = {
    message:
      "There is no checksum yet. The first is of the next multiple of 600 seconds, once the blocks of that time are final.",
  };
  expect(await at()("/api/checksum")).toMatchObject({ status: 404, body: none });
  await client.exec(
    "CREATE TABLE _checksums (timestamp bigint PRIMARY KEY, until bigint NOT NULL, hash text NOT NULL, tables json NOT NULL)",
  );
  expect(await at()("/api/checksum")).toMatchObject({ status: 404, body: none });
  expect((await at("omnichain-backfill")("/api/checksum")).status).toBe(503);
});

test("gives the newest, or that of a time, and refuses others", async () => {
  const insert = "INSERT INTO _checksums VALUES ($1, $2, $3, $4)";
  await client.query(insert, [6_000, 7_200, "a".repeat(64), JSON.stringify(tables)]);
  await client.query(insert, [7_800, 9_000, "b".repeat(64), JSON.stringify(tables)]);
  const ask = at();
  const kept = { from: 6_000, to: 9_000 };
  expect(await ask("/api/checksum")).toMatchObject({
    status: 200,
    body: { timestamp: 9_000, hash: "b".repeat(64), tables, kept },
  });
  for (const timestamp of [6_000, 6_600, 7_200])
    expect(await ask(`/api/checksum?timestamp=${timestamp}`)).toMatchObject({
      status: 200,
      body: { timestamp, hash: "a".repeat(64), tables, kept },
    });
  for (const timestamp of [5_999, 7_500, 9_001, -1])
    expect(await ask(`/api/checksum?timestamp=${timestamp}`)).toMatchObject({
      status: 404,
      body: { message: `There is no checksum of ${timestamp}: ask for 6000 to 9000.` },
    });
  for (const timestamp of ["", "now", "1.5", "99999999999999999999"])
    expect((await ask(`/api/checksum?timestamp=${timestamp}`)).status).toBe(400);
});
