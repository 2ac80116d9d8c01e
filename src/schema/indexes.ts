import { getTableName, type Table } from "drizzle-orm";
import { shortIdOf } from "./sql.ts";

type Column = { name: string };

/** A sort key of an index: a column, its first 256 characters if values may be longer than an index entry, its length, or a short id. */
type Key = Column | { prefixOf: Column } | { lengthOf: Column } | { shortOf: Column };

/** Keys of an index; of a partial one with its condition in SQL; of a hash index, which finds equal values in less space. */
type Keys = readonly Key[] | { on: readonly Key[]; where: string } | { hashOf: Column };

const definitions = new Map<Table, Record<string, Keys>>();

/** Registers the indexes of a table. Ponder would rebuild its own after each crash; these are built once (src/operations/indexes.ts). */
export function indexed<T extends Table>(table: T, define: (table: T) => Record<string, Keys>): T {
  definitions.set(table, define(table));
  return table;
}

export const prefixOf = (column: Column): Key => ({ prefixOf: column });
export const lengthOf = (column: Column): Key => ({ lengthOf: column });
export const shortOf = (id: Column): Key => ({ shortOf: id });

/** Keys of an index of the rows that have a value in the first column. */
export const present = (first: Column, ...others: Key[]): Keys => ({
  on: [first, ...others],
  where: `${sqlName(first.name)} IS NOT NULL`,
});

/** An index: its name and its table's name in SQL, its access method, and what follows that in CREATE INDEX. */
export type TableIndex = { name: string; table: string; method: "btree" | "hash" | "gin"; keys: string };

/** The indexes of all tables whose modules are loaded. */
export function tableIndexes(): TableIndex[] {
  return [...definitions].flatMap(([one, indexes]) => {
    const table = getTableName(one);
    return Object.entries(indexes).map(([name, keys]) => ({
      name: `${table}_${sqlName(name)}`,
      table,
      ...definitionOf(keys),
    }));
  });
}

function definitionOf(keys: Keys): Pick<TableIndex, "method" | "keys"> {
  if ("hashOf" in keys) return { method: "hash", keys: `(${keySql(keys.hashOf)})` };
  if ("where" in keys) return { method: "btree", keys: `(${listOf(keys.on)}) WHERE ${keys.where}` };
  return { method: "btree", keys: `(${listOf(keys)})` };
}

const listOf = (keys: readonly Key[]) => keys.map(keySql).join(", ");

function keySql(key: Key): string {
  if ("prefixOf" in key) return `left(${sqlName(key.prefixOf.name)}, 256)`;
  if ("shortOf" in key) return shortIdOf(sqlName(key.shortOf.name));
  return "lengthOf" in key ? `char_length(${sqlName(key.lengthOf.name)})` : sqlName(key.name);
}

// ponder: columns are named in snake case after their keys.
function sqlName(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
