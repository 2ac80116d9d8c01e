import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { createEmbedded } from "../../../../test/support/embedded/database.ts";
import { arrayLiteral, createStatement } from "./statement.ts";

const client = await createEmbedded();
afterAll(() => client.close());

test("binds a value once, whatever types it is used as", () => {
  const statement = createStatement();
  const sql = `${statement.bind("5")} ${statement.bind("5", "numeric")} ${statement.bind("a")}`;
  expect(statement.finish(sql)).toEqual({ sql: "$1::text $1::text::numeric $2::text", values: ["5", "a"] });
});

test("omits the parameters of omitted parts", () => {
  const statement = createStatement();
  statement.bind("dropped");
  const kept = statement.bind("kept");
  statement.bind("dropped too");
  expect(statement.finish(`SELECT ${kept}, ${kept}`)).toEqual({
    sql: "SELECT $1::text, $1::text",
    values: ["kept"],
  });
});

test("never uses an alias twice", () => {
  const statement = createStatement();
  expect([statement.alias(), statement.alias(), statement.alias()]).toEqual(["t0", "t1", "t2"]);
});

test("writes arrays that the database reads back as they were", async () => {
  const text = fc.string({ unit: "binary" }).filter((value) => !value.includes("\0") && value.isWellFormed());
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (values) => {
      const { rows } = await client.query("SELECT array_to_json($1::text::text[])::text AS json", [
        arrayLiteral(values),
      ]);
      expect(JSON.parse((rows[0] as { json: string }).json)).toEqual(values);
    }),
    { numRuns: 60 },
  );
});
