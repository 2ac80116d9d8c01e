import { describe, expect, test } from "vitest";
import { storedList } from "./stored-lists.ts";

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
