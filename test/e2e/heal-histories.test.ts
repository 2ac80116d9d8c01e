import { describe, expect, inject, test } from "vitest";
import { healAtRandom } from "../support/healed-index.ts";
import { createEmptyDatabase } from "../support/postgres.ts";

// bench/heal.ts plays more of them.
const server = inject("postgresUrl");

describe.skipIf(!server).each([
  { mode: "subgraph", isSubgraphCompatible: true },
  { mode: "multichain", isSubgraphCompatible: false },
])("in $mode mode", ({ isSubgraphCompatible }) => {
  test.each([1, 2, 3])(
    "random history %i: what is healed meanwhile is what a new index has",
    async (seed) => {
      const databases = [
        await createEmptyDatabase(server ?? ""),
        await createEmptyDatabase(server ?? ""),
      ] as const;
      const [one, other] = databases;
      const { healed, fresh } = await healAtRandom([one.url, other.url], { seed, isSubgraphCompatible });
      for (const database of databases) await database.drop();
      expect(healed).toEqual(fresh);
      expect(healed.checksum).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    },
  );
});
