import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectOwnStores, readNeededColumns, unlessMissing } from "./store.ts";

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

test("of cached blocks and transactions Ponder reads what rules see, and nothing long", () => {
  const ofPonder = createRequire(import.meta.url)(
    join(process.cwd(), "node_modules/ponder/dist/esm/runtime/filter.js"),
  );
  readNeededColumns();
  // As for the contracts of the configuration: each filter begins with a copy.
  const of = [{ include: ofPonder.defaultLogFilterInclude.concat([]) }];
  expect(ofPonder.unionFilterIncludeBlock(of).toSorted()).toEqual(["hash", "number", "timestamp"]);
  expect(ofPonder.unionFilterIncludeTransaction(of)).toEqual(expect.arrayContaining(["from", "hash"]));
  expect(ofPonder.unionFilterIncludeTransaction(of)).not.toContain("input");
});

test("a Ponder whose stores were not replaced does not start, and the message names what is not", () => {
  const marker = Symbol.for("nsindex.stores");
  const of = [
    "../indexing-store/cache.js",
    "../indexing-store/index.js",
    "../sync-store/index.js",
    "../sync-historical/index.js",
    "beginning of the next range",
  ];
  const checkWith = (found: string[] | undefined) => () => {
    Reflect.set(globalThis, marker, found && new Set(found));
    try {
      expectOwnStores();
    } finally {
      Reflect.deleteProperty(globalThis, marker);
    }
  };
  expect(checkWith(of)).not.toThrow();
  expect(checkWith(of.slice(0, 2))).toThrow(
    "expected ../indexing-store/cache.js, ../indexing-store/index.js, ../sync-store/index.js, ../sync-historical/index.js, beginning of the next range",
  );
  expect(checkWith(undefined)).toThrow("Ponder is not as src/ponder expects");
});
