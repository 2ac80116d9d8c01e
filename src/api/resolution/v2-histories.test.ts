import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  answerDifferences,
  authorityDifferences,
  entryDifferences,
  nameDifferences,
} from "../../../test/support/ensv2/differences.ts";
import { madeUpContracts, madeUpHistory } from "../../../test/support/ensv2/made-up-history.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";

// Random histories of models of the contracts, which were written from their source: what the index reads from the logs
// against what the views of the models return.

let stored: Awaited<ReturnType<typeof createStoredIndex>>;
beforeAll(async () => {
  stored = await createStoredIndex();
});
afterAll(() => stored.client.close());

describe.each([39, 106])("history %i", (seed) => {
  test("entries, roles, names, resolvers, generations and answers are those of the contracts", async () => {
    const { snapshots, ...chain } = madeUpHistory({ seed, steps: 900, snapshots: 3 });
    const index = createV2Index(chain, madeUpContracts);
    for (const snapshot of snapshots) {
      await index.playTo(snapshot.block);
      await stored.store(index);
      expect(entryDifferences(index, snapshot)).toEqual([]);
      expect(await nameDifferences(index, stored, snapshot)).toEqual([]);
      expect(await authorityDifferences(index, stored, snapshot)).toEqual([]);
      const { differences, equal } = await answerDifferences(index, stored, snapshot);
      expect([differences, equal > 0]).toEqual([[], true]);
    }
  });
});
