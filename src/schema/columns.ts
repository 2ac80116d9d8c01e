import {
  onchainTable,
  type PgColumnBuilderBase,
  type PgColumnsBuilders,
  type PrimaryKeyBuilder,
  primaryKey,
} from "ponder";

type AdaptedColumn = {
  dataType: string;
  getSQLType(): string;
  mapToDriverValue(value: unknown): unknown;
  mapFromDriverValue(value: unknown): unknown;
};

/**
 * A text column in byte order, whatever the database's locale, as in graph-node ("C" collation). NUL characters, which
 * Postgres cannot hold, are removed on write, as in graph-node's store.
 */
export function text(t: PgColumnsBuilders) {
  return adaptColumn(t.text(), (column) => {
    column.getSQLType = inByteOrder;
    column.mapToDriverValue = stripNul;
  });
}

/** A text column for `0x…` ids, addresses and hashes: lower case, byte order. */
export function hex(t: PgColumnsBuilders) {
  return adaptColumn(t.hex(), (column) => {
    column.getSQLType = inByteOrder;
  });
}

/**
 * A column for `0x…` hashes that are only shown: bytes in Postgres, which take half the space. SQL reads them through
 * `hexOf` (sql.ts).
 */
export function bytes(t: PgColumnsBuilders) {
  return adaptColumn(t.hex(), (column) => {
    column.getSQLType = () => "bytea";
    column.mapToDriverValue = (value) => Buffer.from(String(value).slice(2), "hex");
    column.mapFromDriverValue = (value) => `0x${Buffer.from(value as Uint8Array).toString("hex")}`;
  });
}

/**
 * A list column whose lists are replaced, never changed in place: Ponder may then copy rows as plain values, in a tenth
 * of the time.
 */
export function list<B extends PgColumnBuilderBase>(builder: B): B {
  return adaptColumn(builder, (column) => {
    column.dataType = "string";
  });
}

/** A table whose primary key has several columns. */
export const keyed = <
  N extends string,
  C extends Record<string, PgColumnBuilderBase>,
  K extends keyof C & string,
>(
  name: N,
  key: readonly K[],
  columns: (t: PgColumnsBuilders) => C,
) =>
  onchainTable<N, C, { pk: PrimaryKeyBuilder<K> }>(name as never, columns, (table) => ({
    pk: primaryKey({ columns: key.map((column) => table[column]) as never }) as PrimaryKeyBuilder<never>,
  }));

// Drizzle has no collation option. The type name is the only place to specify one for the primary key, every index and
// every comparison.
function inByteOrder(): string {
  return 'text COLLATE "C"';
}

function adaptColumn<B extends PgColumnBuilderBase>(builder: B, adapt: (column: AdaptedColumn) => void): B {
  const builds = builder as unknown as { build(table: unknown): AdaptedColumn };
  const build = builds.build.bind(builder);
  builds.build = (table) => {
    const column = build(table);
    adapt(column);
    return column;
  };
  return builder;
}

function stripNul(value: unknown): unknown {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "") : value;
}
