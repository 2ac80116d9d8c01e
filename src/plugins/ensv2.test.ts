import { expect, test } from "vitest";
import { entryDifferences } from "../../test/support/ensv2/differences.ts";
import { readTruth } from "../../test/support/ensv2/recording.ts";
import { createV2Index } from "../../test/support/recorded-index.ts";

// The recorded chain against what calls said of each registry that could be reached from the root, at twenty blocks.

test("entries, tokens, resources and roles are what the registries say, at each block", async () => {
  const index = createV2Index();
  for (const snapshot of readTruth()) {
    await index.playTo(snapshot.block);
    expect(entryDifferences(index, snapshot)).toEqual([]);
  }
});
