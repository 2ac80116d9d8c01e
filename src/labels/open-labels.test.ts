import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createBatch,
  createLabelDatabase,
  extendLabelDatabase,
} from "../../labels-service/store/database.ts";
import { openLabels } from "./open-labels.ts";
import { LabelSourceError } from "./source.ts";

let folder: string;
let url: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "labels-"));
  const base = createLabelDatabase(join(folder, "0.sqlite"), "ens-test-env");
  base.add(createBatch(["eth", "xyz"]));
  const next = extendLabelDatabase(
    join(folder, "1.sqlite"),
    join(folder, "0.sqlite"),
    base.finish(new Date(0)),
  );
  next.add(createBatch(["test"]));
  next.finish(new Date(0));
  url = pathToFileURL(join(folder, "1.sqlite")).href;
});
afterAll(() => rmSync(folder, { recursive: true }));

const open = (changes: object) =>
  openLabels({ url, labelSetId: "ens-test-env", labelSetVersion: 1, log: () => {}, ...changes });

describe("label source of a file", () => {
  test("reports its contents", async () => {
    const source = await open({});
    expect(await source.describe()).toEqual({
      labelSetId: "ens-test-env",
      highestLabelSetVersion: 1,
      recordsCount: 3,
      version: "0.1.0",
      schemaVersion: 1,
    });
    await source.close();
  });

  test("refuses what is no labelhash", async () => {
    const source = await open({});
    expect(() => source.heal("0x12")).toThrow('"0x12" is not a labelhash.');
    await source.close();
  });

  test.each([
    [
      "another label set",
      { labelSetId: "subgraph" },
      /Label set "subgraph" is configured \(LABEL_SET_ID\), but file:.* holds "ens-test-env"\. Set LABEL_SET_ID=ens-test-env,/,
    ],
    [
      "a higher version",
      { labelSetVersion: 2 },
      /Version 2 of label set "ens-test-env" is configured \(LABEL_SET_VERSION\), but .* up to 1\. Set LABEL_SET_VERSION=1, or add version 2: npm run labels -- fetch ens-test-env 2 --database ".*1\.sqlite"$/,
    ],
    [
      "a file on another machine",
      { url: "file://host/y" },
      /is not the path of a file: File URL host must be/,
    ],
    [
      "a missing file",
      { url: "file:/nowhere/labels.sqlite" },
      /^There is no label database "\/nowhere\/labels\.sqlite"\. Create it: npm run labels -- fetch ens-test-env 0 --database "\/nowhere\/labels\.sqlite"$/,
    ],
    [
      "a missing file at the usual place",
      { url: pathToFileURL("data/labels.sqlite").href, labelSetId: "subgraph" },
      /^There is no label database ".*\/data\/labels\.sqlite"\. Create it: npm run labels -- fetch subgraph 0$/,
    ],
  ])("refuses %s", async (_, changes, message) => {
    await expect(open(changes)).rejects.toThrow(message);
    await expect(open(changes)).rejects.toThrow(LabelSourceError);
  });
});
