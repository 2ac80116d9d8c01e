import fc from "fast-check";
import { namehash } from "viem";
import { afterAll, describe, expect, test } from "vitest";
import {
  actionId,
  createActionsDatabase,
  type GivenAction,
  insertAction,
  subregistries,
} from "../../../test/support/actions.ts";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { type ActionFilter, openActions, registrarActions } from "./registrar-actions.ts";

const eth = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const baseEth = "0xff1e3c0eb00ec714e34b6114125fbde1dea2f24a72fbf672e7b7fd5690328e10";
const referrer = "0x0000000000000000000000005a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01";
const registrant = "0x2c7d9e1f4b6a8035d7c9e1f3a5b7092846c8eaf0";

// Newest first, as in the responses.
const given: GivenAction[] = [
  {
    name: "moonlamp.eth",
    timestamp: 1_765_400_160,
    logIndex: 9,
    referrer,
    price: [1_603, 40],
    registrant,
  },
  { name: "alice.base.eth", timestamp: 1_765_400_150 },
  { name: "bob.eth", timestamp: 1_765_400_150, logIndex: 2, type: "renewal", price: [7, 0] },
  { name: "alice.eth", timestamp: 1_765_400_150, logIndex: 1, referrer: `0x${"0".repeat(64)}` },
  { name: "bob.eth", timestamp: 1_765_400_140, referrer: `0x${"f".repeat(64)}` },
];
const names = given.map(({ name }) => name);

const opened = await createActionsDatabase(given.toReversed());
afterAll(() => opened.client.close());

type Tree = { errors: string[]; properties: Record<string, { errors: string[] }> };
type Body = {
  registrarActions: { action: Record<string, unknown>; name: string }[];
  pageContext: Record<string, unknown>;
  accurateAsOf: number;
  details: Tree;
};

function createRoutes() {
  const { ask } = openEndpoints(registrarActions, {
    plugins: ["subgraph", "basenames", "registrars"],
    subregistries,
    status: { current: () => currentStatus() },
    actions: openActions(opened.database, undefined),
  });
  const get = async (path: string) => {
    const { status, headers, body } = await ask(`/api/registrar-actions${path.replace(/^\/(?=\?|$)/, "")}`);
    return { status, link: headers.get("link"), body: body as Body };
  };
  const namesAt = async (path: string) => (await get(path)).body.registrarActions?.map(({ name }) => name);
  return { get, namesAt };
}

describe("a response", () => {
  // What an action looks like, chains.test.ts compares for each of the recorded chains.
  test("says which page it is of how many, and leads to the others", async () => {
    const { status, body, link } = await createRoutes().get("/?recordsPerPage=1");
    expect(status).toBe(200);
    expect(body).toEqual({
      responseCode: "ok",
      registrarActions: [
        { action: expect.objectContaining({ id: actionId(given[0]!) }), name: "moonlamp.eth" },
      ],
      pageContext: {
        page: 1,
        recordsPerPage: 1,
        totalRecords: 5,
        totalPages: 5,
        hasNext: true,
        hasPrev: false,
        startIndex: 0,
        endIndex: 0,
      },
      accurateAsOf: 1_768_400_395,
    });
    expect(link).toBe(
      '</api/registrar-actions?recordsPerPage=1&page=1>; rel="first", </api/registrar-actions?recordsPerPage=1&page=2>; rel="next", </api/registrar-actions?recordsPerPage=1&page=5>; rel="last"',
    );
  });

  test("has nulls where no controller reported prices and referrer", async () => {
    const { body } = await createRoutes().get(`/${baseEth}`);
    expect(body.registrarActions[0]?.action).toMatchObject({
      pricing: { baseCost: null, premium: null, total: null },
      referral: { encodedReferrer: null, decodedReferrer: null },
    });
    expect(body.accurateAsOf).toBe(1_768_400_395);
  });

  test("is sorted by time and, within a second, by id", async () => {
    expect(await createRoutes().namesAt("/")).toEqual(names);
  });
});

describe("filters", () => {
  test.each<[string, number[]]>([
    [`/${eth}`, [0, 2, 3, 4]],
    [`/${eth.toUpperCase().replace("0X", "0x")}`, [0, 2, 3, 4]],
    [`/${baseEth}`, [1]],
    [`/0x${"ab".repeat(32)}`, []],
    ["/?withReferral=true", [0, 4]],
    ["/?withReferral=false", [0, 1, 2, 3, 4]],
    ["/?decodedReferrer=0x5a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01", [0]],
    ["/?beginTimestamp=1765400150", [0, 1, 2, 3]],
    ["/?beginTimestamp=1765400151", [0]],
    ["/?endTimestamp=1765400150", [1, 2, 3, 4]],
    ["/?beginTimestamp=1765400141&endTimestamp=1765400150", [1, 2, 3]],
    ["/?beginTimestamp=-5", [0, 1, 2, 3, 4]],
    ["/?endTimestamp=-5", []],
    ["/?beginTimestamp=99999999999", []],
    ["/?endTimestamp=99999999999", [0, 1, 2, 3, 4]],
    ["/?type=renewal", [2]],
    ["/?type=registration", [0, 1, 3, 4]],
    [`/?registrant=${registrant}`, [0]],
    ["/?registrant=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", []],
    ["/?name=bob.eth", [2, 4]],
    [`/?node=${namehash("bob.eth")}`, [2, 4]],
    [`/?name=bob.eth&node=${namehash("bob.eth")}`, [2, 4]],
    ["/?name=bob.eth&type=renewal", [2]],
    ["/?chainId=8453", [1]],
    ["/?chainId=10", []],
    [`/${eth}?chainId=8453`, []],
    [`/${eth}?withReferral=true&endTimestamp=1765400150`, [4]],
    ["/?orderBy=orderBy[timestamp]=desc", [0, 1, 2, 3, 4]],
    ["/?unknown=1&sort[orderBy[timestamp]]=desc", [0, 1, 2, 3, 4]],
  ])("%s", async (path, namespaces) => {
    expect(await createRoutes().namesAt(path)).toEqual(namespaces.map((index) => names[index]));
  });
});

describe("invalid requests", () => {
  test.each([
    ["/?page=0", "page"],
    ["/?orderBy=", "orderBy"],
    ["/?orderBy=orderBy[timestamp]=asc", "orderBy"],
    ["/?withReferral=1", "withReferral"],
    ["/?withReferral=", "withReferral"],
    ["/?decodedReferrer=0x5A1DE0C3B7F24E86D9310AB27C4F5E6D7A8B9C01", "decodedReferrer"],
    ["/?decodedReferrer=alice.eth", "decodedReferrer"],
    ["/?beginTimestamp=1.5", "beginTimestamp"],
    ["/?beginTimestamp=", "beginTimestamp"],
    ["/?endTimestamp=soon", "endTimestamp"],
    ["/?beginTimestamp=5&endTimestamp=4", "endTimestamp"],
    ["/?type=transfer", "type"],
    ["/?registrant=0x", "registrant"],
    ["/?registrant=0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "registrant"],
    ["/?node=0xab", "node"],
    ["/?name=ALICE.eth", "name"],
    ["/?name=a%00.eth", "name"],
    [`/?name=alice.eth&node=${eth}`, "name"],
    ["/?chainId=0", "chainId"],
    ["/0xab", "parentNode"],
    ["/eth", "parentNode"],
    [`/${"%27".repeat(66)}`, "parentNode"],
  ])("%s is refused, naming the parameter", async (path, parameter) => {
    const { status, body } = await createRoutes().get(path);
    expect(status).toBe(400);
    expect(body).toMatchObject({ message: "Invalid Input", details: { errors: [] } });
    expect(Object.keys(body.details.properties)).toEqual([parameter]);
    expect(body.details.properties[parameter]?.errors).toHaveLength(1);
  });
});

describe("pages and counts of many", async () => {
  const signal = AbortSignal.timeout(60_000);
  const owners = ["a.eth", "b.eth", "c.base.eth", "d.base.eth"];
  const many: GivenAction[] = Array.from({ length: 40 }, (_, index) => ({
    name: owners[(index * 7) % owners.length]!,
    type: index % 3 === 0 ? "renewal" : "registration",
    timestamp: 1_700_000_000 + Math.floor(index / 3) * 10,
    logIndex: index,
    ...(index % 5 === 0 ? { referrer: `0x${"0".repeat(24)}${"5a".repeat(20)}` as const } : {}),
  }));
  const { client, database } = await createActionsDatabase(many);
  afterAll(() => client.close());

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
    many
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
        const actions = openActions(database, undefined);
        const total = await actions.count(filter, signal);
        expect(total).toBe(expected.length);
        const found: string[] = [];
        for (let page = 1; page <= Math.ceil(total / recordsPerPage); page++) {
          const paging = { page, recordsPerPage, totalRecords: total, time: 0 };
          const rows = await actions.read(filter, paging, signal);
          found.push(...rows.map(({ action }) => action.id));
        }
        expect(found).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test("a count continues from the settled part of its filter", async () => {
    const { client, database } = await createActionsDatabase(many.slice(0, 10));
    const actions = openActions(database, undefined);
    const count = (filter: ActionFilter = {}) => actions.count(filter, signal);
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
});
