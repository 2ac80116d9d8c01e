import { describe, expect, test } from "vitest";
import { namesOf } from "../../../test/support/lookups/lookups.ts";
import {
  addressOf,
  bob,
  createStoredNames,
  grace,
  inGrace,
  later,
  now,
  past,
  publicResolver,
} from "../../../test/support/lookups/stored-names.ts";

const { get, all, open, store, setRecords } = await createStoredNames();

const expiringLater = ["anew.eth", "locked.wrapped.eth", "plain.eth", "records.eth", "wrapped.eth"];
const ended = ["grace.eth", "wrappedgrace.eth"];
const time = new Date(later * 1_000).toISOString().replace(".000", "");
const windows = `expires_window=${later}..${later + 1}&expires_window=${inGrace}..${inGrace + 1}`;
const byGrace = `grace_ends_after=${past + grace}`;

// In the order of the deadline and then of names: equal deadlines stay in the order of names, whatever that of
// deadlines.
test.each<[string, string[]]>([
  [`expires_after=${inGrace}&expires_before=${now}`, [...ended, "lapsed.wrapped.eth"]],
  [windows, [...ended, ...expiringLater]],
  [`${windows}&order=desc`, [...expiringLater, ...ended]],
  [
    `grace_ends_window=${later + grace}..${later + grace + 1}&sort=grace_ends_at`,
    expiringLater.filter((name) => name !== "locked.wrapped.eth"),
  ],
  [`grace_ends_after=${now - 1}&grace_ends_before=${now + 1}&parent=wrapped.eth`, ["lapsed.wrapped.eth"]],
  [`${byGrace}&page_size=2`, ["gone.eth", "wrappedgone.eth"]],
  // A parent that leases no names.
  [
    `expires_after=0&expires_before=${later + 1}&parent=wrapped.eth`,
    ["lapsed.wrapped.eth", "locked.wrapped.eth"],
  ],
  [`expires_after=0&expires_before=${later + 1}&parent=plain.eth`, []],
  // Times of RFC 3339, and authorities.
  [`expires_after=${time}&parent=wrapped.eth`, ["locked.wrapped.eth"]],
  [`expires_after=${time}&parent=eth`, expiringLater.filter((name) => name !== "locked.wrapped.eth")],
  [`expires_after=${time}&authority=ens_v1`, expiringLater],
  [`expires_after=${time}&authority=ens_v0`, []],
])("%s", async (query, expected) => {
  expect(namesOf((await get(`/v1/names?namespace=ens&${query}`)).data)).toEqual(expected);
});

test("each row has the number of its window", async () => {
  const { data } = await get(`/v1/names?namespace=ens&${windows}`);
  expect(data.map((row) => row.expires_window_index)).toEqual([1, 1, 0, 0, 0, 0, 0]);
  const ends = await get(`/v1/names?namespace=ens&grace_ends_window=${later + grace}..${later + grace + 1}`);
  expect(ends.data[0]?.grace_ends_window_index).toBe(0);
});

test("pages join without gaps", async () => {
  for (const order of ["asc", "desc"]) {
    const path = `/v1/names?namespace=ens&${windows}&order=${order}`;
    expect(namesOf(await all(path, 2))).toEqual(namesOf((await get(path)).data));
  }
  expect(await all(`/v1/names?namespace=ens&${byGrace}`, 2)).toHaveLength(10);
});

test("labels by length and characters, and pictures", async () => {
  const from = now + 5_000_000_000;
  const expires = from + 1;
  for (const label of ["007", "7", "abc", "a1b", "ü", "abcd"])
    await store(`${label}.eth`, { owner: bob, lease: { holder: bob, expires }, resolver: publicResolver });
  await setRecords("abc.eth", { texts: { avatar: "https://ens.domains/a.png" } });
  await setRecords("a1b.eth", { texts: { url: "https://ens.domains" } });
  const found = async (query: string) =>
    namesOf((await get(`/v1/names?namespace=ens&expires_after=${from}&${query}`)).data).join();
  expect(await found("max_length=3")).toBe("007.eth,7.eth,a1b.eth,abc.eth,ü.eth");
  expect(await found("min_length=2&max_length=3")).toBe("007.eth,a1b.eth,abc.eth");
  expect(await found("characters=digits")).toBe("007.eth,7.eth");
  expect(await found("characters=letters&min_length=4")).toBe("abcd.eth");
  expect(await found("characters=alphanumeric&max_length=1")).toBe("7.eth");
  expect(await found("has_avatar=true")).toBe("abc.eth");
  const path = `/v1/names?namespace=ens&expires_after=${from}&characters=alphanumeric`;
  expect(namesOf(await all(path, 2))).toEqual(namesOf((await get(path)).data));
  const ask = (query: string) =>
    open({ hasRecords: false }).ask(`/v1/names?namespace=ens&expires_after=1&${query}`);
  expect((await ask("has_avatar=true")).status).toBe(422);
  for (const query of [
    "min_length=0",
    "min_length=4&max_length=3",
    "characters=hieroglyphs",
    "has_avatar=false",
  ])
    expect([query, (await ask(query)).status]).toEqual([query, 400]);
});

test("names of a class (ENSIP-27)", async () => {
  const classes = {
    "one.eth": "Agent",
    "two.eth": "Agent",
    "three.eth": "agent",
    "four.eth": "AgentX",
    "five.eth": "Org",
  };
  for (const [name, value] of Object.entries(classes)) {
    await store(name, { owner: bob, resolver: publicResolver });
    await setRecords(name, { texts: { class: value, schema: "ipfs://x", note: "Agent" } });
  }
  const list = async (query: string) => namesOf((await get(`/v1/names?namespace=ens&${query}`)).data);
  expect(await list("class=Agent")).toEqual(["one.eth", "two.eth"]);
  expect(await list("class=Org&parent=eth")).toEqual(["five.eth"]);
  expect(await list("class=Wallet")).toEqual([]);
  for (const query of [
    "class=A1",
    "class=",
    "class=Agent&expires_after=1",
    "class=Org&record_key_prefix=agent-",
  ])
    expect([query, (await open().ask(`/v1/names?namespace=ens&${query}`)).status]).toEqual([query, 400]);
});

describe("names with records of agents", async () => {
  // The example of ENSIP-25, and those of ENSIP-26.
  const registration = "agent-registration[0x000100000101148004a169fb4a3325136eb29fa0ceb6d2e539a432][167]";
  const keys = { context: "agent-context", mcp: "agent-endpoint[mcp]" };
  await store("swap.eth", { owner: bob, resolver: publicResolver });
  await setRecords("swap.eth", { texts: { [keys.context]: "# Swap", [keys.mcp]: "https://token-swap.mcp" } });
  await store("listed.eth", { owner: bob, resolver: publicResolver });
  await setRecords("listed.eth", { texts: { [registration]: "1", url: "https://ens.domains" } });
  // Its resolver is another one now.
  await store("moved.eth", { owner: bob, resolver: addressOf("99") });
  await setRecords("moved.eth", { texts: { [keys.context]: "# Moved" } });

  test.each([
    ["agent-", ["listed.eth", "swap.eth"]],
    ["agent-endpoint[mcp]", ["swap.eth"]],
    ["agent-endpoint[a2a]", []],
    ["agent-registration[0x0001", ["listed.eth"]],
    [registration, ["listed.eth"]],
    [`${registration}${"x".repeat(300)}`, []],
  ])("whose keys begin with %s", async (prefix, expected) => {
    const path = `/v1/names?namespace=ens&record_key_prefix=${encodeURIComponent(prefix)}`;
    expect(namesOf((await get(path)).data)).toEqual(expected);
    expect(namesOf((await get(`${path}&order=desc`)).data)).toEqual([...expected].reverse());
    expect(namesOf(await all(path, 1))).toEqual(expected);
    expect((await get(`${path}&parent=plain.eth`)).data).toEqual([]);
  });

  test("are listed by keys of agents alone, and without a window", async () => {
    const ofKeys = (query: string) => open().ask(`/v1/names?namespace=ens&record_key_prefix=${query}`);
    expect((await ofKeys("url")).status).toBe(400);
    expect((await ofKeys("agent-&expires_after=1")).status).toBe(400);
    expect((await ofKeys("agent-&sort=expires_at")).status).toBe(400);
    const without = await open({ hasRecords: false }).ask("/v1/names?namespace=ens&record_key_prefix=agent-");
    expect(without.status).toBe(422);
  });
});

test("other namespaces have no authority of ENS", async () => {
  const { data } = await get(`/v1/names?namespace=basenames&expires_before=${now}&authority=ens_v1`);
  expect(data).toEqual([]);
});
