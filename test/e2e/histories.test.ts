import { expect, inject, test } from "vitest";
import { healAtRandom, readPastAtRandom } from "../support/healed-index.ts";
import { createEmptyDatabase } from "../support/postgres.ts";
import { seeds } from "../support/rounds.ts";

// Random histories of an index whose blocks come, are taken back, and whose process is killed. The modes take turns:
// bench/heal.ts plays each seed in both.

type History = { seed: number; isSubgraphCompatible: boolean };

async function play<Played>(
  history: (databases: readonly [string, string], of: History) => Promise<Played>,
  of: History,
): Promise<Played> {
  const server = inject("postgresUrl");
  const [one, other] = [await createEmptyDatabase(server), await createEmptyDatabase(server)];
  try {
    return await history([one.url, other.url], of);
  } finally {
    for (const database of [one, other]) await database.drop();
  }
}

test.each(seeds)("seed %i: what is healed meanwhile is what a new index has", async (seed) => {
  const { healed, fresh } = await play(healAtRandom, { seed, isSubgraphCompatible: seed % 2 === 0 });
  expect(healed).toEqual(fresh);
  expect(healed.checksum).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
});

test.each(seeds)("seed %i: each block reads like an index that stopped there", async (seed) => {
  const played = await play(readPastAtRandom, { seed, isSubgraphCompatible: seed % 2 === 0 });
  const { found, expected, blocks } = played;
  for (let block = blocks.from; block <= blocks.to; block++)
    expect([block, found[block]]).toEqual([block, expected[block]]);
  expect(blocks.to).toBeGreaterThan(70);
});
