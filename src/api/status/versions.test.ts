import { expect, test } from "vitest";
import { readVersions } from "./versions.ts";

test("reads the versions of what is installed", () => {
  const versions = readVersions();
  expect(versions).toEqual({
    runtime: expect.stringMatching(/^\d+\.\d+\.\d+/),
    indexingFramework: "0.17.7",
    program: expect.stringMatching(/^\d+\.\d+\.\d+/),
    normalization: "1.11.1",
  });
});
