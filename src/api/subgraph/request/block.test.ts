import { expect, test } from "vitest";
import { QueryError } from "../schema/errors.ts";
import { type PastSource, pinnedPosition } from "./block.ts";

const blockAt = (number: number) => ({
  ...{ number, timestamp: 1_000 + number, hash: `0x${number}`, parentHash: `0x${number - 1}` },
});
const past: PastSource = {
  ...{ fromSql: "", branchSql: "", start: 50 },
  momentOf: ({ number }) => ({ schemas: [], position: String(number), isKept: "true" }),
  find: async (by) => blockAt("number" in by ? by.number : Number(by.hash)),
  firstFrom: async (time) => time - 1_000,
};
const latest = { head: blockAt(100), deployment: "one", branch: [] };

// graph-node: a block before the first one that a deployment has data of.
test.each([
  [{ kind: "number", number: 49 } as const, 0, 50],
  [{ kind: "hash", hash: "0x31" } as const, 0, 50],
  [{ kind: "number", number: 60 } as const, 1_070, 70],
  [{ kind: "number", number: 40 } as const, 1_045, 50],
])("block %j, of what is kept from second %i on, is before block %i", async (constraint, from, earliest) => {
  const found = await pinnedPosition(constraint, past, { ...latest, from });
  expect(found instanceof QueryError && found.message).toContain(
    `subgraph one only has data starting at block number ${earliest} and data for block number`,
  );
});

test("the first indexed block can be read", async () => {
  const found = await pinnedPosition({ kind: "number", number: 50 }, past, { ...latest, from: 0 });
  expect(found).toEqual({ head: blockAt(50), moment: past.momentOf(blockAt(50)) });
});
