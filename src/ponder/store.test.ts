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

  test("is empty where there is none", () => {
    expect(storedList<Row, "texts">(null, "texts")).toEqual([]);
    expect(storedList<Row, "texts">({ texts: null }, "texts")).toEqual([]);
  });
});

test("an update gives the row as it is then", async () => {
  expect(await unlessMissing(Promise.resolve({ id: "0x1" }))).toEqual({ id: "0x1" });
});

test("an update of a row that is not there gives nothing", async () => {
  const error = Object.assign(new Error("No existing record found"), { name: "RecordNotFoundError" });
  expect(await unlessMissing(Promise.reject(error))).toBeUndefined();
});

test("any other failure of the store goes on", async () => {
  await expect(unlessMissing(Promise.reject(new Error("connection lost")))).rejects.toThrow(
    "connection lost",
  );
});
