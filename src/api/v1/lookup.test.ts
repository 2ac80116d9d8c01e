import { expect, test } from "vitest";
import { namesOf } from "../../../test/support/lookups/lookups.ts";
import { alice, bob, createStoredNames } from "../../../test/support/lookups/stored-names.ts";

const { get, post } = await createStoredNames();

// bigname: a client that compares two APIs asks one of them with this word.
test("the profile shadow is that of details", async () => {
  const inputs = [{ name: "plain.eth" }, { address: bob }];
  const detail = await post({ inputs, profile: "detail" });
  expect((await post({ inputs, profile: "shadow" })).data).toEqual(detail.data);
  expect(detail.data[0]).toMatchObject({ status: "ok", record: { name: "plain.eth" } });
});

test("answers each input in its place", async () => {
  const { data } = await post({
    inputs: [
      { id: "a", name: "Plain.ETH" },
      { address: bob, page_size: 2 },
      { name: "missing.eth" },
      { name: "not a name" },
      { address: alice, relation: "manager" },
    ],
    profile: "feed",
  });
  expect(data.map(({ kind, status }) => [kind, status])).toEqual([
    ["name", "ok"],
    ["address", "ok"],
    ["name", "not_found"],
    ["name", "invalid_name"],
    ["address", "ok"],
  ]);
  expect(data[0]).toMatchObject({
    input: { id: "a", name: "Plain.ETH" },
    normalization: { changed: true, input_name: "Plain.ETH", reason: "case_normalized" },
    record: { name: "plain.eth", chain_id: 1, network: "ethereum" },
  });
  // The primary name first, then what is owned, by name.
  expect(namesOf(data[1]?.records)).toEqual(["records.eth", "anew.eth"]);
  expect(data[1]?.records[0]?.is_primary).toBe(true);
  expect(data[1]?.page).toMatchObject({ has_more: true, page_size: 2, total_count: 7 });
  const next = await post({ inputs: [{ address: bob, page_size: 200, cursor: data[1]?.page.next_cursor }] });
  expect(namesOf(next.data[0]?.records)).toEqual([
    ...["locked.wrapped.eth", "old.eth", "sub.wrapped.eth", "me.base.eth", "plain.eth"],
  ]);
  expect(namesOf(data[4]?.records)).toEqual(["grace.eth", "wrapped.eth"]);
});

test("lists the names of addresses in a namespace", async () => {
  const of = async (namespace: string) =>
    (await post({ inputs: [{ address: alice, relation: "owner" }], namespace })).data[0];
  expect(await of("basenames")).toMatchObject({
    records: [{ name: "me.base.eth" }],
    page: { total_count: 1 },
  });
  expect(namesOf((await of("auto"))?.records)).toContain("me.base.eth");
  expect(namesOf((await of("ens"))?.records)).not.toContain("me.base.eth");
});

test("one bad name or address leaves the others", async () => {
  const long = `${"a".repeat(2_001)}.eth`;
  const { data } = await post({
    inputs: [{ address: "0x12" }, { name: "plain.eth" }, { name: long }, { address: alice }, { name: "" }],
  });
  expect(data.map(({ status }) => status)).toEqual(["failed", "ok", "invalid_name", "ok", "invalid_name"]);
  expect(data[0]).toEqual({
    input: { address: "0x12", coin_type: 60 },
    kind: "address",
    status: "failed",
    failure_reason: "address must be a 0x-prefixed 20-byte hex string",
  });
});

test("says what was asked", async () => {
  const { data } = await post({
    inputs: [
      { address: alice },
      { id: "a", address: alice, relation: "any", page_size: 3 },
      { address: alice, relation: "manager, owner,manager" },
      { name: "Plain.eth" },
    ],
  });
  const address = { address: alice, coin_type: 60 };
  expect(data.map(({ input }) => input)).toEqual([
    address,
    { id: "a", ...address, relation: "owner,manager", page_size: 3 },
    { ...address, relation: "owner,manager" },
    { name: "Plain.eth" },
  ]);
});

const manyNames = new Array(1_001).fill({ name: "a.eth" });
const emptyId = [{ id: " ", name: "plain.eth" }, { name: "plain.eth" }];
const namespaces = "auto, public, ens, basenames, lineanames, threedns";
test.each<[string, object, string]>([
  [
    "another namespace",
    { inputs: [{ address: alice }], namespace: "eth" },
    `namespace must be one of: ${namespaces}`,
  ],
  ["an empty id", { inputs: emptyId }, "lookup input id must not be empty"],
  ["more than 1,000 inputs", { inputs: manyNames }, "inputs must hold at most 1000"],
  [
    "a single address that is none",
    { inputs: [{ address: "0x1" }] },
    "address must be a 0x-prefixed 20-byte hex string",
  ],
])("refuses %s", async (_, body, message) => {
  expect((await post(body)).error).toMatchObject({ code: "invalid_input", message });
});

test("refuses a query", async () => {
  const init = { method: "POST", body: JSON.stringify({ inputs: [] }) };
  const { status, error } = await get("/v1/lookup?profile=feed", init);
  expect([status, error.message]).toEqual([400, "unknown query parameter: profile"]);
});
