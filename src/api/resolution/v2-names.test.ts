import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  answerDifferences,
  authorityDifferences,
  nameDifferences,
} from "../../../test/support/ensv2/differences.ts";
import { readTruth } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";

// The recorded chain against what calls said of each name, at twenty blocks.

let stored: Awaited<ReturnType<typeof createStoredIndex>>;
beforeAll(async () => {
  stored = await createStoredIndex();
});
afterAll(() => stored.client.close());

const index = createV2Index();

describe.each(readTruth())("at block $block", (snapshot) => {
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
