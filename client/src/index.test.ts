import { afterAll, describe, expect, test } from "vitest";
import { openActions } from "../../src/api/ensnode/registrar-actions.ts";
import { createDatabase } from "../../src/read/sql/client.ts";
import { type ApiContext, endpoints } from "../../src/service/endpoints.ts";
import { createActionsDatabase, subregistries } from "../../test/support/actions.ts";
import { chainOf, currentStatus, openEndpoints } from "../../test/support/endpoints.ts";
import {
  alice,
  bob,
  createStoredNames,
  later,
  now,
  publicResolver,
} from "../../test/support/lookups/stored-names.ts";
import { ApiError, createClient, UnavailableError } from "./index.ts";

// The client against the endpoints of the service, over rows that docs/names.md tells apart.

const { fetch: fetchLookups, client: database, open } = await createStoredNames();
const actions = await createActionsDatabase([
  { name: "alice.eth", timestamp: 1_765_400_150, price: [7, 2] },
  { name: "bob.eth", timestamp: 1_765_400_160, type: "renewal" },
  { name: "carol.eth", timestamp: 1_765_400_170 },
]);
afterAll(() => actions.client.close());

const others = {
  ...chainOf(() => `0x${"0".repeat(192)}`),
  plugins: ["subgraph", "basenames", "registrars", "tokenscope", "protocol-acceleration"],
  status: { current: () => currentStatus() },
  clock: () => 1_768_400_395_000,
  subregistries,
  actions: openActions(actions.database, undefined),
  database: createDatabase(database),
  names: { managedNames: ["eth"], inactiveNames: [], rootManagedName: "eth", nameWrappers: [] },
};
const { fetch: fetchOthers } = openEndpoints(
  endpoints.filter(({ path }) => path.startsWith("/api/")),
  others as unknown as ApiContext,
);

const url = "http://index.test";

/** A client of the endpoints, and the requests that it sends. */
function openClient() {
  const requests: string[] = [];
  const fetch = (async (input: string, init: RequestInit) => {
    const path = input.slice(url.length);
    requests.push(`${init.method ?? "GET"} ${path}`);
    return path.startsWith("/v1/") ? fetchLookups(path, init) : fetchOthers(path, init);
  }) as unknown as typeof globalThis.fetch;
  return { ...createClient({ url: `${url}/`, fetch }), requests };
}

async function readAll<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) found.push(one);
  return found;
}

describe("names", () => {
  test("calls made together are one lookup", async () => {
    const { name, requests } = openClient();
    const [plain, unknown, records] = await Promise.all([
      name("plain.eth"),
      name("nobody.eth"),
      name("records.eth"),
    ]);
    expect(plain).toMatchObject({ status: "active", owner: alice, manager: bob, expires_at: String(later) });
    expect(unknown).toBeNull();
    expect(records?.records?.texts).toEqual({ avatar: null, url: "https://ens.domains" });
    expect(requests).toEqual(["POST /v1/lookup"]);
  });

  test("calls of two events are two lookups", async () => {
    const { name, requests } = openClient();
    const second = new Promise((resolve) => setTimeout(() => resolve(name("records.eth")), 0));
    await Promise.all([name("plain.eth"), second]);
    expect(requests).toEqual(["POST /v1/lookup", "POST /v1/lookup"]);
  });

  test("a text that is no name fails by itself", async () => {
    const { name, names } = openClient();
    const [bad, good] = await Promise.allSettled([name("a..eth"), name("plain.eth")]);
    expect(bad).toMatchObject({
      reason: { name: "ApiError", status: 400, code: "invalid_name", field: "name" },
    });
    expect(good).toMatchObject({ value: { name: "plain.eth" } });
    const results = await names(["PLAIN.eth", "a..eth", "nobody.eth"]);
    expect(results.map(({ status }) => status)).toEqual(["ok", "invalid_name", "not_found"]);
  });

  test("names as of a moment", async () => {
    const { names, requests } = openClient();
    const [plain] = await names(["plain.eth"], { at: now });
    expect(plain).toMatchObject({ status: "ok", record: { owner: alice } });
    expect(requests).toEqual([`POST /v1/lookup?at=${now}`]);
  });

  test("more names than a lookup takes are several lookups", async () => {
    const { names, requests } = openClient();
    const results = await names(Array.from({ length: 1_200 }, (_, index) => `name${index}.eth`));
    expect(results.map(({ input }) => input["name"]).slice(499, 501)).toEqual(["name499.eth", "name500.eth"]);
    expect(requests.length).toBe(3);
  });

  test("records, subnames, primary names", async () => {
    const { records, subnames, primaryName, primaryNames } = openClient();
    const found = await records("records.eth", { keys: "addr:60,text:url,text:none", source: "indexed" });
    expect(found.resolver).toEqual({ chain_id: 1, address: publicResolver });
    expect(found.records["text:url"]).toMatchObject({ status: "ok", value: "https://ens.domains" });
    expect(found.records["text:none"]?.status).toBe("not_found");
    expect((await readAll(subnames("plain.eth"))).map(({ name }) => name)).toEqual([
      "child.plain.eth",
      "ownerless.plain.eth",
    ]);
    const primary = await primaryName(bob, { coin_type: 2_147_483_648 });
    expect(primary.answers[0]).toMatchObject({ status: "ok", name: "records.eth" });
    expect((await primaryNames(alice, { chainIds: "1,8453" })).names).toEqual({ "1": null, "8453": null });
  });
});

describe("lists", () => {
  test("are read page by page, or one page at a time", async () => {
    const { namesOf, requests } = openClient();
    const all = await readAll(namesOf(bob));
    expect(all.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["anew.eth", "plain.eth", "records.eth"]),
    );
    expect(await readAll(namesOf(bob, { page_size: 2 }))).toEqual(all);
    expect(requests.length).toBe(1 + Math.ceil(all.length / 2));
    const first = await namesOf(bob, { page_size: 2 }).page();
    const second = await namesOf(bob, { page_size: 2 }).page({ cursor: first.next ?? "" });
    expect([...first.data, ...second.data]).toEqual(all.slice(0, 4));
  });

  test("search, expiries, permissions, histories, events", async () => {
    const client = openClient();
    const namesIn = async (list: AsyncIterable<{ name: string }>) =>
      (await readAll(list)).map(({ name }) => name);
    expect(await namesIn(client.search("pla"))).toEqual(["plain.eth"]);
    const due = { namespace: "ens", expires_after: later, expires_before: later + 1 };
    expect(await namesIn(client.expiries(due))).toEqual(expect.arrayContaining(["plain.eth", "wrapped.eth"]));
    const powers = await readAll(client.permissions({ name: "plain.eth" }));
    expect(powers.map(({ address, powers }) => [address, powers])).toEqual([
      [alice, ["registration_control"]],
    ]);
    expect(await readAll(client.history("plain.eth", { type: "renewal" }))).toEqual([]);
    expect(await readAll(client.addressHistory(alice))).toEqual([]);
    expect(await readAll(client.events({ type: "registration" }))).toEqual([]);
  });

  test("registrar actions, whose pages have numbers", async () => {
    const list = openClient().registrarActions({ recordsPerPage: "2" });
    expect((await readAll(list)).map(({ name }) => name)).toEqual(["carol.eth", "bob.eth", "alice.eth"]);
    expect(await list.page({ cursor: "2" })).toMatchObject({
      data: [{ action: { pricing: { total: { currency: "ETH", amount: "9" } } } }],
      ...{ next: null, total: 3 },
    });
  });
});

describe("errors have the service's reason, and the field that it is about", () => {
  const { search, registrarActions, history, nameTokens } = openClient();
  test.each<[string, () => Promise<unknown>, object]>([
    [
      "/v1",
      () => search("a", { page_size: 0 }).page(),
      { status: 400, code: "invalid_input", field: "page_size" },
    ],
    [
      "/api",
      () => registrarActions({ node: "0x1" }).page(),
      { status: 400, field: "node", reason: expect.stringContaining("node") },
    ],
    ["not found", () => history("nobody.eth").page(), { status: 404, code: "not_found" }],
    [
      "of ENSNode",
      () => nameTokens({ name: "nobody.eth" }),
      {
        ...{ status: 404, code: "name-tokens-not-indexed" },
        reason: "No indexed tokens for this name No token of nobody.eth was seen on the indexed chains.",
      },
    ],
  ])("%s", async (_, call, expected) => {
    const error = await call().catch((error) => error);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject(expected);
  });
});

test("other routes are read as they are", async () => {
  const { get } = openClient();
  const { data } = await get<{ data: { name: string } }>("/v1/names/plain.eth", { include: "counts" });
  expect(data.name).toBe("plain.eth");
});

test("the URL of an avatar", () => {
  expect(createClient({ url: "https://index.test" }).avatarUrl("a/b.eth", "sepolia")).toBe(
    "https://index.test/sepolia/avatar/a%2Fb.eth",
  );
});

test("an answer is never older than the newest that the client has had, on each chain", async () => {
  const names = open();
  const at = { number: 1_000, timestamp: later };
  const following = { chainStatus: "chain-following", latestIndexedBlock: at, latestKnownBlock: at };
  const { chains } = names.context.status.current().snapshot.omnichainSnapshot;
  Object.assign(chains, { "1": following, "8453": following });
  const asked: string[] = [];
  const fetch = (async (input: string, init: RequestInit) => {
    asked.push(new URL(input).searchParams.get("min_block") ?? "");
    return names.fetch(input.slice(url.length), init);
  }) as unknown as typeof globalThis.fetch;
  const client = createClient({ url, fetch, retries: 0 });
  await client.name("plain.eth");
  await client.history("plain.eth").page();
  at.number = 999;
  const error = await client
    .history("plain.eth")
    .page()
    .catch((error) => error);
  expect(error).toBeInstanceOf(UnavailableError);
  expect(error).toMatchObject({ code: "stale", retryAfter: 1 });
  at.number = 1_002;
  await client.name("plain.eth");
  client.requireBlock(1, 1_001);
  client.requireBlock(8453, 1_003);
  await client.get("/v1/status");
  await client.name("plain.eth").catch(() => undefined);
  expect(asked).toEqual([
    ...["", "1:1000,8453:1000", "1:1000,8453:1000", "1:1000,8453:1000"],
    ...["", "1:1002,8453:1003"],
  ]);
});
