import type { CurrentStatus } from "../../status/types.ts";
import type { HashOf } from "../as-of.ts";
import type { Database, RowsReader } from "../sql/client.ts";
import { planOnce } from "../sql/prepared.ts";
import { type IndexedNamespace, listTimes } from "./indexed-namespaces.ts";
import type { KnownContracts } from "./known-contracts.ts";

// What statements about names need, and how they are run.

// The statement with the records of names, and without.
type LookUp = Readonly<Record<"full" | "bare", string>>;

/** The source of statements about names. */
export type NamesSource = {
  database: Database & RowsReader;
  namespaces: readonly IndexedNamespace[];
  /** Whether resolver records are indexed with their values. */
  hasRecords: boolean;
  /** Lookups by key: long texts, planned once per connection. */
  statements: { names: LookUp; paths: LookUp; addresses: Readonly<Record<"few" | "many", string>> };
};

/** Collects the values of a statement. */
export function binder(times: readonly number[]) {
  const values = [`{${times.join(",")}}`];
  return {
    values,
    /** Adds a value; returns its placeholder. */
    bind: (value: string | number) => `$${values.push(String(value))}`,
  };
}

export type Binder = Pick<ReturnType<typeof binder>, "bind">;

/** A request that a statement serves. */
export type StatementCall = { current: CurrentStatus; request: { raw: Request }; keys: Set<string> };

/**
 * Collects the values of a statement and runs it. `isCommon`: plan it once per connection, for the few forms that most
 * requests have.
 */
export function openStatement(
  { database, namespaces }: Pick<NamesSource, "database" | "namespaces">,
  { current, request }: StatementCall,
  { isCommon = false } = {},
) {
  const { bind, values } = binder(listTimes(namespaces, current));
  const run = async (sql: string) => {
    const [text] = await database.row(isCommon ? planOnce(sql) : sql, [...values], request.raw.signal);
    return JSON.parse(text ?? "null");
  };
  return {
    bind,
    /** The rows of a list, from the values bound so far. */
    rows: <T>(sql: string): Promise<T[]> => run(sql),
    /** The object of a statement that selects the text of one, likewise. */
    one: <T extends object>(sql: string): Promise<T> => run(sql),
    /** A count up to `max`, likewise; null beyond. */
    count: async (sql: string, max: number): Promise<number | null> => {
      const count = await run(sql);
      return count > max ? null : count;
    },
  };
}

/** The context of the endpoints under `/v1`. */
export type LookupContext = { lookup: NamesSource & { hashOf: HashOf; known: KnownContracts } };
