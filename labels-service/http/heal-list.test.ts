import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LabelFile, openLabelFile } from "../../src/labels/label-file.ts";
import { digestsOf } from "../../test/support/digests.ts";
import { batchOf, createLabelDatabase } from "../store/database-writer.ts";
import { giveWay } from "./answer.ts";
import { healList } from "./heal-list.ts";

const longLabel = "long".repeat(1000);
const labels = ["", "\0", longLabel, ...Array.from({ length: 2500 }, (_, i) => `label${i}`)];

let folder: string;
let file: LabelFile;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "heal-list-"));
  const path = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(path, "ens-test-env");
  writer.add(batchOf(labels));
  writer.finish(new Date(0));
  file = openLabelFile(path);
});
afterAll(() => {
  file.close();
  rmSync(folder, { recursive: true });
});

describe("a list of labelhashes", () => {
  test("is healed in order, unknown, repeated and long labels included", () => {
    const asked = [
      ...labels.toReversed(),
      "unknown",
      longLabel,
      "label7",
      "label7",
      "unknown too",
      longLabel,
    ];
    const answers = [...healList(file, digestsOf(asked), 0)].flatMap((piece) =>
      piece === giveWay ? [] : piece,
    );
    expect(answers).toEqual(asked.map((label) => (label.startsWith("unknown") ? undefined : label)));
  });

  test("yields to other work before it returns", () => {
    const pieces = [...healList(file, digestsOf(labels), 0)];
    expect(pieces.map((piece) => (piece === giveWay ? giveWay : piece.length))).toEqual([
      ...new Array(6).fill(giveWay),
      2000,
      503,
    ]);
  });

  test("may be empty", () => {
    expect([...healList(file, digestsOf([]), 0)]).toEqual([]);
  });
});
