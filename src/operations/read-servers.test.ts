import { expect, test } from "vitest";
import { chooseServer, parseHost } from "./read-servers.ts";

// `behind` in seconds; of a server that is away undefined.
const look = (position: number, behind = 0) => ({ position, savedAt: 1_700_000_000_000 - behind * 1_000 });
const away = undefined;
const options = { present: 0, shown: 0, lagSeconds: 10 };

test.each([
  ["stays at the first, also if it is a little behind", [look(90, 9), look(100)], 0, 0],
  ["leaves one that is behind by more than the limit", [look(50, 11), look(99, 1), look(100)], 0, 2],
  ["stays if all are as far behind", [look(50, 11), look(60, 10)], 0, 0],
  ["leaves one that is away for the furthest", [away, look(99), look(100)], 0, 2],
  ["takes the first of those that are equally far", [away, look(100), look(100)], 0, 1],
  ["stays if all are away", [away, away], 1, 1],
  ["stays while the one before lacks something", [look(99), look(100)], 1, 1],
  ["returns to the one before once it has all", [look(100), look(100)], 1, 0],
  ["does not go to one that comes later", [look(100), look(101)], 0, 0],
  ["begins with the furthest", [look(99), look(100)], -1, 1],
])("%s", (_, looks, present, expected) => {
  expect(chooseServer(looks, { ...options, present })).toBe(expected);
});

test("never goes to a server that lacks what was shown", () => {
  expect(chooseServer([away, look(99)], { ...options, shown: 100 })).toBe(0);
  expect(chooseServer([away, look(99), look(100)], { ...options, shown: 100 })).toBe(2);
});

test("names a server without its secrets", () => {
  expect(parseHost("postgresql://reader:secret@db.example:5433/names")).toBe("db.example:5433");
});
