import { beforeAll, describe, expect, test } from "vitest";
import {
  answerDifferences,
  authorityDifferences,
  entryDifferences,
  nameDifferences,
} from "../../../test/support/ensv2/differences.ts";
import { readHistories, readTruth } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";
import { sampled } from "../../../test/support/rounds.ts";

// What the index reads from logs against what calls said of each name: on the recorded chain, and in random histories.

const stored = await createStoredIndex();

const index = createV2Index();

describe.each(sampled(readTruth(), 5))("at block $block", (snapshot) => {
  beforeAll(async () => {
    await index.playTo(snapshot.block);
    await stored.store(index);
  });

  test("owner, resolver and registry of each name, and whether only the chain can tell", async () => {
    expect(await nameDifferences(index, stored, snapshot)).toEqual([]);
  });

  test("the generation in force for each .eth name", async () => {
    expect(await authorityDifferences(index, stored, snapshot)).toEqual([]);
  });

  test("the answers of each name that can be written, from the index alone", async () => {
    const { differences } = await answerDifferences(index, stored, snapshot);
    expect(differences).toEqual([]);
  });
});

const { contracts, histories } = readHistories();

describe.each(histories)("history $seed", ({ snapshots, ...chain }) => {
  test("entries, roles, names, resolvers, generations and answers are those of the contracts", async () => {
    const made = createV2Index(chain, contracts);
    for (const snapshot of snapshots) {
      await made.playTo(snapshot.block);
      await stored.store(made);
      expect(entryDifferences(made, snapshot)).toEqual([]);
      expect(await nameDifferences(made, stored, snapshot)).toEqual([]);
      expect(await authorityDifferences(made, stored, snapshot)).toEqual([]);
      const { differences, equal } = await answerDifferences(made, stored, snapshot);
      expect([differences, equal > 0]).toEqual([[], true]);
    }
  });
});
