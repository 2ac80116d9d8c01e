import { is, SQL, Table } from "drizzle-orm";
import { getTableConfig, type PgColumn, PgDialect, type PgTable } from "drizzle-orm/pg-core";
import * as registrars from "../../src/schema/registrars.ts";
import * as subgraph from "../../src/schema/subgraph.ts";

const dialect = new PgDialect({ casing: "snake_case" });

/** The tables of the schema by their SQL names. */
export const tables = new Map(
  [...Object.values(subgraph), ...Object.values(registrars)]
    .filter((table): table is typeof table & PgTable => is(table, Table))
    .map((table) => [getTableConfig(table).name, table as PgTable]),
);

/** CREATE TABLE statements for the schema's tables, and for the checkpoint table that Ponder adds to them. */
export function tableStatements(): string[] {
  const create = [...tables.values()].map((table) => {
    const { name, columns } = getTableConfig(table);
    const lines = columns.map((column) =>
      [
        column.name,
        column.getSQLType(),
        column.primary ? "PRIMARY KEY" : column.notNull ? "NOT NULL" : "",
      ].join(" "),
    );
    return `CREATE TABLE ${name} (${lines.join(", ")})`;
  });
  const checkpoints =
    "CREATE TABLE _ponder_checkpoint (chain_name text PRIMARY KEY, chain_id bigint NOT NULL, " +
    "safe_checkpoint varchar(75), latest_checkpoint varchar(75) NOT NULL, finalized_checkpoint varchar(75))";
  return [...create, checkpoints];
}

/** CREATE INDEX statements for the schema's indexes, named as Ponder's own would not clash. */
export function indexStatements(): string[] {
  return [...tables.values()].flatMap((table) => {
    const { name, indexes } = getTableConfig(table);
    return indexes.map(({ config }, place) => {
      const parts = config.columns.map((part) =>
        is(part, SQL)
          ? dialect.sqlToQuery(part).sql.replaceAll(`"${name}".`, "")
          : `"${(part as PgColumn).name}"`,
      );
      const where = config.where ? ` WHERE ${dialect.sqlToQuery(config.where).sql}` : "";
      return `CREATE INDEX ${name}_index_${place} ON ${name} USING ${config.method ?? "btree"} (${parts.join(", ")})${where}`;
    });
  });
}
