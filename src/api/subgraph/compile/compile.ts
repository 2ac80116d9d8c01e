import type { FieldNode, SelectionSetNode } from "graphql";
import type { SubgraphLimits } from "../../../config/limits.ts";
import {
  argument,
  collectFields,
  idArgument,
  range,
  type Selected,
  type SelectionContext,
} from "../request/fields.ts";
import {
  type DerivedField,
  type EntityType,
  entityType,
  type Field,
  type RelationField,
} from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { orderSql } from "./order.ts";
import { joinPieces, type Piece, type Statement, scalarPieces } from "./statement.ts";
import { all, typeSql, whereSql } from "./where.ts";

/** What the parts of one statement share. */
export type CompileContext = SelectionContext & {
  statement: Statement;
  limits: SubgraphLimits;
  /** Rows that the query returns if all its lists are full. */
  rows: number;
};

/** Marks a non-null relation that points nowhere. JSON text never contains it. */
export const danglingMark = "\u0001";

const zeroAddress = "0x0000000000000000000000000000000000000000";

/** A part of the query that reads rows of one table: its alias, and the columns that it needs. */
type Scope = { type: EntityType; alias: string; columns: Set<string>; depth: number; rows: number };

/** SQL of a root field for one entity: JSON text, or null. */
export function singleSql(
  context: CompileContext,
  type: EntityType,
  { nodes }: Selected,
): string | undefined {
  const alias = context.statement.alias();
  const id = idArgument(nodes[0], context.variables, context.limits);
  const scope: Scope = { type, alias, columns: new Set(), depth: context.limits.depth, rows: 1 };
  const object = objectSql(context, scope, nodes);
  if (object === undefined) return undefined;
  countRows(context, 1);
  const found = id.includes("\0") ? "FALSE" : `${alias}.id = ${context.statement.bind(id)}`;
  return `(SELECT ${object} FROM ${type.table} ${alias} WHERE ${all([found, ...typeSql(context.statement, type, alias)])})`;
}

/** SQL of a root field for a list: JSON text. */
export function listSql(context: CompileContext, type: EntityType, { nodes }: Selected): string | undefined {
  return listOf(context, type, nodes, { depth: context.limits.depth, rows: 1, link: undefined });
}

/** SQL for the number of rows behind a list, and for whether there are more than it returns. */
export function totalsSql(context: CompileContext, type: EntityType, { nodes }: Selected) {
  const alias = context.statement.alias();
  const { first, skip } = range(nodes[0], context.variables, context.limits);
  const filter = argument(nodes[0], "where", context.variables, context.limits);
  const where = [...typeSql(context.statement, type, alias), ...whereSql(context, type, alias, filter)];
  const from = `FROM ${type.table} ${alias} WHERE ${all(where)}`;
  return {
    count: `(SELECT count(*)::text ${from})`,
    truncated: `EXISTS (SELECT ${from} OFFSET ${skip + first} LIMIT 1)::text`,
  };
}

function listOf(
  context: CompileContext,
  type: EntityType,
  nodes: Selected["nodes"],
  { depth, rows, link }: { depth: number; rows: number; link: ((alias: string) => string) | undefined },
): string | undefined {
  const { statement, variables, limits } = context;
  const node = nodes[0];
  const alias = statement.alias();
  const { first, skip } = range(node, variables, limits);
  const order = orderSql(statement, type, alias, {
    orderBy: argument(node, "orderBy", variables, limits),
    orderDirection: argument(node, "orderDirection", variables, limits),
  });
  const filter = whereSql(context, type, alias, argument(node, "where", variables, limits));
  const where = [...(link === undefined ? [] : [link(alias)]), ...typeSql(statement, type, alias), ...filter];
  const scope: Scope = { type, alias, columns: new Set(["id"]), depth, rows: rows * first };
  const object = objectSql(context, scope, nodes);
  if (object === undefined) return undefined;
  countRows(context, scope.rows);
  const columns = [...scope.columns].map((column) => `${alias}.${column}`).join(", ");
  const page =
    `SELECT ${columns} FROM ${[`${type.table} ${alias}`, ...order.joins].join(" ")} WHERE ${all(where)} ` +
    `ORDER BY ${order.by.join(", ")} LIMIT ${first}${skip === 0 ? "" : ` OFFSET ${skip}`}`;
  return `(SELECT concat('[', string_agg(${object}, ','), ']') FROM (${page}) ${alias})`;
}

function countRows(context: CompileContext, rows: number): void {
  context.rows += rows;
  if (context.rows <= context.limits.rows) return;
  throw new QueryError(
    `The query may return more than ${context.limits.rows} entities (the product of \`first\` down its lists). ` +
      "Ask for fewer with `first`, or in several requests.",
  );
}

// subgraph: an object without a selection is left out of the response.
function objectSql(context: CompileContext, scope: Scope, nodes: Selected["nodes"]): string | undefined {
  const sets = nodes.flatMap((node) => node.selectionSet ?? []);
  if (sets.length === 0) return undefined;
  if (scope.depth <= 0) {
    throw new QueryError(`query has a depth that exceeds the limit of \`${context.limits.depth}\``, {
      node: nodes[0],
    });
  }
  const { type } = scope;
  if (type.kind === "entity")
    return entitySql(context, scope, collectFields(context, type.name, type.name, sets));
  return interfaceSql(context, scope, sets);
}

// Types with the same selected fields share one branch.
function interfaceSql(context: CompileContext, scope: Scope, sets: SelectionSetNode[]): string {
  const { type, alias } = scope;
  const branches = new Map<string, { names: string[]; fields: Selected[] }>();
  const ids = new Map<FieldNode, number>();
  for (const name of type.implementers) {
    const fields = collectFields(context, name, type.name, sets);
    const shape = fields
      .map(({ key, nodes }) => `${key}:${nodes.map((node) => idOf(ids, node)).join(".")}`)
      .join();
    const branch = branches.get(shape);
    if (branch === undefined) branches.set(shape, { names: [name], fields });
    else branch.names.push(name);
  }
  const sql = [...branches.values()].map(({ names, fields }) => {
    const [only] = names;
    const concrete = names.length === 1 && only !== undefined ? entityType(only) : type;
    return { names, object: entitySql(context, { ...scope, type: concrete }, fields) };
  });
  const [first, second] = sql;
  if (first === undefined || second === undefined) return first?.object ?? "'{}'";
  scope.columns.add("type");
  const cases = sql.map(({ names, object }) => {
    const known = names.map((name) => context.statement.bind(name)).join(", ");
    return `WHEN ${alias}.type IN (${known}) THEN ${object}`;
  });
  return `CASE ${cases.join(" ")} ELSE '{}' END`;
}

function idOf(ids: Map<FieldNode, number>, node: FieldNode): number {
  const id = ids.get(node) ?? ids.size;
  ids.set(node, id);
  return id;
}

function entitySql(context: CompileContext, scope: Scope, fields: Selected[]): string {
  const pieces: Piece[] = [];
  for (const selected of fields) {
    const value = fieldPieces(context, scope, selected);
    if (value === undefined) continue;
    pieces.push({ text: `${pieces.length === 0 ? "{" : ","}"${selected.key}":` }, ...value);
  }
  if (pieces.length === 0) return "'{}'";
  return joinPieces(context.statement, [...pieces, { text: "}" }]);
}

function fieldPieces(context: CompileContext, scope: Scope, selected: Selected): Piece[] | undefined {
  if (selected.name === "__typename") return typenamePieces(scope);
  const field = scope.type.fields.get(selected.name);
  if (field === undefined) throw new Error(`${scope.type.name} has no field ${selected.name}.`);
  if (field.kind === "scalar") return scalarPieces(field, columnOf(scope, field.column));
  if (field.kind === "relation") return relationPieces(context, scope, field, selected);
  const sql = derivedSql(context, scope, field, selected);
  return sql === undefined ? undefined : [{ sql }];
}

function typenamePieces(scope: Scope): Piece[] {
  if (scope.type.kind === "entity") return [{ text: `"${scope.type.name}"` }];
  return [{ text: '"' }, { sql: columnOf(scope, "type") }, { text: '"' }];
}

function relationPieces(
  context: CompileContext,
  scope: Scope,
  field: RelationField,
  { nodes }: Selected,
): Piece[] | undefined {
  const { statement } = context;
  const target = entityType(field.target);
  const id = columnOf(scope, field.column);
  // Every address in a row has an account row: selecting no more than its id needs no look-up.
  if (target.name === "Account" && isKnown(context, target, nodes)) {
    const known = placeholderPieces(context, target, id, nodes);
    if (!field.nullable) return known;
    return [{ sql: `CASE WHEN ${id} IS NULL THEN 'null' ELSE ${joinPieces(statement, known)} END` }];
  }
  const alias = statement.alias();
  const inner: Scope = { type: target, alias, columns: new Set(), depth: scope.depth - 1, rows: scope.rows };
  const object = objectSql(context, inner, nodes);
  if (object === undefined) return undefined;
  countRows(context, scope.rows);
  const found = `(SELECT ${object} FROM ${target.table} ${alias} WHERE ${alias}.id = ${id})`;
  if (field.nullable) return [{ sql: `coalesce(${found}, 'null')` }];
  const missing = statement.bind(`${danglingMark}${field.name}${danglingMark}`);
  if (target.name !== "Resolver") return [{ sql: `coalesce(${found}, ${missing})` }];
  // subgraph: a resolver set to zero is kept as the bare zero address, which no resolver row has. Clients
  // read the id of every NewResolver, so an object with that address stands in.
  const zero = `right(${id}, ${zeroAddress.length}) = ${statement.bind(zeroAddress)}`;
  const stand = joinPieces(statement, placeholderPieces(context, target, id, nodes));
  return [{ sql: `coalesce(${found}, CASE WHEN ${zero} THEN ${stand} ELSE ${missing} END)` }];
}

function isKnown(context: CompileContext, type: EntityType, nodes: Selected["nodes"]): boolean {
  const sets = nodes.flatMap((node) => node.selectionSet ?? []);
  const fields = collectFields(context, type.name, type.name, sets);
  return fields.length > 0 && fields.every(({ name }) => name === "id" || name === "__typename");
}

// An object of which nothing but the id is known.
function placeholderPieces(
  context: CompileContext,
  type: EntityType,
  id: string,
  nodes: Selected["nodes"],
): Piece[] {
  const sets = nodes.flatMap((node) => node.selectionSet ?? []);
  const pieces: Piece[] = [];
  for (const { key, name, nodes: asked } of collectFields(context, type.name, type.name, sets)) {
    const field = type.fields.get(name);
    const isObject = field !== undefined && field.kind !== "scalar";
    if (isObject && asked.every((node) => node.selectionSet === undefined)) continue;
    pieces.push(
      { text: `${pieces.length === 0 ? "{" : ","}"${key}":` },
      ...placeholderField(type, field, id),
    );
  }
  return [...(pieces.length === 0 ? [{ text: "{" }] : pieces), { text: "}" }];
}

function placeholderField(type: EntityType, field: Field | undefined, id: string): Piece[] {
  if (field === undefined) return [{ text: `"${type.name}"` }];
  if (field.name === "id") return [{ text: '"' }, { sql: id }, { text: '"' }];
  if (field.name === "address") return [{ text: `"${zeroAddress}"` }];
  return [{ text: field.kind === "derived" && field.many ? "[]" : "null" }];
}

function derivedSql(
  context: CompileContext,
  scope: Scope,
  field: DerivedField,
  { nodes }: Selected,
): string | undefined {
  const target = entityType(field.target);
  const id = columnOf(scope, "id");
  const depth = scope.depth - 1;
  if (field.many) {
    return listOf(context, target, nodes, {
      depth,
      rows: scope.rows,
      link: (alias) => `${alias}.${field.by} = ${id}`,
    });
  }
  const alias = context.statement.alias();
  const object = objectSql(
    context,
    { type: target, alias, columns: new Set(), depth, rows: scope.rows },
    nodes,
  );
  if (object === undefined) return undefined;
  countRows(context, scope.rows);
  return `coalesce((SELECT ${object} FROM ${target.table} ${alias} WHERE ${alias}.${field.by} = ${id} LIMIT 1), 'null')`;
}

function columnOf(scope: Scope, name: string): string {
  scope.columns.add(name);
  return `${scope.alias}.${name}`;
}
