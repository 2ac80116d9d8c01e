import { expect, test } from "vitest";
import { readAddresses, readRecording } from "../recording.ts";
import type { Contracts } from "./actions.ts";
import { recordedNames } from "./recorded-names.ts";

const folder = new URL("../recording/a", import.meta.url).pathname;
const names = recordedNames(readRecording(folder), readAddresses(folder) as Contracts);

test("names of the newest controller are found with the end of their last term", () => {
  expect(names.find(({ label }) => label === "fifonras")).toEqual({
    label: "fifonras",
    expires: 1818172901n,
  });
  expect(names.find(({ label }) => label === "delyenhexgam")).toEqual({
    label: "delyenhexgam",
    expires: 1924064670n,
  });
});

test("odd labels are skipped, and no label appears twice", () => {
  const labels = names.map(({ label }) => label);
  expect(labels.filter((label) => !/^[a-z0-9-]+$/.test(label))).toEqual([]);
  expect(new Set(labels).size).toBe(labels.length);
  expect(labels.length).toBeGreaterThan(50);
});
