import { beforeEach, expect, test } from "vitest";
import {
  alice,
  bob,
  carol,
  createStoredNames,
  day,
  grace,
  home,
  inGrace,
  later,
  now,
  wrapper,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";
import { type ReminderPlace, readReminders } from "./reminders.ts";

// Grace of 90 days and premium of 21 days: ENS documents. Expiries are those of the stored names.
const premium = 21 * day;
const hour = 3_600;
const { client, store, context } = await createStoredNames();
const { database, namespaces } = context.lookup;
let time: number;
const source = { database, namespaces, times: () => namespaces.map(() => time) };
const all = { node: undefined, address: undefined, namespace: "ens", limit: 50 };
const every = ["30d", "7d", "1d", "12h", "grace_begins", "grace_ends", "premium_ends"];
const read = (after: ReminderPlace | undefined, asked: Partial<typeof asks> = {}) =>
  readReminders(source, after, { ...asks, ...asked }, new AbortController().signal);
const asks = { ...all, reminders: every } as Parameters<typeof readReminders>[2];

/** What is due from a moment on until chain time is another one, in pages. */
async function due(from: number, to: number, asked: Partial<typeof asks> = {}) {
  time = to;
  const found: string[] = [];
  for (let place: ReminderPlace = [String(from), "", ""]; ; ) {
    const part = await read(place, asked);
    if (part === undefined) return found;
    found.push(
      ...part.reminders.map(({ data }) => {
        const { reminder, name, due_at, late } = data;
        return `${reminder} ${name} ${Number(due_at) - now}${late ? " late" : ""}`;
      }),
    );
    place = part.place;
  }
}

const leased = ["anew.eth", "plain.eth", "records.eth", "wrapped.eth"];
const expiringLater = ["anew.eth", "locked.wrapped.eth", "plain.eth", "records.eth", "wrapped.eth"];
const at = (word: string, names: readonly string[], moment: number) =>
  names.map((name) => `${word} ${name} ${moment - now}`);

beforeEach(() => {
  time = now;
});

test.each<[string, number, readonly string[]]>([
  ["7d", later - 7 * day, expiringLater],
  ["1d", later - day, expiringLater],
  ["12h", later - day / 2, expiringLater],
  // A subname that its parent cannot control has no grace period.
  ["grace_begins", later, leased],
  ["grace_ends", later, ["locked.wrapped.eth"]],
  ["grace_ends", later + grace, leased],
  ["premium_ends", later + grace + premium, leased],
])("%s is due %i, not a second before, and once", async (word, moment, names) => {
  const only = { reminders: [word] };
  expect(await due(moment - 100, moment - 1, only)).toEqual([]);
  expect(await due(moment - 100, moment, only)).toEqual(at(word, names, moment));
  expect(await due(moment + 1, moment + 100, only)).toEqual([]);
});

test("reminders of several kinds come in the order of their moments, then of names", async () => {
  const ends = later + grace;
  expect(await due(ends - day, ends + premium + 60, { node: namehash("plain.eth") })).toEqual([
    `grace_ends plain.eth ${ends - now} late`,
    `premium_ends plain.eth ${ends + premium - now}`,
  ]);
  const single = await due(later - 7 * day, later + 60, { node: namehash("plain.eth") });
  expect(single.map((text) => text.split(" ")[0])).toEqual(["7d", "1d", "12h", "grace_begins"]);
});

test.each([1, 2, 3, 50])("names that end together are read once, in pages of %i", async (limit) => {
  const [from, to] = [later - day - 60, later - day + 60];
  expect(await due(from, to, { limit })).toEqual(at("1d", expiringLater, later - day));
});

test("what came more than an hour ago is late, after weeks of downtime too", async () => {
  const [moment, asked] = [later - 7 * day, { reminders: ["7d"], node: namehash("plain.eth") }];
  expect(await due(moment - hour, moment + hour, asked)).toEqual(at("7d", ["plain.eth"], moment));
  const late = [`7d plain.eth ${moment - now} late`];
  expect(await due(moment - hour, moment + hour + 1, asked)).toEqual(late);
  expect(await due(moment - 40 * day, moment + 60 * day, asked)).toEqual(late);
});

test("a renewal before the moment cancels it; the new expiry has its own", async () => {
  const name = "renewed.eth";
  const expires = later + 17;
  await store(name, { owner: bob, lease: { holder: bob, expires } });
  const asked = { reminders: ["1d", "grace_begins"], node: namehash(name) };
  expect(await due(expires - day, expires - 60, asked)).toHaveLength(1);
  const anew = expires + 365 * day;
  await client.query("UPDATE registration SET expiry_date = $1 WHERE id = $2", [anew, namehash(name)]);
  expect(await due(expires - 60, expires + 60, asked)).toEqual([]);
  expect(await due(anew - day - 60, anew, asked)).toEqual([
    `1d ${name} ${anew - day - now} late`,
    `grace_begins ${name} ${anew - now}`,
  ]);
});

test("an address is reminded of what it holds or manages, and of what it held", async () => {
  const of = (address: string, word: string, moment: number) =>
    due(moment - 60, moment + 60, { address, reminders: [word] });
  // alice holds plain.eth and bob manages it; the name wrapper holds wrapped.eth for alice.
  for (const [word, moment] of [
    ["1d", later - day],
    ["grace_begins", later],
  ] as const) {
    const names = (await of(alice, word, moment)).map((text) => text.split(" ")[1]);
    expect(names).toEqual(["plain.eth", "wrapped.eth"]);
  }
  expect(await of(bob, "1d", later - day)).toEqual(
    at("1d", ["anew.eth", "locked.wrapped.eth", "plain.eth", "records.eth"], later - day),
  );
  expect(await of(alice, "grace_ends", inGrace + grace)).toEqual(
    at("grace_ends", ["grace.eth", "wrappedgrace.eth"], inGrace + grace),
  );
  const over = inGrace + grace + premium;
  expect(await of(alice, "premium_ends", over)).toEqual(
    at("premium_ends", ["grace.eth", "wrappedgrace.eth"], over),
  );
  expect(await of(wrapper, "1d", later - day)).toEqual([]);
  expect(await of(carol, "1d", later - day)).toEqual([]);
});

test("each namespace has its own grace, and premiums are those of .eth", async () => {
  const others = { namespace: undefined, reminders: ["grace_begins", "grace_ends", "premium_ends"] };
  const ofNames = async (from: number, to: number) =>
    (await due(from, to, others)).filter((text) => /\.(base\.eth|linea\.eth|box) /.test(text));
  await store("late.base.eth", { owner: bob, lease: { holder: bob, expires: later + 5 }, home: home.base });
  expect(await ofNames(now - 10, now + 60)).toEqual(["grace_ends me.box 0"]);
  expect(await ofNames(later - 60, later + 60)).toEqual([
    `grace_begins me.linea.eth ${later - now}`,
    `grace_begins late.base.eth ${later + 5 - now}`,
  ]);
  expect(await ofNames(later + grace - 60, later + grace + 60)).toHaveLength(2);
  expect(await ofNames(later + grace + premium - 60, later + grace + premium + 60)).toEqual([]);
  expect(await due(later - day - 60, later - day + 60, { namespace: "lineanames" })).toEqual([
    `1d me.linea.eth ${later - day - now}`,
  ]);
});

test("a new reader begins at chain time, and a place never goes back", async () => {
  time = later;
  const begun = await read(undefined);
  expect(begun).toEqual({ reminders: [], place: [String(later + 1), "", ""] });
  // A reorganization; then less than a minute of chain time.
  for (time of [later - 30, later, later + 60]) expect(await read(begun?.place)).toBeUndefined();
  time = later + 61;
  expect(await read(begun?.place)).toEqual({
    ...{ reminders: [], place: [String(later + 62), "", ""] },
  });
  // Between names that end together.
  time = later;
  const { place } = (await read([String(later - 60), "", ""], { limit: 2 })) ?? expect.fail();
  time = later - 1;
  expect(await read(place)).toBeUndefined();
  // The chain that is furthest behind, and one whose status is unknown.
  const behind = { ...source, times: () => namespaces.map((_, index) => (index === 1 ? now : later)) };
  const asked = { ...asks, namespace: undefined };
  const signal = new AbortController().signal;
  expect(await readReminders(behind, undefined, asked, signal)).toMatchObject({
    place: [String(now + 1), "", ""],
  });
  expect(await readReminders({ ...source, times: () => [] }, undefined, asked, signal)).toBeUndefined();
  expect(await read(undefined, { namespace: "gone" })).toBeUndefined();
});

test("a reminder has the row of the name", async () => {
  time = inGrace + grace;
  const { reminders } =
    (await read([String(time - 60), "", ""], { node: namehash("grace.eth") })) ?? expect.fail();
  expect(reminders[0]?.data).toMatchObject({
    ...{ reminder: "grace_ends", due_at: String(time), late: false, name: "grace.eth", namespace: "ens" },
    ...{ namehash: namehash("grace.eth"), status: "expired", owner: alice },
    ...{ expires_at: String(inGrace), grace_ends_at: String(time) },
  });
});
