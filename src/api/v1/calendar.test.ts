import { expect, test } from "vitest";
import { summariesOf } from "../../../test/support/lookups/lookups.ts";
import {
  addressOf,
  alice,
  bob,
  createStoredNames,
  day,
  later,
  now,
  wrapper,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";

const { client, store, fetch } = await createStoredNames();

const calendarOf = async (address: string, query = "") =>
  (await fetch(`/v1/addresses/${address}/calendar.ics${query}`)).text();
// RFC 5545, 3.1: a line that begins with a blank goes on.
const unfolded = (text: string) => text.replaceAll("\r\n ", "").split("\r\n");
const triggers = (lines: readonly string[]) => lines.filter((line) => line.startsWith("TRIGGER"));
const graceOf = (name: string) => `Grace period of ${name} ends`;
const both = (name: string) => [`${name} expires`, graceOf(name)];

function expectShortLines(text: string) {
  for (const line of text.split("\r\n")) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
}

test("has expiry and end of grace of what an address owns, with alarms", async () => {
  const response = await fetch(`/v1/addresses/${alice}/calendar.ics`);
  expect(response.headers.get("content-type")).toBe("text/calendar; charset=utf-8");
  const text = await response.text();
  const lines = unfolded(text);
  expect(lines.slice(0, 2)).toEqual(["BEGIN:VCALENDAR", "VERSION:2.0"]);
  const at = lines.indexOf("SUMMARY:plain.eth expires");
  const event = lines.slice(lines.lastIndexOf("BEGIN:VEVENT", at), lines.indexOf("END:VEVENT", at));
  const start = new Date(later * 1_000).toISOString().replaceAll(/[-:]|\.000/g, "");
  expect(event).toContain(`DTSTART:${start}`);
  expect(event).toContain(`UID:1-${namehash("plain.eth")}-expires`);
  expect(triggers(event)).toEqual(["TRIGGER:-P30D", "TRIGGER:-P7D", "TRIGGER:-P1D"]);
  expect((text.match(/BEGIN:VALARM/g) ?? []).length).toBe(3 * 7);
  expectShortLines(text);
});

test.each<[string, string, string[]]>([
  [bob, "", [...both("anew.eth"), "locked.wrapped.eth expires", ...both("records.eth")]],
  [bob, "?relation=manager&namespace=basenames", [graceOf("me.base.eth")]],
  [addressOf("44"), "", []],
])("events of %s%s", async (address, query, expected) => {
  const text = await calendarOf(address, query);
  expect(summariesOf(text)).toEqual(expected);
  expect(text).toContain("END:VCALENDAR");
});

test("the days of alarms can be given", async () => {
  const text = await calendarOf(alice, "?namespace=basenames&alarms=2");
  expect(triggers(unfolded(text))).toEqual(["TRIGGER:-P2D"]);
});

test("keeps leases when somebody gives the address names that end before, and says that it leaves some out", async () => {
  const eve = addressOf("e5");
  await store("kept.eth", { lease: { holder: eve, expires: later }, owner: eve });
  expect(await calendarOf(eve)).not.toContain("DESCRIPTION:Shows");
  const node = "'0x5e' || lpad(n::text, 62, '0')";
  await client.exec(`
    INSERT INTO domain (id, name, label_name, parent_id, subdomain_count, is_migrated, created_at, owner_id, wrapped_owner_id, change_block)
      SELECT ${node}, 's' || n || '.spam.eth', 's' || n, '${namehash("spam.eth")}', 0, true, 1, '${wrapper}', '${eve}', 1 FROM generate_series(1, 500) n;
    INSERT INTO wrapped_domain (id, domain_id, expiry_date, fuses, owner_id, change_block)
      SELECT ${node}, ${node}, ${now + day}, 65536, '${eve}', 1 FROM generate_series(1, 500) n`);
  const text = await calendarOf(eve);
  expect(summariesOf(text).slice(-2)).toEqual(both("kept.eth"));
  expect(summariesOf(text)).toHaveLength(2 + 499);
  expect(
    unfolded(text).find((line) => line.startsWith("DESCRIPTION") || line.startsWith("X-WR-CALDESC")),
  ).toMatch(/Shows 500 names\. Others are left out: \/v1\/addresses\/0xe5e5/);
});

test.each([
  [
    "anew.eth expires",
    "It can still be renewed for 90 days\\, in which nobody else can register it. Network: ethereum.",
  ],
  [graceOf("anew.eth"), "Afterwards anybody can register anew.eth. Network: ethereum."],
  [
    "locked.wrapped.eth expires",
    "Afterwards locked.wrapped.eth has no owner\\, and the owner of its parent can give it to somebody else. Network: ethereum.",
  ],
])("says what follows after: %s", async (summary, expected) => {
  const events = unfolded(await calendarOf(bob))
    .join("\n")
    .split("BEGIN:VEVENT");
  const event = events.find((text) => text.includes(`SUMMARY:${summary}\n`));
  expect(event?.match(/DESCRIPTION:(.*)/)?.[1]).toBe(expected);
});

test("a name with line breaks, or a long one, adds no line of its own", async () => {
  const eve = addressOf("55");
  for (const name of ["a\r\nEND:VEVENT\r\nBEGIN:VEVENT;,\\\u202e.eth", `${"é".repeat(3_000)}.eth`])
    await store(name, { owner: eve, lease: { holder: eve, expires: later } });
  const text = await calendarOf(eve);
  const lines = text.split("\r\n");
  expect(lines.filter((line) => line === "BEGIN:VEVENT")).toHaveLength(4);
  expect(lines.filter((line) => line === "END:VEVENT")).toHaveLength(4);
  expect(text).not.toContain("\u202e");
  expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  expectShortLines(text);
  expect(summariesOf(text).join("")).toContain("a\ufffd\ufffdEND:VEVENT");
});
