import { afterAll, expect, test } from "vitest";
import { z } from "zod/v4";
import { createTestDatabase } from "../../../test/support/database.ts";
import { encodeCursor, readCursor } from "../../api/kit/paging.ts";
import { combineFields, field } from "./fields.ts";

const client = await createTestDatabase("nothing");
afterAll(() => client.close());

const reading = combineFields({
  id: field("t.id", z.string()),
  place: {
    number: field("t.number", z.int()),
    hex: field("t.number::text", z.string().optional(), (decimal) => `0x${BigInt(decimal).toString(16)}`),
  },
  note: field("t.note", z.string().optional()),
  owner: field("t.owner", z.string().nullable()),
});

async function rows(values: string): Promise<unknown[]> {
  const text = `SELECT ${reading.sql} AS row FROM (VALUES ${values}) AS t (id, number, note, owner)`;
  return (await client.query<{ row: unknown }>(text)).rows.map(({ row }) => reading.read(row));
}

test("reads rows into the objects that the schema describes", async () => {
  const [full, empty] = await rows("('a', 255, 'hello', 'o'), ('b', NULL::int, NULL, NULL)");
  expect(full).toEqual({ id: "a", place: { number: 255, hex: "0xff" }, note: "hello", owner: "o" });
  expect(reading.schema.safeParse(full).success).toBe(true);
  // Nulls are left out where the schema has an optional field, and stay elsewhere.
  expect(empty).toEqual({ id: "b", place: { number: null }, owner: null });
});

test("has a strict schema with the fields in their order", () => {
  expect(Object.keys(reading.schema.shape)).toEqual(["id", "place", "note", "owner"]);
  expect(reading.schema.safeParse({ id: "a", place: { number: 1 }, owner: null, more: 1 }).success).toBe(
    false,
  );
});

test("a cursor holds a number of 256 bits, as record ids have", () => {
  const list = ["links"];
  const read = (number: string) =>
    readCursor(encodeCursor(list, [number, "0x"]), {
      list,
      types: ["numeric", "text"],
      refuse: (message) => {
        throw new Error(message);
      },
    });
  const max = String(2n ** 256n - 1n);
  expect(read(max)).toEqual([max, "0x"]);
  expect(() => read(`${max}0`)).toThrow("cursor must be");
});
