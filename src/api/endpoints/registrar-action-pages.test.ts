import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  actionId,
  createActionsDatabase,
  type GivenAction,
  insertAction,
} from "../../../test/support/actions.ts";
import { type ActionFilter, actionsIn, createActionCounts, readActions } from "./registrar-actions.ts";

const signal = AbortSignal.timeout(60_000);
const names = ["a.eth", "b.eth", "c.base.eth", "d.base.eth"];
const given: GivenAction[] = Array.from({ length: 40 }, (_, index) => ({
  name: names[(index * 7) % names.length]!,
  type: index % 3 === 0 ? "renewal" : "registration",
  timestamp: 1_700_000_000 + Math.floor(index / 3) * 10,
  logIndex: index,
  ...(index % 5 === 0 ? { referrer: `0x${"0".repeat(24)}${"5a".repeat(20)}` as const } : {}),
}));

let opened: Awaited<ReturnType<typeof createActionsDatabase>>;
beforeAll(async () => {
  opened = await createActionsDatabase(given);
});
afterAll(() => opened.client.close());

const filters = fc.record(
  {
    type: fc.constantFrom("registration" as const, "renewal" as const),
    withReferral: fc.boolean(),
    beginTimestamp: fc.integer({ min: 1_699_999_990, max: 1_700_000_150 }),
    endTimestamp: fc.integer({ min: 1_699_999_990, max: 1_700_000_150 }),
    subregistryIds: fc.constantFrom([], ["eip155:8453:0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a"]),
  },
  { requiredKeys: [] },
);

const matching = (filter: ActionFilter) =>
  given
    .filter(
      (action) =>
        (filter.type === undefined || action.type === filter.type) &&
        (!filter.withReferral || action.referrer !== undefined) &&
        action.timestamp >= (filter.beginTimestamp ?? 0) &&
        action.timestamp <= (filter.endTimestamp ?? Number.POSITIVE_INFINITY) &&
        (filter.subregistryIds === undefined ||
          (filter.subregistryIds.length > 0 && action.name.endsWith(".base.eth"))),
    )
    .map(actionId)
    .sort()
    .reverse();

test("pages of any filter hold the matching actions, newest first", async () => {
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 15 }), async (filter, recordsPerPage) => {
      const expected = matching(filter);
      const total = await createActionCounts(opened.database)(filter, signal);
      expect(total).toBe(expected.length);
      const found: string[] = [];
      for (let page = 1; page <= Math.ceil(total / recordsPerPage); page++) {
        const paging = { page, recordsPerPage, totalRecords: total, time: 0 };
        const rows = await readActions(actionsIn(opened.database, undefined), filter, paging, signal);
        found.push(...rows.map(({ action }) => action.id));
      }
      expect(found).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

test("a count continues from the settled part of its filter", async () => {
  const { client, database } = await createActionsDatabase(given.slice(0, 10));
  const countOf = createActionCounts(database);
  const count = (filter: ActionFilter = {}) => countOf(filter, signal);
  expect(await count()).toBe(10);
  await insertAction(client, { name: "e.eth", timestamp: 1_700_001_000 }, 1_700_000_025);
  expect(await count()).toBe(11);
  await insertAction(client, { name: "f.eth", timestamp: 1_700_002_000 }, 1_700_001_500);
  expect(await count()).toBe(12);
  // A finalized checkpoint behind an earlier one settles nothing.
  await insertAction(client, { name: "g.eth", timestamp: 1_700_003_000 }, 1_600_000_000);
  expect(await count()).toBe(13);
  // The settled part is not read again, and filters are counted apart.
  await client.query("DELETE FROM registrar_actions WHERE timestamp <= 1700000020");
  expect(await count()).toBe(13);
  expect(await count({ type: "registration" })).toBeLessThan(7);
  await client.close();
});
