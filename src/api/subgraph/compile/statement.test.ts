import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { createEmbedded } from "../../../../test/support/embedded/database.ts";
import { arrayLiteral } from "./statement.ts";

const client = await createEmbedded();
afterAll(() => client.close());

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
