// What a request pays with, and how to ask for less.
const units = {
  fields: ["fields (fragments put in)", "Select fewer, or split the query into several requests."],
  rows: [
    "entities (the product of `first` down its lists)",
    "Ask for fewer with `first`, or in several requests.",
  ],
  filterKeys: [
    "filter keys (variables count at each use)",
    "Look up many values with `_in`, or in several requests.",
  ],
  filterValues: [
    "values in arguments (variables count at each use, long texts once per 64 characters)",
    "Pass fewer values, or split the query into several requests.",
  ],
  estimatedBytes: [
    "bytes of response (if all its lists are full)",
    "Ask for fewer entities with `first`, for fewer fields, or in several requests.",
  ],
  sqlLength: ["characters of SQL", "Split the query into several requests."],
  parameters: [
    "bound values (a list counts as one)",
    "Look up many values with `_in`, or in several requests.",
  ],
  introspection: [
    "characters of introspection",
    "Ask for fewer levels, or for one type at a time with `__type(name: ..)`.",
  ],
} as const;

/** What a request pays with. Each price has a limit of the same name (src/config/limits.ts). */
export type Price = keyof typeof units;

/** All prices. */
export const prices = Object.keys(units) as Price[];

/** The price so far, the limit, and how to ask for less. */
export function costText(price: Price, spent: number, limit: number): string {
  const [unit, hint] = units[price];
  return `The query costs at least ${spent} ${unit}; the limit is ${limit}. ${hint}`;
}
