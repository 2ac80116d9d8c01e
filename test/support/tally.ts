import { readFileSync } from "node:fs";

// How many answers of each route tests compare with what contracts emitted or returned: the table of docs/lookup.md.

/** Counts compared answers. */
export function createTally() {
  const counts = new Map<string, number>();
  return {
    add: (route: string, answers = 1) => counts.set(route, (counts.get(route) ?? 0) + answers),
    /** The counts so far, as lines of the table. */
    counted: () => Array.from(counts, ([route, answers]) => `${route} ${answers}`).sort(),
  };
}

/** The lines of the table in one of its columns, without those that have no number there. */
export function listedTally(column: string): string[] {
  const text = readFileSync(new URL("../../docs/lookup.md", import.meta.url), "utf8");
  const [, section = ""] = text.split("\n## Proven against contracts\n");
  const [head = [], , ...rows] = section
    .split("\n## ")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").map((cell) => cell.trim())) ?? [[]];
  const index = head.indexOf(column);
  return rows
    .flatMap((cells) => {
      const count = cells[index]?.replaceAll(",", "") ?? "";
      return /^\d+$/.test(count) ? [`${cells[1]?.replaceAll("`", "")} ${count}`] : [];
    })
    .sort();
}

/** What is known of a name, by member. */
export type Facts = Record<string, unknown>;

/** Members of a name that are not as contracts say; none means equal. */
export const differencesOf = (name: string, facts: Facts | undefined, expected: Facts): string[] =>
  Object.keys(expected).flatMap((key) => {
    const [found, meant] = [facts?.[key], expected[key]].map((value) => JSON.stringify(value));
    return found === meant ? [] : `${name}: ${key} is ${found}, the contracts say ${meant}`;
  });

/** Summaries of a calendar's events. */
export const summariesOf = (calendar: string): string[] =>
  Array.from(calendar.replaceAll("\r\n ", "").matchAll(/^SUMMARY:(.*)\r$/gm), ([, summary = ""]) => summary);
