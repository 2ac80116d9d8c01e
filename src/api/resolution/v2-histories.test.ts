import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  answerDifferences,
  authorityDifferences,
  entryDifferences,
  nameDifferences,
} from "../../../test/support/ensv2/differences.ts";
import { readHistories } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";

// Random histories: what the index reads from their logs against what the views of the contracts return.

let stored: Awaited<ReturnType<typeof createStoredIndex>>;
beforeAll(async () => {
  stored = await createStoredIndex();
});
afterAll(() => stored.client.close());

const { contracts, histories } = readHistories();

describe.each(histories)("history $seed", ({ snapshots, ...chain }) => {
  test("entries, roles, names, resolvers, generations and answers are those of the contracts", async () => {
    const index = createV2Index(chain, contracts);
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
