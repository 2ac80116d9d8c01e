import type { ASTNode } from "graphql";
import type { SubgraphLimits } from "../../../config/limits.ts";
import { QueryError } from "../schema/errors.ts";

// The unit of each price, and how to ask for less.
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

type Price = keyof typeof units;

/** Units of `work` between two yields to other requests. */
export const workAtOnce = 4_000;

/** The costs of a request, and their limits. */
export type Budget = ReturnType<typeof createBudget>;

/** Creates a budget. Each price has a limit of the same name (src/config/limits.ts). */
export function createBudget(limits: Pick<SubgraphLimits, Price>) {
  const spent = Object.fromEntries(Object.keys(units).map((price) => [price, 0])) as Record<Price, number>;

  /** Pays `amount`. Throws QueryError at `node` once a limit is passed, with the price, the limit and a way out. */
  function spend(price: Price, amount: number, node?: ASTNode): void {
    spent[price] += amount;
    if (spent[price] <= limits[price]) return;
    const [unit, hint] = units[price];
    throw new QueryError(
      `The query costs at least ${spent[price]} ${unit}; the limit is ${limits[price]}. ${hint}`,
      { node },
    );
  }

  return {
    spent,
    spend,
    /** Pays for one value of an argument. */
    spendValue: (text: string) => spend("filterValues", 1 + (text.length >> 6)),
    /** Work of reading and compiling so far: `workAtOnce` units take about 8 ms. */
    work: () => spent.fields + spent.filterKeys + (spent.filterValues >> 2),
  };
}
