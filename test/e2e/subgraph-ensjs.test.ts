import { addEnsContracts } from "@ensdomains/ensjs";
import {
  getDecodedName,
  getNameHistory,
  getNamesForAddress,
  getSubgraphRecords,
  getSubgraphRegistrant,
  getSubnames,
} from "@ensdomains/ensjs/subgraph";
import { serve } from "@hono/node-server";
import { createPublicClient, custom, getAddress } from "viem";
import { mainnet } from "viem/chains";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Entity } from "../../devnet/entities.ts";
import { recordedEntities } from "../support/recordings.ts";
import { createEndpoint, createRecordedDatabase } from "../support/subgraph/endpoint.ts";

const dump = recordedEntities();
const domains = dump["Domain"]!;
const registrations = new Map(dump["Registration"]!.map((entity) => [entity["domain"], entity]));
const account = "0x14dc79964da2c08b23698b3d3cc7ca32193d9955";
const eth = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const reverse = "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2";
const zero = `0x${"0".repeat(40)}`;
const keys = ["owner", "registrant", "resolvedAddress", "wrappedOwner"] as const;
const sorts = ["name", "labelName", "createdAt", "expiryDate"] as const;
const directions = ["asc", "desc"] as const;

let close: () => Promise<void>;
let client: Parameters<typeof getNamesForAddress>[0];

beforeAll(async () => {
  const database = await createRecordedDatabase();
  // A test that takes longer than an idle connection lasts would find it closed.
  const serverOptions = { keepAliveTimeout: 600_000 };
  const server = serve({ fetch: createEndpoint(database).app.fetch, port: 0, serverOptions });
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const chain = { ...addEnsContracts(mainnet), subgraphs: { ens: { url: `http://127.0.0.1:${port}/` } } };
  // The functions under test ask the subgraph alone.
  const transport = custom({
    request: async ({ method }) => Promise.reject(new Error(`Unexpected ${method}`)),
  });
  client = createPublicClient({ chain, transport }) as unknown as typeof client;
  close = async () => {
    server.close();
    await database.close();
  };
});
afterAll(() => close());

const now = () => Math.floor(Date.now() / 1000);
const isLive = (domain: Entity) => domain["expiryDate"] === null || Number(domain["expiryDate"]) > now();
const isKept = (domain: Entity) =>
  domain["owner"] !== zero ||
  domain["resolver"] !== null ||
  (domain["registrant"] !== zero && domain["registrant"] !== null);
const isNumber = (key: string) => key === "createdAt" || key === "expiryDate";

/** Ids of the domains, sorted as the original sorts: nulls last ascending, ids break ties. */
function sortedIds(some: Entity[], key: (typeof sorts)[number], direction: "asc" | "desc"): string[] {
  const value = (domain: Entity) =>
    domain[key] === null ? undefined : isNumber(key) ? Number(domain[key]) : String(domain[key]);
  const compare = (a: Entity, b: Entity) => {
    const [x, y] = [value(a), value(b)];
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined);
    return typeof x === "number" ? x - Number(y) : Buffer.compare(Buffer.from(x), Buffer.from(String(y)));
  };
  const ascending = [...some].sort((a, b) => compare(a, b) || (a.id < b.id ? -1 : 1));
  return (direction === "asc" ? ascending : ascending.reverse()).map(({ id }) => id);
}

const owned = domains.filter((domain) => keys.some((key) => domain[key] === account));
const listed = () =>
  owned.filter((domain) => domain["parent"] !== reverse && isLive(domain) && isKept(domain));

test.each(sorts.flatMap((orderBy) => directions.map((orderDirection) => ({ orderBy, orderDirection }))))(
  "getNamesForAddress by $orderBy $orderDirection",
  async ({ orderBy, orderDirection }) => {
    const names = await getNamesForAddress(client, {
      address: account,
      orderBy,
      orderDirection,
      pageSize: 1000,
    });
    expect(names.length).toBeGreaterThan(50);
    expect(names.map(({ id }) => id)).toEqual(sortedIds(listed(), orderBy, orderDirection));
    for (const { id, owner, createdAt, relation } of names) {
      const domain = domains.find((entity) => entity.id === id)!;
      expect(owner).toBe(getAddress(String(domain["owner"])));
      expect(createdAt.value).toBe(Number(domain["createdAt"]) * 1000);
      expect(relation).toEqual(
        Object.fromEntries(
          keys.filter((key) => domain[key] !== null).map((key) => [key, domain[key] === account]),
        ),
      );
    }
  },
);

test.each(directions)("getNamesForAddress page by page, by createdAt %s", async (orderDirection) => {
  type Page = NonNullable<Parameters<typeof getNamesForAddress>[1]["previousPage"]>;
  const ids: string[] = [];
  for (let previousPage: Page | undefined; ; ) {
    const options = { address: account, orderBy: "createdAt", orderDirection, pageSize: 7 } as const;
    const page = await getNamesForAddress(
      client,
      previousPage === undefined ? options : { ...options, previousPage },
    );
    if (page.length === 0) break;
    ids.push(...page.map(({ id }) => id));
    previousPage = page;
  }
  expect(ids).toEqual(sortedIds(listed(), "createdAt", orderDirection));
});

test.each(keys)("getNamesForAddress by the relation %s alone, everything allowed", async (key) => {
  const filter = {
    owner: false,
    registrant: false,
    resolvedAddress: false,
    wrappedOwner: false,
    [key]: true,
    allowExpired: true,
    allowDeleted: true,
    allowReverseRecord: true,
  };
  const names = await getNamesForAddress(client, { address: account, filter, pageSize: 1000 });
  expect(names.map(({ id }) => id)).toEqual(
    sortedIds(
      domains.filter((domain) => domain[key] === account),
      "name",
      "asc",
    ),
  );
});

test.each(["labelName", "name"] as const)("getNamesForAddress with a search in %s", async (searchType) => {
  const filter = { searchString: "ka", searchType, allowExpired: true };
  const names = await getNamesForAddress(client, { address: account, filter, pageSize: 1000 });
  const found = owned.filter(
    (domain) =>
      domain["parent"] !== reverse && isKept(domain) && String(domain[searchType] ?? "").includes("ka"),
  );
  expect(found.length).toBeGreaterThan(1);
  expect(names.map(({ id }) => id)).toEqual(sortedIds(found, "name", "asc"));
});

test.each(sorts.flatMap((orderBy) => directions.map((orderDirection) => ({ orderBy, orderDirection }))))(
  "getSubnames of eth by $orderBy $orderDirection",
  async ({ orderBy, orderDirection }) => {
    const names = await getSubnames(client, {
      name: "eth",
      orderBy,
      orderDirection,
      allowExpired: true,
      pageSize: 1000,
    });
    const below = domains.filter(
      (domain) =>
        domain["parent"] === eth &&
        (domain["owner"] !== zero || domain["resolver"] !== null || (domain["registrant"] ?? zero) !== zero),
    );
    expect(names.map(({ id }) => id)).toEqual(sortedIds(below, orderBy, orderDirection));
  },
);

test("getNameHistory of a name whose resolver was once set to zero", async () => {
  const node = "0x2118ba98b2a98c3fe13e55ed3864b8adc5a6a324f991bf7a0484dd7d8f4668c1";
  const history = await getNameHistory(client, { name: "quaqua.eth" });
  const domain = domains.find(({ id }) => id === node)!;
  const idsOf = (relation: string, id: unknown) =>
    Object.entries(dump)
      .flatMap(([type, entities]) => (relation === "resolver" && type === "NewResolver" ? [] : entities))
      .filter((entity) => "blockNumber" in entity && entity[relation] === id)
      .map((entity) => entity.id)
      .sort();
  expect(history?.domainEvents.map(({ id }) => id)).toEqual(idsOf("domain", node));
  expect(history?.registrationEvents?.map(({ id }) => id)).toEqual(
    idsOf("registration", registrations.get(node)?.id),
  );
  expect(history?.resolverEvents?.map(({ id }) => id)).toEqual(idsOf("resolver", domain["resolver"]));
});

test("getSubgraphRecords, getSubgraphRegistrant and getDecodedName", async () => {
  const node = "0xcd0e43a76bbcbf76bfb2d72aef62ab5c5b76620657502a90226409c389013bb8";
  const domain = domains.find(({ id }) => id === node)!;
  const resolver = dump["Resolver"]!.find(({ id }) => id === domain["resolver"])!;
  expect(await getSubgraphRecords(client, { name: "nodel.eth" })).toMatchObject({
    isMigrated: domain["isMigrated"],
    texts: resolver["texts"] ?? [],
    coins: resolver["coinTypes"] ?? [],
  });
  expect(await getSubgraphRegistrant(client, { name: "nodel.eth" })).toBe(
    getAddress(String(registrations.get(node)?.["registrant"])),
  );
  expect(await getSubgraphRegistrant(client, { name: "nobody-has-this.eth" })).toBeNull();
  const hash = String(domain["labelhash"]).slice(2);
  expect(await getDecodedName(client, { name: `[${hash}].eth` })).toBe("nodel.eth");
});
