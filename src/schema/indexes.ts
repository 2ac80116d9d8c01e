import { getTableColumns, getTableName, type Table } from "drizzle-orm";
import { prefixOfText, shortIdOf } from "./sql.ts";

// The indexes of the tables, and what statements need to know of them.

type Column = { name: string };

/**
 * A sort key of an index: a column, its first characters if values may be longer than an index entry, its length, or a
 * short id.
 */
type Key = Column | { prefixOf: Column } | { lengthOf: Column } | { shortOf: Column };

/**
 * Keys of an index; of a partial one with its condition in SQL; of a hash index, which finds equal values in less
 * space.
 */
type Keys = readonly Key[] | { on: readonly Key[]; where: string } | { hashOf: Column };

/**
 * What indexes alone do not tell. `crowded`: a column in which queries ask for the few values that most rows have, such
 * as the subnames of eth. `isSearched`: names are found by any part of them.
 */
type Traits = { crowded?: Column; isSearched?: boolean };

const definitions = new Map<Table, { indexes: Record<string, Keys>; traits: Traits }>();

/**
 * Registers the indexes of a table. Ponder would rebuild its own after each crash; these are built once
 * (src/operations/indexes.ts).
 */
export function indexed<T extends Table>(
  table: T,
  define: (table: T) => Record<string, Keys>,
  traits: (table: T) => Traits = () => ({}),
): T {
  definitions.set(table, { indexes: define(table), traits: traits(table) });
  return table;
}

export const prefixOf = (column: Column): Key => ({ prefixOf: column });
export const lengthOf = (column: Column): Key => ({ lengthOf: column });
export const shortOf = (id: Column): Key => ({ shortOf: id });

/** Keys of an index of the rows that have a value in the first column. */
export const present = (first: Column, ...others: Key[]): Keys => ({
  on: [first, ...others],
  where: `${toSqlName(first.name)} IS NOT NULL`,
});

/** An index: its name and its table's name in SQL, its access method, and what follows that in CREATE INDEX. */
export type TableIndex = { name: string; table: string; method: "btree" | "hash" | "gin"; keys: string };

/** The indexes of all tables whose modules are loaded. */
export function tableIndexes(): TableIndex[] {
  return [...definitions].flatMap(([one, { indexes }]) => {
    const table = getTableName(one);
    return Object.entries(indexes).map(([name, keys]) => ({
      name: `${table}_${toSqlName(name)}`,
      table,
      ...buildDefinition(keys),
    }));
  });
}

/**
 * The names of the tables whose names are searched, and the crowded columns by table, of all tables whose modules are
 * loaded.
 */
export function tableTraits(): { searched: string[]; crowded: ReadonlyMap<string, string> } {
  const all = [...definitions].map(([table, { traits }]) => ({ ...traits, table: getTableName(table) }));
  return {
    searched: all.flatMap(({ table, isSearched }) => (isSearched ? table : [])),
    crowded: new Map(
      all.flatMap(({ table, crowded }) => (crowded ? [[table, toSqlName(crowded.name)]] : [])),
    ),
  };
}

/** Columns as `<table>.<column>`, of all tables whose modules are loaded. */
type ColumnFacts = {
  /** Indexes hold their first characters: values may be longer than an entry. */
  prefixed: ReadonlySet<string>;
  /** An index has the rows with one value in the order of their short ids. */
  grouped: ReadonlySet<string>;
  /** Bytes, which are hex in texts. */
  bytes: ReadonlySet<string>;
};

/** What statements need to know of columns: how indexes have them, and which are bytes. */
export function columnFacts(): ColumnFacts {
  const [prefixed, grouped, bytes] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const [one, { indexes }] of definitions) {
    const nameOf = ({ name }: Column) => `${getTableName(one)}.${toSqlName(name)}`;
    for (const column of Object.values(getTableColumns(one)))
      if (column.getSQLType() === "bytea") bytes.add(nameOf(column));
    for (const keys of Object.values(indexes)) {
      if ("hashOf" in keys) continue;
      const [first, ...others] = "on" in keys ? keys.on : keys;
      const isGroup = others.length === 1 && others[0] !== undefined && "shortOf" in others[0];
      if (isGroup && first !== undefined && "name" in first) grouped.add(nameOf(first));
      for (const key of "on" in keys ? keys.on : keys)
        if ("prefixOf" in key) prefixed.add(nameOf(key.prefixOf));
    }
  }
  return { prefixed, grouped, bytes };
}

function buildDefinition(keys: Keys): Pick<TableIndex, "method" | "keys"> {
  if ("hashOf" in keys) return { method: "hash", keys: `(${keySql(keys.hashOf)})` };
  if ("where" in keys) return { method: "btree", keys: `(${buildKeysSql(keys.on)}) WHERE ${keys.where}` };
  return { method: "btree", keys: `(${buildKeysSql(keys)})` };
}

const buildKeysSql = (keys: readonly Key[]) => keys.map(keySql).join(", ");

function keySql(key: Key): string {
  if ("prefixOf" in key) return prefixOfText(toSqlName(key.prefixOf.name));
  if ("shortOf" in key) return shortIdOf(toSqlName(key.shortOf.name));
  return "lengthOf" in key ? `char_length(${toSqlName(key.lengthOf.name)})` : toSqlName(key.name);
}

// ponder: columns are named in snake case after their keys.
function toSqlName(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
