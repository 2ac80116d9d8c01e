import { AsyncLocalStorage } from "node:async_hooks";
import { quoted } from "../../ponder/sql-client.ts";

/**
 * A moment in the past of an index: a position, and the schemas in which its tables are found (src/operations/past.ts).
 * `isKept`: SQL of whether the index has that moment.
 */
export type Moment = { schemas: readonly string[]; position: string; isKept: string };

const moments = new AsyncLocalStorage<Moment | undefined>();

/** The moment at which statements read the index; undefined for the present. */
export const currentMoment = () => moments.getStore();

/** Runs a task. Its statements, later ones too, read the index at a moment; MomentGoneError ends those that cannot. */
export const atMoment = <T>(moment: Moment | undefined, task: () => T): T => moments.run(moment, task);

/** The index does not have, or has no longer, the moment that a statement is to be read at. */
export class MomentGoneError extends Error {
  override name = "MomentGoneError";
}

/** The statement that goes to a moment until the end of the transaction; `checkMoment` reads its result. */
export const momentQuery = ({ schemas, position, isKept }: Moment) => ({
  text: `SELECT set_config('search_path', $1, true), set_config('nsindex.at', $2, true), (${isKept})::text`,
  values: [[...schemas.map(quoted), "pg_temp"].join(", "), position],
});

/** Throws MomentGoneError unless the transaction is at the moment. */
export function checkMoment({ rows: [row] }: { rows: unknown[][] }): void {
  if (row?.[2] !== "true") throw new MomentGoneError();
}
