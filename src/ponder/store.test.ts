import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolders } from "../../test/support/folders.ts";
import { requireExpectedVersion } from "./expected.ts";
import { endingOnTypeErrors } from "./rows/errors.ts";
import { enlargeBatches, expectReplaced, readNeededColumns } from "./store.ts";

const newFolder = temporaryFolders();

test("of cached blocks and transactions Ponder reads what handlers see, and nothing long", () => {
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

test("a Ponder without the size of a batch is refused", () => {
  const common = { options: { syncEventsQuerySize: 12_000 } };
  enlargeBatches({ PONDER_COMMON: common });
  expect(common.options.syncEventsQuerySize).toBe(24_000);
  expect(() => enlargeBatches({ PONDER_COMMON: { options: {} } })).toThrow(
    "PONDER_COMMON lacks options.syncEventsQuerySize",
  );
});

test("a Ponder whose stores were not replaced does not start, and the message names what is not", () => {
  const stores = ["../indexing-store/cache.js", "../indexing-store/index.js", "../sync-store/index.js"];
  const faults = [
    "glob",
    "./realtime.js",
    "beginning of the next range",
    "errors of live blocks",
    "new connection that is lost",
    "order of all chains",
    "blocks that are held",
    "chains that a reorganization concerns",
    "branch of the rows",
  ];
  const checkWith = (found: string[], kind: "own" | "stock") => () => {
    Reflect.set(globalThis, Symbol.for("nsindex.stores"), new Set(found));
    try {
      expectReplaced(kind);
    } finally {
      Reflect.deleteProperty(globalThis, Symbol.for("nsindex.stores"));
    }
  };
  expect(checkWith([...stores, ...faults], "own")).not.toThrow();
  expect(checkWith(faults, "stock")).not.toThrow();
  const missing = `not replaced in runtime: ${faults.join(", ")}`;
  for (const kind of ["own", "stock"] as const) expect(checkWith(stores, kind)).toThrow(missing);
  expect(() => expectReplaced("own")).toThrow(
    "Unsupported Ponder version: not replaced in runtime: ../indexing",
  );
});

test("another release than the expected one is refused by its version", () => {
  const folder = newFolder();
  writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "0.0.1" }));
  expect(() => requireExpectedVersion(folder)).toThrow(
    /^Unsupported Ponder version: Ponder 0\.0\.1 is installed\. Install Ponder [0-9.]+, which src\/ponder was written for/,
  );
  expect(() => requireExpectedVersion()).not.toThrow();
});

test("a TypeError in a store ends the index as an unsupported version, and is not tried again", async () => {
  const store = endingOnTypeErrors({
    qb: undefined as unknown,
    async flush() {
      throw new TypeError("event.checkpoint is undefined");
    },
    async prefetch() {
      throw new Error("connection lost");
    },
  });
  store.qb = "connection";
  expect(store.qb).toBe("connection");
  const unsupported = {
    name: "NonRetryableUserError",
    message: expect.stringMatching(/^Unsupported Ponder version: TypeError: event/),
  };
  await expect(store.flush()).rejects.toThrow(expect.objectContaining(unsupported));
  await expect(store.prefetch()).rejects.toThrow("connection lost");
});
