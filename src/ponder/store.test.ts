import { describe, expect, test } from "vitest";
import { storedList, unlessMissing } from "./store.ts";

type Row = { texts: string[] | null };

describe("a stored list", () => {
  test("is the row's own, without a read of the property", () => {
    const texts = ["avatar"];
    const guarded = new Proxy<Row>(
      { texts },
      {
        get: () => {
          throw new Error("read");
        },
      },
    );
    expect(storedList(guarded, "texts")).toBe(texts);
  });

  test("is empty if there is none", () => {
    expect(storedList<Row, "texts">(null, "texts")).toEqual([]);
    expect(storedList<Row, "texts">({ texts: null }, "texts")).toEqual([]);
  });
});

test("an update returns the updated row", async () => {
  expect(await unlessMissing(Promise.resolve({ id: "0x1" }))).toEqual({ id: "0x1" });
});

test("an update of a missing row returns nothing", async () => {
  const error = Object.assign(new Error("No existing record found"), { name: "RecordNotFoundError" });
  expect(await unlessMissing(Promise.reject(error))).toBeUndefined();
});

test("any other error of the store is rethrown", async () => {
  await expect(unlessMissing(Promise.reject(new Error("connection lost")))).rejects.toThrow(
    "connection lost",
  );
});
