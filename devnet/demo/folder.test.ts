import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { temporaryFolder } from "./folder.ts";

test("TMPDIR decides where the demo's data are", () => {
  expect(temporaryFolder({ TMPDIR: "/somewhere/else" })).toBe("/somewhere/else");
});

test("without it they are in a folder of the system", () => {
  expect(existsSync(temporaryFolder({}))).toBe(true);
});
