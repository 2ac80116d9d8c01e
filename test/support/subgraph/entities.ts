import { getTableColumns, getTableName } from "drizzle-orm";
import type { Entities, Entity } from "../../../devnet/entities.ts";
import { jsonRow, tables } from "../create-tables.ts";

const tableOf: { [type: string]: string } = {
  Domain: "domain",
  Account: "account",
  Registration: "registration",
  WrappedDomain: "wrapped_domain",
  Resolver: "resolver",
};

/** INSERT statements with their parameters that put a dump's entities into the tables. */
export function insertStatements(dump: Entities): { text: string; values: unknown[] }[] {
  return Object.entries(dump).flatMap(([type, entities]) => {
    const table = tables.get(tableOf[type] ?? eventTable(entities[0]));
    if (table === undefined || entities.length === 0) return [];
    const columns = Object.entries(getTableColumns(table));
    const list = columns.map(([, column]) => `${column.name} ${column.getSQLType()}`);
    const rows = entities.map((entity) =>
      jsonRow(
        getTableName(table),
        Object.fromEntries(columns.map(([key, column]) => [column.name, storedValue(type, entity, key)])),
      ),
    );
    return [
      {
        text: `INSERT INTO ${getTableName(table)} SELECT * FROM json_to_recordset($1::text::json) AS row(${list.join(", ")})`,
        values: [JSON.stringify(rows)],
      },
    ];
  });
}

function eventTable(entity: Entity | undefined): string {
  if (entity === undefined) return "";
  return "domain" in entity
    ? "domain_event"
    : "registration" in entity
      ? "registration_event"
      : "resolver_event";
}

function storedValue(type: string, entity: Entity, column: string): unknown {
  if (column === "type") return type;
  if (column === "changeBlock") return entity["changeBlock"] ?? 0;
  // MulticoinAddrChanged.addr is bytes, AddrChanged.addr is an account.
  if (column === "addr" && type === "AddrChanged") return null;
  if (column === "addrId" && type === "MulticoinAddrChanged") return null;
  if (column === "ownerId" && type === "AuthorisationChanged") return null;
  return entity[column] ?? entity[column.replace(/Id$/, "")] ?? null;
}
