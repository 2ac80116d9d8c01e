import { describe, expect, test } from "vitest";
import { chainOf, currentStatus } from "../../../test/support/endpoints.ts";
import {
  alice,
  bob,
  carol,
  createStoredNames,
  everyName,
  later,
  now,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";
import { asOfWithToken, isTokenOf, withGaps } from "../../read/as-of.ts";
import { requireLatest } from "./contract.ts";

// What the routes under /v1 have in common: members of rows, faults of requests, and what is sent again.
const { fetch, get, post, open } = await createStoredNames();

describe("the members of rows, by the tables of the format", () => {
  const identity = ["name", "display_name", "namespace", "namehash"];
  const dates = ["expires_at", "grace_ends_at", "expires_at_reason"];
  const life = ["owner", "manager", "registered_at", "created_at", ...dates, "authority", "ens_v1"];
  const located = ["chain_id", "network"];
  const detail = [
    ...["status", ...life, ...located, "lapsed_registration", "migrated_at", "registration_id", "token_id"],
    ...["resolver", "subregistry", "records", "primary_address", "primary_name"],
    ...["subname_count", "record_count", "unsupported_fields"],
    ...["unresolvable_reason", "resolution_unsupported_reason", "unsupported_reason", "failure_reason"],
  ];
  const reverse = ["is_primary", "relations", "resolution", "resolutions"];
  const counts = ["permission_resource_id", "record_count", "subname_count"];
  const feed = ["status", ...dates, "ens_v1", "lapsed_registration", "subregistry", ...located, ...reverse];
  // What this API adds, in any row.
  const ours = ["in_grace", "wrapper", "is_primary_verified"];
  const ofWrapper = ["state", "fuses", "expires_at", "expires_at_reason"].map(
    (member) => `wrapper_${member}`,
  );

  type Facts = Record<string, unknown>;
  const rowsOf = async (path: string) => [(await get(path)).data].flat() as unknown as Facts[];
  const lookedUp = async (profile: string) => {
    const inputs = [
      ...everyName.map((name) => ({ name })),
      ...[alice, bob, carol].map((address) => ({ address })),
    ];
    const { data } = await post({ inputs, profile });
    expect(data.every(({ status }) => status === "ok")).toBe(true);
    return data.flatMap(({ record, records }) =>
      [record, records].flat().filter(Boolean),
    ) as unknown as Facts[];
  };
  const ofRow = [...identity, "read_status"];
  const ofItem = [...identity, "status"];
  const ofAddress = [...life, "lapsed_registration", ...counts, "resolution"];
  test.each<[string, () => Promise<Facts[]>, required: string[], optional: string[]]>([
    [
      "a name",
      async () => (await Promise.all(everyName.map((name) => rowsOf(`/v1/names/${name}`)))).flat(),
      ofRow,
      detail,
    ],
    ["a lookup in detail", () => lookedUp("detail"), ofRow, [...detail, ...reverse]],
    ["a lookup for a feed", () => lookedUp("feed"), ofRow, feed],
    ["a search", () => rowsOf("/v1/search?q=e&match=contains&page_size=200"), ofItem, life],
    ["a search by relevance", () => rowsOf("/v1/search?q=wrapped&sort=relevance"), ofItem, life],
    [
      "deadlines",
      () => rowsOf(`/v1/names?namespace=ens&expires_window=1..${later + 1}`),
      ofItem,
      [...life, "lapsed_registration", "expires_window_index"],
    ],
    [
      "subnames",
      () => rowsOf("/v1/names/wrapped.eth/subnames"),
      ofItem,
      [...life, "labelhash", "subname_count", "subregistry"],
    ],
    ...["", "?relation=former_owner"].map((query): [string, () => Promise<Facts[]>, string[], string[]] => [
      `names of an address${query}`,
      () => rowsOf(`/v1/addresses/${alice}/names${query}`),
      [...ofItem, "relations", "is_primary"],
      ofAddress,
    ]),
  ])("%s", async (_, read, required, optional) => {
    const rows = await read();
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) {
      expect(Object.keys(row)).toEqual(expect.arrayContaining(required));
      expect([...required, ...optional, ...ours]).toEqual(expect.arrayContaining(Object.keys(row)));
      // A date that is null says why; a name of ENSv1 has what ENSv1 says of it.
      expect("expires_at_reason" in row).toBe(row["expires_at"] === null);
      const { ens_v1: first } = row as { ens_v1?: Facts };
      if (first === undefined) continue;
      const members = ["expires_at", "resolver"];
      expect(Object.keys(first)).toEqual(expect.arrayContaining(members));
      expect([...members, ...ofWrapper]).toEqual(expect.arrayContaining(Object.keys(first)));
    }
  });
});

test("answers are sent again only if they have changed, and caches have them until the next block is due", async () => {
  // Mainnet's newest block is five seconds old.
  const freshness = "public, max-age=0, s-maxage=7";
  for (const path of [
    "/v1/names/plain.eth",
    "/v1/search?q=plain",
    "/v1/events",
    `/v1/addresses/${alice}/names`,
    "/v1/names/records.eth/records",
    `/v1/addresses/${alice}/calendar.ics`,
  ]) {
    const ask = (headers: Record<string, string>) => fetch(path, { headers });
    const first = await ask({});
    const tag = first.headers.get("etag") ?? "";
    expect([first.status, first.headers.get("cache-control"), tag]).toEqual([
      200,
      freshness,
      expect.stringMatching(/^W\/"[\w-]+"$/),
    ]);
    const again = await ask({ "if-none-match": `"other", ${tag}` });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag]);
    expect((await ask({ "if-none-match": '"other"' })).status).toBe(200);
  }
  // That the index never saw a name changes with an event of it.
  const unknown = await fetch("/v1/names/missing.eth");
  expect([unknown.status, unknown.headers.get("cache-control")]).toEqual([404, freshness]);
  const wrong = await fetch("/v1/names/plain.eth?inclde=counts");
  expect([wrong.headers.get("etag"), wrong.headers.get("surrogate-key")]).toEqual([null, null]);
});

describe("what is wrong with a request", () => {
  const namesOfAlice = `/v1/addresses/${alice}/names`;
  const formerOfAlice = `${namesOfAlice}?relation=former_owner`;
  const due = "/v1/names?namespace=ens";
  const calendar = `/v1/addresses/${alice}/calendar.ics`;
  const deadlineNeeded = "Give expires_after or expires_before, or expires_window, or the same of grace_ends";
  const badWindow = "expires_window must be <from>..<to>, at most 32 times, none within another";
  const windows = (count: number) =>
    Array.from({ length: count }, (_, at) => `&expires_window=${2 * at}..${2 * at + 1}`).join("");
  const notIndexed = 'The namespace "ons" is not indexed; indexed: ens, basenames, lineanames, threedns';
  const latestAlone = "finality must be latest because collection routes read latest state";
  const inOrder = (from: string, to: string) => `${from} must be less than or equal to ${to}`;

  test.each<[string, string | RegExp, status?: number]>([
    ["/v1/names/a..eth", "The name is invalid: it has an empty label"],
    ["/v1/names/missing.eth", "The index has never seen this name", 404],
    ["/v1/names/plain.eth?inclde=counts", "unknown query parameter: inclde"],
    ["/v1/names/plain.eth?include=counts,roles", "include must contain only counts"],
    ["/v1/names/plain.eth?namespace=ons", notIndexed, 404],
    ["/v1/names/plain.eth?at=yesterday", /^at must be Unix seconds, a time of RFC 3339/],
    ["/v1/names/plain.eth/records?at=7b7d7d", /^at must be Unix seconds, a time of RFC 3339/],
    ["/v1/names/plain.eth?finality=final", "finality must be one of latest, safe, finalized"],
    [`${namesOfAlice}?at=1:x`, /^at must be Unix seconds/],
    [`${namesOfAlice}?finality=safe`, latestAlone],
    ["/v1/names/eth/subnames?finality=finalized", latestAlone],
    [`${due}&expires_after=1&finality=safe`, latestAlone],
    ["/v1/search?q=a&finality=safe", latestAlone],
    ["/v1/names/plain.eth?source=indexed&source=indexed", "source must be one of indexed"],
    [
      "/v1/names/plain.eth/history?include=x",
      "include must contain only data, raw, total_count, or child_registrations",
    ],
    ["/v1/names/plain.eth/history?type=sale", /^type must be some of registration, renewal/],
    ["/v1/names/plain.eth/records?keys=addr:60,addr:60", "keys must not contain duplicate record keys"],
    ["/v1/names/plain.eth/records?keys=dns:a", /^keys must/],
    ["/v1/names/plain.eth/records?include=counts", "include must contain only inventory"],
    [`${namesOfAlice}?cursor=abc`, "cursor must be a valid pagination cursor"],
    [`${namesOfAlice}?page_size=0`, "page_size must be an integer from 1 to 200"],
    [`${namesOfAlice}?include=roles`, "include must contain only counts, total_count, or role_summary"],
    ["/v1/names/eth/subnames?include=total_count", "include must contain only counts"],
    [
      `${namesOfAlice}?relation=owner,resolves_to`,
      "relation must be any, some of owner, manager and role_holder, or resolves_to, former_owner or owned_account alone",
    ],
    [`${namesOfAlice}?coin_type=60`, "coin_type needs relation=resolves_to"],
    [`${namesOfAlice}?expires_after=1`, "expires_after needs relation=former_owner"],
    [`${formerOfAlice}&expires_after=2&expires_before=1`, inOrder("expires_after", "expires_before")],
    [`${formerOfAlice}&sort=name`, "sort must be expires_at with relation=former_owner"],
    [`${formerOfAlice}&authority=ens_v1`, "authority is not supported with relation=former_owner"],
    [`${formerOfAlice}&is_migrated=true`, "is_migrated is not supported with relation=former_owner"],
    [
      `${formerOfAlice}&dedupe=registration`,
      "dedupe=registration is not supported with relation=former_owner",
    ],
    [
      `${namesOfAlice}?relation=resolves_to&is_migrated=false`,
      "is_migrated is not supported with relation=resolves_to",
    ],
    [`${namesOfAlice}?is_migrated=yes`, "is_migrated must be true or false"],
    [`${namesOfAlice}?authority=,`, "authority must be some of ens_v0, ens_v1, ens_v2"],
    [`${formerOfAlice}&q=a`, "q is not supported with relation=former_owner"],
    [`${formerOfAlice}&include=total_count`, "include is not supported with relation=former_owner"],
    [`${namesOfAlice}?relation=resolves_to&coin_type=EVM`, "coin_type must be decimal digits, or evm"],
    ["/v1/addresses/0x12/names", "address must be a 0x-prefixed 20-byte hex string"],
    [`/v1/addresses/${alice}/primary-name?namespace=ons`, notIndexed, 404],
    [
      `/v1/addresses/${alice}/history?from_timestamp=2&to_timestamp=1`,
      inOrder("from_timestamp", "to_timestamp"),
    ],
    [due, deadlineNeeded],
    [`${due}&expires_window=1..2&grace_ends_after=1`, deadlineNeeded],
    [`${due}&expires_after=2&expires_before=1`, inOrder("expires_after", "expires_before")],
    [`${due}&expires_window=1..2..3`, badWindow],
    [`${due}&expires_window=1..5&expires_window=4..9`, badWindow],
    [`${due}&expires_window=5..1`, badWindow],
    [`${due}${windows(33)}`, badWindow],
    [`${due}&expires_after=1&sort=grace_ends_at`, "sort must be the deadline that the window is of"],
    [
      `${due}&expires_after=1e9`,
      "expires_after must be Unix seconds or a time of RFC 3339, such as 2026-01-31T12:00:00Z",
    ],
    ["/v1/names?namespce=ens&expires_after=1", "unknown query parameter: namespce"],
    [
      `${due}&expires_after=1&authority=ens_v9`,
      "authority must be some of ens_v0, ens_v1, ens_v2 with commas between",
    ],
    [`${calendar}?alarms=0`, "alarms must be at most 5 numbers from 1 to 365"],
    [`${calendar}?alarm=1`, "unknown query parameter: alarm"],
    ["/v1/search?q=%20", "q is missing"],
    ["/v1/search?q=a&namespace=internal", /^namespace is invalid/],
    ["/v1/search?q=a_&match=contains", /^The name is invalid/],
    ["/v1/search?q=a&sort=best", /^sort must be one of name, relevance/],
    ["/v1/search?q=a&sort=relevance&match=prefix", /^match has no meaning/],
    ["/v1/search?q=&sort=relevance", /^q is missing/],
    ["/v1/search?q=a..b&sort=relevance", /^The name is invalid/],
    ["/v1/search?q=a&srot=relevance", /^unknown query parameter: srot$/],
    ["/v1/events?typ=record", /^unknown query parameter: typ$/],
    ["/v1/events?type=sale", /^type must be some of registration/],
    ["/v1/events?type=release", /^type=release needs name/],
    ["/v1/events?kind=Sale", /^kind must be some of/],
    [`/v1/events?after=a.b&at=${now}`, "at cannot be given with after"],
    ["/v1/names/plain.eth/history?finality=safe", latestAlone],
    [
      "/v1/names/eth/history?include=child_registrations",
      "include=child_registrations is not supported for this name",
    ],
    ["/v1/names/plain.eth/history?scope=all", /^scope must be one of both, name, registration/],
    ["/v1/names/plain.eth/history?namespace=basenames", "The index has never seen this name", 404],
    [`/v1/addresses/${alice}/history?relation=resolves_to`, /^relation must be some of any, owner/],
    ["/v1/events?from_timestamp=yesterday", /^from_timestamp must be Unix seconds or/],
    ["/v1/events?from_timestamp=2026-02-30T00:00:00Z", /^from_timestamp must be/],
    ["/v1/events?from_block=1", /^from_block and to_block need chain_id, a namespace/],
    ["/v1/events?from_block=x&namespace=ens", /^from_block must be/],
    ["/v1/events?namespace=ens&from_block=2&to_block=1", inOrder("from_block", "to_block")],
    ["/v1/events?resolver=0x12", /^resolver must be <chain id>:<address>/],
    ["/v1/events?registration_id=7", /^registration_id must be/],
    ["/v1/events?address=0x12", /^address must be/],
    ["/v1/events?name=a..eth", /^The name is invalid/],
    ["/v1/events?namespace=ons", /^The namespace "ons" is not indexed/, 404],
    ["/v1/events?include=all", /^include must contain only data, raw, or total_count$/],
    ["/v1/events?include=data&include=raw", /^include must be given once/],
    ["/v1/events?name=%00", /^name must not hold NUL/],
  ])("%s", async (path, message, expected = 400) => {
    const { status, error } = await get(path);
    expect(status).toBe(expected);
    expect(error).toMatchObject({
      code: expected === 404 ? "not_found" : "invalid_input",
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });

  test("positions that the index does not have: 409", async () => {
    const block = { block_number: 1, block_hash: null, timestamp: "1" };
    const other = Buffer.from(JSON.stringify({ 1: block })).toString("hex");
    const one = ["/v1/names/plain.eth", "/v1/names/plain.eth/records"];
    for (const path of [...one, namesOfAlice, "/v1/events"]) {
      for (const given of ["", "finality=latest", `at=${now}`, "at=2026-01-14T14:19:55.5Z"])
        expect([given, (await get(`${path}?${given}`)).status]).toEqual([given, 200]);
      for (const given of [`at=${now - 1}`, "at=99999999999", `at=${other}`, "at=1:99999999"])
        expect([given, (await get(`${path}?${given}`)).status]).toEqual([given, 409]);
    }
    const { error } = await get(`/v1/events?at=${now - 1}`);
    const message = `The position cannot be read. The index can be read as it was from ${now} (Unix seconds) on.`;
    expect(error).toEqual({ code: "stale", message, details: {} });
    for (const [path, what] of [
      [one[0], "name"],
      [one[1], "name records"],
    ])
      expect((await get(`${path}?finality=safe`)).error).toMatchObject({
        message: `requested snapshot is not available for ${what}`,
      });
  });

  test("a list's cursor does not depend on finality=latest", async () => {
    const { page } = await get(`${namesOfAlice}?page_size=1&finality=latest&at=`);
    expect((await get(`${namesOfAlice}?cursor=${page.next_cursor}`)).status).toBe(200);
  });

  test("what is near to an unknown parameter is a detail", async () => {
    expect((await get("/v1/names/plain.eth?inclde=counts")).error).toEqual({
      code: "invalid_input",
      message: "unknown query parameter: inclde",
      details: { hint: "did you mean include?" },
    });
  });

  test("the cursor of another list", async () => {
    const { page } = await get(`/v1/addresses/${bob}/names?page_size=1`);
    const { error } = await get(`${namesOfAlice}?cursor=${page.next_cursor}`);
    expect(error.message).toBe("cursor belongs to another list: other filters or another order");
  });

  test.each(["a\0b", "\ud800"])("a cursor with the text %j, which no database takes", async (text) => {
    const list = JSON.stringify(["subnames", namehash("eth"), null, "prefix", "name", "asc", "true"]);
    const cursor = Buffer.from(JSON.stringify([1, list, [text, "0x"]])).toString("base64url");
    const { status, error } = await get(`/v1/names/eth/subnames?cursor=${cursor}`);
    expect([status, error]).toMatchObject([
      400,
      { code: "invalid_input", message: "cursor must be a valid pagination cursor" },
    ]);
  });
});

test("chains without an indexed block, and one whose last block is final", () => {
  const block = { number: 7, timestamp: now };
  const config = { configType: "definite", startBlock: block, endBlock: block };
  const current = currentStatus();
  Object.assign(current.snapshot.omnichainSnapshot.chains, {
    1: { chainStatus: "chain-completed", config, latestIndexedBlock: block },
    10: { chainStatus: "chain-queued", config },
  });
  const meta = asOfWithToken(current, () => "0x12");
  expect(meta).toMatchObject({
    as_of: { 1: { block_number: 7, block_hash: "0x12", timestamp: String(now) } },
    as_of_completeness: {
      10: { completeness: "unsupported", unsupported_reason: "temporarily_unavailable" },
    },
  });
  expect(() => requireLatest("finalized", { current, chainId: 1, what: "name" })).not.toThrow();
  expect(() => requireLatest("finalized", { current, chainId: 10, what: "name" })).toThrow(/not available/);
  // The token of the same blocks, whose hashes were not known yet.
  expect(isTokenOf(asOfWithToken(current, () => undefined).as_of_token ?? "", current)).toBe(true);
});

test("a namespace says what is known of its names, and what the chain can be asked", async () => {
  const full = { completeness: "full" };
  const { data } = await get("/v1/namespaces/ens");
  const verified = { ...full, chains: { 1: full } };
  expect(data).toMatchObject({
    namespace: "ens",
    capabilities: {
      ...{ subnames: full, name_profile: full, name_history: full },
      ...{ verified_records: verified, verified_primary_name: verified },
    },
    networks: [{ chain_id: 1, resolution: { protocol: "ens_v1", since_block: null } }],
  });
  const chain = chainOf();
  const alone = open({ chain: { ...chain, resolution: { ...chain.resolution, clientOf: () => undefined } } });
  const unable = { completeness: "unsupported", unsupported_reason: "execution_provider_not_configured" };
  const basenames = await alone.get("/v1/namespaces/basenames");
  expect(basenames.data).toMatchObject({
    capabilities: { verified_records: { ...unable, chains: { 8453: unable } } },
    networks: [{ chain_id: 8453 }],
  });
  expect(JSON.stringify(basenames.data)).not.toContain("resolution");
  expect((await get("/v1/namespaces/ons")).status).toBe(404);
});

test("meta names all that is left out, not the last alone", () => {
  const partial = { completeness: "partial" as const };
  const roles = { ...partial, unsupported_fields: ["relations"], unsupported_reason: "roles_above_limit" };
  const counts = {
    ...partial,
    unsupported_fields: ["subname_count"],
    unsupported_reason: "count_above_limit",
  };
  expect(withGaps(roles, counts)).toEqual({ ...counts, unsupported_fields: ["relations", "subname_count"] });
  expect(withGaps({ source: "indexed" }, {})).toEqual({ source: "indexed" });
});
