import { expect, test } from "vitest";
import { readVersions } from "./versions.ts";

test("reads the versions of what is installed", () => {
  const versions = readVersions();
  expect(versions).toEqual({
    runtime: expect.stringMatching(/^\d+\.\d+\.\d+/),
    indexingFramework: "0.17.7",
    nsDb: expect.stringMatching(/^\d+\.\d+\.\d+/),
    nsIndexer: expect.stringMatching(/^\d+\.\d+\.\d+/),
    nsNormalize: "1.11.1",
  });
});
