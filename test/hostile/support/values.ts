import type { Random } from "../../../devnet/random.ts";

/** Texts that break readers, logs, databases and shells, or look like what a parameter wants. */
export const hostileTexts: readonly string[] = [
  "",
  " ",
  "0",
  "-1",
  "1e309",
  "9007199254740993",
  `${"9".repeat(80)}`,
  "NaN",
  "null",
  "0x",
  `0x${"f".repeat(39)}`,
  `0x${"a".repeat(40)}`,
  `0x${"00".repeat(32)}`,
  `0x${"zz".repeat(32)}`,
  `[${"4f".repeat(32)}]`,
  "eth",
  "alice.eth",
  "Alice.eth",
  "..",
  "../../etc/passwd",
  "%00",
  "%",
  "a\u0000b",
  "\ud800",
  "\u202egnirts",
  "\u2028\u2029",
  "\u001b[31mred\u001b[0m",
  'line\r\n{"level":60,"msg":"forged"}',
  "'; DROP TABLE domain; --",
  "' OR 1=1 --",
  "$1::text",
  "\\'; SELECT pg_sleep(10); --",
  '"}]}}}',
  "{a,b}",
  "{{constructor.constructor('return process')()}}",
  "__proto__",
  "constructor",
  "<script>alert(1)</script>",
  // A log library's lookup, spelled so that no template is meant.
  ["$", "{jndi:ldap://127.0.0.1/a}"].join(""),
  "%".repeat(300),
  "_%_%_%",
  "a".repeat(5_000),
  "🦊".repeat(500),
  "ﷺ",
  "1,2,3",
  ",",
  "60,0,2147492101",
];

/** Any JSON value: texts of the list, numbers at bounds, and small lists and objects of these. */
export function hostileValue(random: Random, depth = 2): unknown {
  const kind = random.below(depth > 0 ? 9 : 7);
  if (kind < 3) return random.pick(hostileTexts);
  if (kind === 3) return random.pick([0, -1, 1.5, 1e30, -1e300, 2 ** 31, 2 ** 53, -(2 ** 63)]);
  if (kind === 4) return random.pick([true, false]);
  if (kind === 5) return null;
  if (kind === 6) return `0x${random.hexDigits(random.pick([20, 32]))}`;
  const members = Array.from({ length: random.below(4) }, () => hostileValue(random, depth - 1));
  if (kind === 7) return members;
  return Object.fromEntries(members.map((value) => [random.pick(hostileTexts), value]));
}

/** True with probability `share`. */
export const chance = (random: Random, share: number): boolean => random.fraction() < share;

/** The text with one to three places cut out, doubled, or replaced. */
export function mutated(random: Random, text: string): string {
  let result = text;
  for (let left = 1 + random.below(3); left > 0; left--) {
    const at = random.below(result.length + 1);
    const end = at + random.below(12);
    const piece = result.slice(at, end);
    const replacement = random.pick([
      "",
      piece + piece,
      random.pick(hostileTexts),
      "{",
      "}",
      '"',
      "\\",
      "\u0000",
    ]);
    result = result.slice(0, at) + replacement + result.slice(end);
  }
  return result;
}
