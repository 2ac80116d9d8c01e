import type { ASTNode } from "graphql";
import type { SubgraphLimits } from "../../../config/limits.ts";
import { QueryError } from "../schema/errors.ts";

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

/** Units of a budget's work between two turns of others. */
export const workAtOnce = 4_000;

/** Adds up what a request costs. Throws QueryError as soon as a limit is passed, with the price, the limit and a way out. */
export class Budget {
  readonly spent = Object.fromEntries(Object.keys(units).map((price) => [price, 0])) as Record<Price, number>;
  readonly #limits: Pick<SubgraphLimits, Price>;

  constructor(limits: Pick<SubgraphLimits, Price>) {
    this.#limits = limits;
  }

  /** Pays `amount`; `node` is the place in the document that a refusal shows. */
  spend(price: Price, amount: number, node?: ASTNode): void {
    this.spent[price] += amount;
    const [spent, limit] = [this.spent[price], this.#limits[price]];
    if (spent <= limit) return;
    const [unit, hint] = units[price];
    throw new QueryError(`The query costs at least ${spent} ${unit}; the limit is ${limit}. ${hint}`, {
      node,
    });
  }

  /** Pays for one value of an argument. */
  spendValue(text: string): void {
    this.spend("filterValues", 1 + (text.length >> 6));
  }

  /** Work so far of reading and compiling: about as many units in 8 ms as `workAtOnce`. */
  get work(): number {
    return this.spent.fields + this.spent.filterKeys + (this.spent.filterValues >> 2);
  }
}
