import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  actionId,
  createActionsDatabase,
  type GivenAction,
  insertAction,
} from "../../../test/support/actions.ts";
import {
  type ActionCount,
  type ActionFilter,
  actionsIn,
  countActions,
  createActionCounts,
  readActions,
} from "./registrar-actions.ts";

const signal = AbortSignal.timeout(60_000);
const names = ["a.eth", "b.eth", "c.base.eth", "d.base.eth"];
const given: GivenAction[] = Array.from({ length: 40 }, (_, place) => ({
  name: names[(place * 7) % names.length]!,
  type: place % 3 === 0 ? "renewal" : "registration",
  timestamp: 1_700_000_000 + Math.floor(place / 3) * 10,
  logIndex: place,
  ...(place % 5 === 0 ? { referrer: `0x${"0".repeat(24)}${"5a".repeat(20)}` as const } : {}),
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
      const { total } = await countActions(opened.database, filter, undefined, signal);
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

test("a count continues from the settled part", async () => {
  const { client, database } = await createActionsDatabase(given.slice(0, 10));
  const count = (before?: Awaited<ReturnType<typeof countActions>>) =>
    countActions(database, {}, before, signal);
  const none = await count();
  expect(none).toMatchObject({ settled: 0, total: 10 });

  await insertAction(client, { name: "e.eth", timestamp: 1_700_001_000 }, 1_700_000_025);
  const some = await count(none);
  expect(some).toMatchObject({ settled: 9, total: 11 });

  await insertAction(client, { name: "f.eth", timestamp: 1_700_002_000 }, 1_700_001_500);
  expect(await count(some)).toMatchObject({ settled: 11, total: 12 });

  // The settled part is not read again.
  await client.query("DELETE FROM registrar_actions WHERE timestamp <= 1700000020");
  expect(await count(some)).toMatchObject({ total: 12 });
  await client.close();
});

test("a finalized checkpoint behind an earlier one settles nothing", async () => {
  const { client, database } = await createActionsDatabase(given.slice(0, 10));
  await insertAction(client, { name: "e.eth", timestamp: 1_700_001_000 }, 1_700_000_020);
  const before = await countActions(database, {}, undefined, signal);
  await insertAction(client, { name: "f.eth", timestamp: 1_700_002_000 }, 1_600_000_000);
  const after = await countActions(database, {}, before, signal);
  expect(after).toEqual({ settledUpTo: before.settledUpTo, settled: before.settled, total: 12 });
  await client.close();
});

// Results of the requests for a count, in order.
function createCounts(results: (ActionCount | Error)[]) {
  const asked: (ActionCount | undefined)[] = [];
  const countOf = createActionCounts(async (_, before) => {
    asked.push(before);
    const result = results[asked.length - 1];
    if (result === undefined || result instanceof Error) throw result ?? new Error("one count too many");
    return result;
  });
  return { countOf, asked };
}
const first = { settledUpTo: "1", settled: 3, total: 5 };
const second = { settledUpTo: "2", settled: 5, total: 6 };

test("counts once per head, also for concurrent requests", async () => {
  const { countOf, asked } = createCounts([first]);
  expect(await Promise.all([countOf({}, "1:7"), countOf({}, "1:7")])).toEqual([5, 5]);
  expect(await countOf({}, "1:7")).toBe(5);
  expect(asked).toEqual([undefined]);
});

test("counts on from the previous number when the head has moved", async () => {
  const { countOf, asked } = createCounts([first, second]);
  await countOf({}, "1:7");
  expect(await countOf({}, "1:8")).toBe(6);
  expect(asked).toEqual([undefined, first]);
});

test("keeps filters separate", async () => {
  const { countOf, asked } = createCounts([first, second]);
  expect(await countOf({ type: "renewal" }, "1:7")).toBe(5);
  expect(await countOf({ type: "registration" }, "1:7")).toBe(6);
  expect(asked).toEqual([undefined, undefined]);
});

test("forgets a failed count, not the previous one", async () => {
  const { countOf, asked } = createCounts([first, new Error("no database"), second]);
  await countOf({}, "1:7");
  await expect(countOf({}, "1:8")).rejects.toThrow("no database");
  expect(await countOf({}, "1:8")).toBe(6);
  expect(asked).toEqual([undefined, first, first]);
});
