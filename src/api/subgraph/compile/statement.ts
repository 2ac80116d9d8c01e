import type { FieldNode } from "graphql";
import { zeroAddress } from "../../../ens/ids.ts";
import type { BothGenerations } from "../../../read/names/v2-domains.ts";
import { columnFacts } from "../../../schema/indexes.ts";
import { hexOf, prefixLength, prefixOfText, shortIdLength, shortIdOf } from "../../../schema/sql.ts";
// Registers the indexes of the entities' tables.
import "../../../schema/subgraph.ts";
import { argument, hasSelection, type Selected, type SelectionContext } from "../request/document.ts";
import { QueryError } from "../schema/errors.ts";
import {
  type DerivedField,
  type EntityField,
  type EntityType,
  entityType,
  filterKeys,
  isObject,
  isSortable,
  type RelationField,
  readEnumName,
  type ScalarField,
  show,
  sortKeys,
  type Value,
} from "../schema/inputs.ts";

/** Context in which one statement is compiled. `v2`: if ENSv2 is indexed. */
export type CompileContext = SelectionContext & {
  statement: StatementBuilder;
  v2?: BothGenerations | undefined;
};

type SqlType = "text" | "numeric" | "text[]" | "numeric[]" | "integer[]";

// A common table expression with the JSON of rows by id, which several root fields show.
type SharedRows = { table: string; ids: string[] };

/** Collects the bound parameters of one SQL statement. */
export type StatementBuilder = ReturnType<typeof createStatement>;

/** Creates an empty statement. Texts of a request are bound, and never become SQL. */
export function createStatement() {
  const values: string[] = [];
  // Lists keep their type, so that the planner sees their values; the other types share a placeholder of type text.
  const placeholders = new Map<string, number>();
  const tables = new Set<string | (() => string)>();
  const shared = new Map<string, SharedRows>();
  let [aliases, isPlannedOnce] = [0, true];
  // Placeholder of a value, cast to an SQL type.
  function bind(value: string, type: SqlType = "text"): string {
    const bound = type === "numeric" ? "text" : type;
    const key = `${bound} ${value}`;
    const number = placeholders.get(key) ?? values.push(value);
    placeholders.set(key, number);
    return `$${number}::${bound}${type === "numeric" ? "::numeric" : ""}`;
  }
  const bindList = (given: readonly string[], type: SqlType) => bind(arrayLiteral([...new Set(given)]), type);
  return {
    bind,
    bindList,
    size: () => values.length,
    alias: () => `t${aliases++}`,
    /** Notes that the best plan depends on the values: some of them have many rows, others few. */
    planEach: () => {
      isPlannedOnce = false;
    },
    /** Adds a common table expression, once. */
    with: (table: string) => void tables.add(table),
    /** Rows shared by fields with the same key. `rowsOf`: SQL of id and JSON by a list of ids. */
    shared(key: string, rowsOf: (ids: string) => string): SharedRows {
      const known = shared.get(key);
      if (known !== undefined) return known;
      const rows: SharedRows = { table: `shared${shared.size}`, ids: [] };
      shared.set(key, rows);
      tables.add(() => `${rows.table} AS MATERIALIZED (${rowsOf(bindList(rows.ids, "text[]"))})`);
      return rows;
    },
    /** The SQL with the parameters that it uses, and whether one plan is good for all values. */
    finish(selected: string): { sql: string; values: string[]; isPlannedOnce: boolean } {
      const all = [...tables].map((table) => (typeof table === "string" ? table : table()));
      const sql = all.length === 0 ? selected : `WITH ${all.join(", ")} ${selected}`;
      // Postgres refuses parameters that the text does not use.
      const used = new Map<string, number>();
      const text = sql.replace(/\$(\d+)/g, (_, number: string) => {
        const next = used.get(number) ?? used.size + 1;
        used.set(number, next);
        return `$${next}`;
      });
      const given = [...used.keys()].map((number) => values[Number(number) - 1] ?? "");
      return { sql: text, values: given, isPlannedOnce };
    },
  };
}

/** A Postgres array literal. Elements contain no NUL. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** A part of the query that reads rows of one table: its alias, and the columns that it needs. */
export type RowScope = {
  type: EntityType;
  alias: string;
  columns: Set<string>;
  depth: number;
  rows: number;
  /** The column that they are sorted by first. */
  sortedBy?: string | undefined;
  /** Whether they are sorted by short ids: they are the rows of one group. */
  isOneGroup?: boolean;
  /** Whether the ENSv2 walk reads a field. */
  isWalked?: boolean;
  /** SQL of the names that the rows are asked for by, of which the ENSv2 walk finds those without a row. */
  named?: string | undefined;
};

/** Creates a scope under an alias of its own. */
export function createScope(
  statement: StatementBuilder,
  type: EntityType,
  { depth, rows }: Pick<RowScope, "depth" | "rows"> = { depth: 0, rows: 0 },
): RowScope {
  return { type, alias: statement.alias(), columns: new Set(), depth, rows };
}

/** SQL of a column of the scope's rows. */
export function buildColumn(scope: RowScope, name: string): string {
  scope.columns.add(name);
  return `${scope.alias}.${name}`;
}

/** Pieces of the scope's `__typename`. */
export function typenamePieces(scope: RowScope): JsonPiece[] {
  if (scope.type.kind === "entity") return [{ text: `"${scope.type.name}"` }];
  return [{ text: '"' }, { sql: buildColumn(scope, "type") }, { text: '"' }];
}

/** Price of a row's ENSv2 walk, in rows. */
export const walkPrice = 9;

const facts = columnFacts();

/** SQL of a column's value as responses and filters have it. */
export const shownColumn = ({ type, alias }: Pick<RowScope, "type" | "alias">, column: string) =>
  facts.bytes.has(`${type.table}.${column}`) ? hexOf(`${alias}.${column}`) : `${alias}.${column}`;

/** SQL of a field's value; a walked field needs `walkJoin`. */
export function valueOfField(scope: RowScope, { column, isWalked, nullable }: ScalarField): string {
  scope.columns.add(isWalked ? "id" : column);
  if (!isWalked) return shownColumn(scope, column);
  scope.isWalked = true;
  const walked = `${scope.alias}v.${column}`;
  return nullable ? walked : `coalesce(${walked}, FALSE)`;
}

/** The join of the ENSv2 walk, if a field needs it. */
export function walkJoin({ v2 }: CompileContext, { alias, isWalked }: RowScope): string {
  return isWalked && v2 ? ` LEFT JOIN LATERAL (${v2.walkOf(alias)}) ${alias}v ON TRUE` : "";
}

/** A part of a JSON text: fixed text, or an SQL expression of type text. */
export type JsonPiece = { text: string } | { sql: string };

/** Pieces of a value in JSON. Ids and bytes need no escaping; Postgres escapes everything that users control. */
export function scalarPieces(field: ScalarField, column: string): JsonPiece[] {
  const quote: JsonPiece = { text: '"' };
  if (!isPlain(field)) {
    const sql = valueSql(field, column);
    return [{ sql: field.nullable ? `coalesce(${sql}, 'null')` : sql }];
  }
  if (!field.nullable) return [quote, { sql: column }, quote];
  return [{ sql: `coalesce('"' || ${column} || '"', 'null')` }];
}

function isPlain({ list, scalar, isId }: ScalarField): boolean {
  return !list && (isId || scalar === "Bytes" || scalar === "BigInt");
}

// SQL of any type, because concat() writes numbers as text. It would call the output function for json, hence the cast.
function valueSql(field: ScalarField, column: string): string {
  if (field.list) return `array_to_json(${field.scalar === "BigInt" ? `${column}::text[]` : column})::text`;
  if (field.scalar === "String") return `to_json(${column})::text`;
  if (field.scalar === "Boolean") return `CASE ${column} WHEN TRUE THEN 'true' WHEN FALSE THEN 'false' END`;
  return field.nullable ? `${column}::text` : column;
}

/** Pieces of an object that is known by its id alone, an SQL expression. */
export function objectOfId(type: EntityType, id: string, fields: readonly Selected[]): JsonPiece[] {
  return objectPieces(fields, ({ name, nodes }) => {
    const field = type.fields.get(name);
    const isLeftOut = field !== undefined && field.kind !== "scalar" && !hasSelection(nodes);
    return isLeftOut ? undefined : buildPlaceholderPieces(type, field, id);
  });
}

/** Pieces of an object with the fields that have a value. */
export function objectPieces(
  fields: readonly Selected[],
  piecesOf: (field: Selected) => JsonPiece[] | undefined,
): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  for (const field of fields) {
    const value = piecesOf(field);
    if (value !== undefined)
      pieces.push({ text: `${pieces.length === 0 ? "{" : ","}"${field.key}":` }, ...value);
  }
  return [...pieces, { text: pieces.length === 0 ? "{}" : "}" }];
}

function buildPlaceholderPieces(type: EntityType, field: EntityField | undefined, id: string): JsonPiece[] {
  if (field === undefined) return [{ text: `"${type.name}"` }];
  if (field.name === "id") return [{ text: '"' }, { sql: id }, { text: '"' }];
  if (field.name === "address") return [{ text: `"${zeroAddress}"` }];
  return [{ text: field.kind === "derived" && field.many ? "[]" : "null" }];
}

// Usual lengths of values in JSON.
const usualBytes = { ID: 68, String: 24, Bytes: 68, BigInt: 12, Int: 8, Boolean: 5 };

/** Estimated bytes of a field in a row under the key, without those of its own fields. */
export function countBytes(field: EntityField | undefined, key: string): number {
  return key.length + 4 + (field?.kind === "scalar" ? usualBytes[field.scalar] : 0);
}

// A Postgres function takes up to 100 arguments.
const maxArguments = 100;

/** One SQL expression of type text that joins the pieces. */
export function joinPieces(statement: StatementBuilder, pieces: readonly JsonPiece[]): string {
  const parts: string[] = [];
  let text = "";
  for (const piece of [...pieces, undefined]) {
    if (piece !== undefined && "text" in piece) {
      text += piece.text;
      continue;
    }
    if (text !== "") parts.push(statement.bind(text));
    text = "";
    if (piece !== undefined) parts.push(piece.sql);
  }
  return concat(parts);
}

function concat(parts: string[]): string {
  if (parts.length === 0) return "''";
  if (parts.length <= maxArguments) return `concat(${parts.join(", ")})`;
  const groups: string[] = [];
  for (let start = 0; start < parts.length; start += maxArguments) {
    groups.push(concat(parts.slice(start, start + maxArguments)));
  }
  return concat(groups);
}

/** The tables of both generations with rows of a scope's type; undefined if one table has them all. */
export function buildArms({ statement, v2 }: CompileContext, { type, alias, named }: RowScope) {
  const arms = v2?.armsOf(type.table, alias, named);
  if (v2 && arms) statement.with(v2.at);
  return arms;
}

/** FROM and WHERE of a scope's rows that meet a condition, with the walk that its columns need. */
export function rowsSql(context: CompileContext, scope: RowScope, where: string): string {
  const { type, alias, columns } = scope;
  const arms = buildArms(context, scope);
  const walk = walkJoin(context, scope);
  if (arms === undefined) return `${type.table} ${alias}${walk} WHERE ${where}`;
  const read = [...new Set(["id", ...columns])].map((column) => `${alias}.${column}`).join(", ");
  const parts = arms.map((arm) => `SELECT ${read} FROM ${arm.from} WHERE ${where} AND ${arm.where}`);
  return `(${parts.join(" UNION ALL ")}) ${alias}${walk} WHERE TRUE`;
}

// From `deepSkip` rows on, an index alone finds the page's first row, and only the page is read from the table. The
// statement repeats the condition, so conditions above `longWhere` characters are read the plain way.
const [deepSkip, longWhere] = [100, 10_000];

/** SELECT of a page of the rows that meet a condition. */
export function pageSql(
  context: CompileContext,
  scope: RowScope,
  { where, order, first, skip }: { where: string; order: Order; first: number; skip: number },
): string {
  const { type, alias } = scope;
  const read = [...scope.columns].map((column) => `${alias}.${column}`).join(", ");
  const offset = skip === 0 ? "" : ` OFFSET ${skip}`;
  const by = (terms: readonly string[]) => terms.map((term) => `${term}${order.direction}`).join(", ");
  const sorted = `ORDER BY ${by(order.terms)}`;
  const arms = buildArms(context, scope);
  if (arms === undefined) {
    const page = `FROM ${[`${type.table} ${alias}`, ...order.joins].join(" ")} WHERE ${where}`;
    if (skip < deepSkip || !order.isUnique || where.length > longWhere)
      return `SELECT ${read} ${page} ${sorted} LIMIT ${first}${offset}`;
    const terms = order.terms.join(", ");
    // Within the inner statement, the alias stands for that statement's rows.
    const isAfter = `(${terms}) ${order.direction === "" ? ">=" : "<="} (SELECT ${terms} ${page} ${sorted} LIMIT 1${offset})`;
    return `SELECT ${read} ${page} AND ${isAfter} ${sorted} LIMIT ${first}`;
  }
  // Each table gives as many rows as the page may have, in the order of its own index.
  const keys = order.terms.map((term, index) => `${term} AS s${index}`).join(", ");
  const parts = arms.map(
    (arm) =>
      `(SELECT ${read}, ${keys} FROM ${[arm.from, ...order.joins].join(" ")} WHERE ${where} AND ${arm.where} ` +
      `${sorted} LIMIT ${first + skip})`,
  );
  const merged = order.terms.map((_, index) => `${alias}.s${index}`);
  return `SELECT ${read} FROM (${parts.join(" UNION ALL ")}) ${alias} ORDER BY ${by(merged)} LIMIT ${first}${offset}`;
}

// `isUnique`: the terms are columns of the rows themselves and never null, so that they can be compared as a row.
type Order = { terms: string[]; direction: "" | " DESC"; joins: string[]; isUnique: boolean };

/**
 * ORDER BY of a list, which the scope notes: ties by id in the same direction, nulls last ascending and first
 * descending; without `orderBy`, by ascending id. `linkedBy`: the column that links its rows to the row above.
 */
export function orderSql(
  context: CompileContext,
  scope: RowScope,
  { node, linkedBy }: { node: FieldNode; linkedBy: string | undefined },
): Order {
  const { type, alias } = scope;
  const orderBy = argument(context, node, "orderBy");
  const direction = readDirection(argument(context, node, "orderDirection"));
  const name = orderBy === null ? "id" : readEnumName(orderBy);
  scope.sortedBy = "id";
  scope.isOneGroup =
    name === "id" && isOneGroup(type, { linkedBy, filter: argument(context, node, "where") });
  const shortId = shortIdOf(`${alias}.id`);
  const id = scope.isOneGroup ? [shortId, `${alias}.id`] : [`${alias}.id`];
  if (orderBy === null) return { terms: id, direction: "", joins: [], isUnique: true };
  const key = name === undefined ? undefined : sortKeys(type).get(name);
  if (key === undefined) {
    throw new QueryError(
      `Invalid value provided for argument \`orderBy\`: \`${type.name}_orderBy\` has no value ${show(orderBy)}`,
    );
  }
  if (!isSortable(key)) {
    throw new QueryError(`Ordering by \`${key.name}\` is not supported for type \`${type.name}\``, {
      scope: "group",
    });
  }
  const by = (columns: string[], isUnique = false, joins: string[] = []) => ({
    ...{ terms: [...columns, ...id], direction },
    ...{ joins, isUnique },
  });
  const ties = (column: string) => (facts.grouped.has(`${type.table}.${column}`) ? [shortId] : []);
  const { field, child } = key;
  scope.sortedBy = child === undefined && field.kind !== "derived" ? field.column : undefined;
  if (field.kind === "scalar")
    return field.column === "id"
      ? by([], true)
      : by([...sortColumns(scope, field.column), ...ties(field.column)], !field.nullable);
  // Every address in a row has an account row, whose id the relation holds.
  if (field.kind === "relation" && field.target === "Account" && child?.column === "id")
    return by([`${alias}.${field.column}`, ...ties(field.column)]);
  const inner = createScope(context.statement, entityType(field.target));
  const column = child?.column ?? "id";
  inner.columns.add(column);
  const link = linkSql(alias, field, inner.alias);
  // OFFSET keeps Postgres from reading all rows of both generations for the join.
  const join =
    buildArms(context, inner) === undefined
      ? `${inner.type.table} ${inner.alias} ON ${link}`
      : `LATERAL (SELECT * FROM ${rowsSql(context, inner, link)} OFFSET 0) ${inner.alias} ON TRUE`;
  return by(sortColumns(inner, column), false, [`LEFT JOIN ${join}`]);
}

/** The condition that the row under `other` is related to the row under `alias`, by a field of the latter. */
export function linkSql(alias: string, field: RelationField | DerivedField, other: string): string {
  return field.kind === "relation"
    ? `${other}.id = ${alias}.${field.column}`
    : `${other}.${field.by} = ${alias}.id`;
}

function readDirection(value: Value): "" | " DESC" {
  const name = value === null ? "asc" : readEnumName(value);
  if (name === "asc") return "";
  if (name === "desc") return " DESC";
  throw new QueryError(
    `Invalid value provided for argument \`orderDirection\`: \`OrderDirection\` has no value ${show(value)}`,
  );
}

// Whether a list has rows of one group only, by what links it to the row above or by its filter.
function isOneGroup(
  type: EntityType,
  { linkedBy = "", filter }: { linkedBy: string | undefined; filter: Value },
): boolean {
  const isGroup = (column: string) => facts.grouped.has(`${type.table}.${column}`);
  const keys = filterKeys(type);
  const isEqual = ([name, value]: [string, Value]) => {
    const key = keys.get(name);
    if (value === null || key?.kind !== "column" || key.operator !== "") return false;
    return key.field.kind !== "derived" && isGroup(key.field.column);
  };
  return isGroup(linkedBy) || (isObject(filter) && Object.entries(filter).some(isEqual));
}

/** SQL of the first characters of a column, and their number. */
export type Prefix = { sql: string; length: number };

/** The part of a column that the index holds by which rows are found; undefined for columns that are indexed whole. */
export function indexedPrefix(
  { type, alias, isOneGroup }: Pick<RowScope, "type" | "alias" | "isOneGroup">,
  column: string,
): Prefix | undefined {
  if (facts.prefixed.has(`${type.table}.${column}`))
    return { sql: prefixOfText(`${alias}.${column}`), length: prefixLength };
  return isOneGroup && column === "id" ? { sql: shortIdOf(`${alias}.id`), length: shortIdLength } : undefined;
}

// A long text is sorted by its indexed part first: the order stays the same, and Postgres sorts only ties.
function sortColumns(scope: RowScope, column: string): string[] {
  const prefix = indexedPrefix(scope, column);
  return [...(prefix === undefined ? [] : [prefix.sql]), `${scope.alias}.${column}`];
}
