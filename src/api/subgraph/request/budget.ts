import type { ASTNode } from "graphql";
import type { SubgraphLimits } from "../../../config/limits.ts";
import { QueryError } from "../schema/errors.ts";
import { costText, type Price, prices } from "./price.ts";

/** The price of a request so far. */
export type Spent = Record<Price, number>;

/** Units of a budget's work between two turns of others. */
export const workAtOnce = 4_000;

/** A result, and the price of the request before and after it. */
export type Priced<T> = { result: T; before: Spent; after: Spent };

/** Adds up what a request costs. Throws QueryError as soon as a limit is passed, with the price, the limit and a way out. */
export class Budget {
  readonly spent: Spent = {
    fields: 0,
    rows: 0,
    filterKeys: 0,
    filterValues: 0,
    estimatedBytes: 0,
    sqlLength: 0,
    parameters: 0,
    introspection: 0,
  };
  readonly #limits: Pick<SubgraphLimits, Price>;

  constructor(limits: Pick<SubgraphLimits, Price>) {
    this.#limits = limits;
  }

  /** Pays `amount`; `node` is the place in the document that a refusal shows. */
  spend(price: Price, amount: number, node?: ASTNode): void {
    this.spent[price] += amount;
    if (this.spent[price] <= this.#limits[price]) return;
    throw new QueryError(costText(price, this.spent[price], this.#limits[price]), { node });
  }

  /** Pays for one value of an argument. */
  spendValue(text: string): void {
    this.spend("filterValues", 1 + (text.length >> 6));
  }

  /** Work so far of reading and compiling: about as many units in 8 ms as `workAtOnce`. */
  get work(): number {
    return this.spent.fields + this.spent.filterKeys + (this.spent.filterValues >> 2);
  }

  /** Runs `task` and finds out what it cost. */
  priced<T>(task: () => T): Priced<T> {
    const before = { ...this.spent };
    const result = task();
    return { result, before, after: { ...this.spent } };
  }

  /** Pays for something that was compiled before. */
  payAgain({ before, after }: Priced<unknown>): void {
    for (const price of prices) this.spend(price, after[price] - before[price]);
  }
}
