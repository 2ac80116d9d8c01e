import type { FieldNode, SelectionSetNode } from "graphql";
import type { SubgraphLimits } from "../../../config/limits.ts";
import { yieldToEventLoop } from "../../rest/turns.ts";
import { type BlockConstraint, blockConstraint } from "../request/block.ts";
import { Budget, workAtOnce } from "../request/budget.ts";
import {
  argument,
  collectFields,
  type createDocumentReader,
  idArgument,
  range,
  readVariables,
  type Selected,
  type SelectionContext,
} from "../request/document.ts";
import type { createIntrospection } from "../request/introspection.ts";
import {
  type DerivedField,
  type EntityType,
  entityType,
  entityTypes,
  type RelationField,
} from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import type { Value } from "../schema/inputs.ts";
import { orderSql, pageSql, type RowContext, rowsSql } from "./rows.ts";
import {
  bytesOf,
  columnOf,
  columnOfField,
  createStatement,
  joinPieces,
  objectOfId,
  type Piece,
  type Scope,
  type Statement,
  scalarPieces,
  typenamePieces,
  walkJoin,
  walkPrice,
  zeroAddress,
} from "./statement.ts";
import { all, typeSql, type WhereContext, whereSql } from "./where.ts";

/** The members of a GraphQL request. */
export type QueryRequest = {
  query: string;
  variables: { [name: string]: Value };
  operationName: string | undefined;
  /** Extras that a client opts in to: exact counts of root lists, and whether they have more. */
  extensions: { counts: boolean; truncated: boolean };
};

/** One root field. Neighbours with the same block constraint form a group, which succeeds or fails as one. */
export type RootField = { selected: Selected; group: number; constraint: BlockConstraint } & (
  | { kind: "sql"; sql: string }
  | { kind: "meta" }
  | { kind: "text"; text: string }
);

/** A request as one SQL statement, with what its response needs besides. `failed` is by group. */
export type CompiledRequest = {
  context: CompileContext;
  statement: Statement;
  fields: RootField[];
  failed: Map<number, QueryError>;
  extensions: { member: "counts" | "truncated"; key: string; sql: string }[];
};

// A statement selects one column per root field; Postgres allows 1,664.
const mostRootFields = 1000;

// Characters of a document that takes a few milliseconds to parse.
const longDocument = 20_000;

const roots = new Map<string, { type: EntityType; many: boolean }>(
  [...entityTypes.values()].flatMap((type) => [
    [type.singular, { type, many: false }],
    [type.plural, { type, many: true }],
  ]),
);

/** What requests are compiled with. */
export type Compiler = {
  limits: SubgraphLimits;
  readDocument: ReturnType<typeof createDocumentReader>;
  introspect: ReturnType<typeof createIntrospection>;
  v2?: CompileContext["v2"];
};

/**
 * Turns a request into one SQL statement, in slices that leave other requests their turn. Throws QueryError for errors that
 * concern the document as a whole, and if the request costs more than a limit.
 */
export async function compileRequest(request: QueryRequest, compiler: Compiler): Promise<CompiledRequest> {
  const { limits } = compiler;
  const isLong = request.query.length > longDocument;
  if (isLong) await yieldToEventLoop();
  const operation = compiler.readDocument(request.query, request.operationName);
  if (isLong) await yieldToEventLoop();
  const context: CompileContext = {
    fragments: operation.fragments,
    variables: readVariables(operation, request.variables, limits),
    limits,
    budget: new Budget(limits),
    statement: createStatement(),
    shared: new Map(),
    v2: compiler.v2,
  };
  const selections = collectFields(context, "Query", "Query", [operation.node.selectionSet]);
  if (selections.length > mostRootFields) {
    throw new QueryError(
      `The document has more than ${mostRootFields} root fields. Split it into several requests.`,
    );
  }
  const { statement } = context;
  const compiled: CompiledRequest = { context, statement, fields: [], failed: new Map(), extensions: [] };
  checkRootFields(selections);
  const add = createFields(compiled, request.extensions, compiler.introspect);
  let work = 0;
  for (const selected of selections) {
    if (context.budget.work > work + workAtOnce) {
      await yieldToEventLoop();
      work = context.budget.work;
    }
    await add(selected);
  }
  return compiled;
}

/** Adds root fields to a compiled request, in the order of the document. */
function createFields(
  compiled: CompiledRequest,
  extensions: QueryRequest["extensions"],
  introspect: Compiler["introspect"],
): (selected: Selected) => Promise<void> {
  const { context, fields } = compiled;
  let last: string | undefined;
  let group = -1;
  return async (selected) => {
    const root = roots.get(selected.name);
    const isMeta = selected.name === "_meta";
    const isData = root !== undefined || isMeta;
    const constraint: BlockConstraint = isData ? blockConstraint(context, selected) : { kind: "latest" };
    const text = JSON.stringify(constraint);
    if (text !== last) group += 1;
    last = text;
    const base = { selected, group, constraint };
    if (root !== undefined) addEntityField(compiled, { ...base, ...root, extensions });
    else if (isMeta) fields.push({ ...base, kind: "meta" });
    else if (selected.name === "__typename") fields.push({ ...base, kind: "text", text: '"Query"' });
    else fields.push({ ...base, kind: "text", text: await introspect(context, selected) });
  };
}

function checkRootFields(selections: readonly Selected[]): void {
  for (const { name, nodes } of selections) {
    if (!roots.has(name) && !["__schema", "__type", "__typename", "_meta"].includes(name)) {
      throw new QueryError(`Type \`Query\` has no field \`${name}\``, { node: nodes[0] });
    }
  }
}

type EntityField = {
  selected: Selected;
  group: number;
  constraint: BlockConstraint;
  type: EntityType;
  many: boolean;
  extensions: QueryRequest["extensions"];
};

function addEntityField(
  { context, fields, failed, extensions: hints }: CompiledRequest,
  { selected, group, constraint, type, many, extensions }: EntityField,
): void {
  const { key } = selected;
  try {
    const sql = many ? listSql(context, type, selected) : singleSql(context, type, selected);
    if (sql === undefined) return;
    payForSql(context, sql);
    fields.push({ selected, group, constraint, kind: "sql", sql });
    if (!many || !(extensions.counts || extensions.truncated)) return;
    const { count, truncated } = totalsSql(context, type, selected);
    payForSql(context, count + truncated);
    if (extensions.counts) hints.push({ member: "counts", key, sql: count });
    if (extensions.truncated) hints.push({ member: "truncated", key, sql: truncated });
  } catch (error) {
    if (!(error instanceof QueryError) || error.scope === "document") throw error;
    if (!failed.has(group)) failed.set(group, error);
  }
}

function payForSql({ budget, statement }: CompileContext, sql: string): void {
  budget.spend("sqlLength", sql.length);
  budget.spend("parameters", statement.size - budget.spent.parameters);
}

/** What the parts of one statement have in common. */
type CompileContext = SelectionContext & WhereContext & RowContext & { shared: SharedRows };

/** Rows that several root fields show, each with the same selection, by that: their ids, and SQL of id and JSON for these. */
type SharedRows = Map<string, { table: string; ids: string[]; rowsOf: (ids: string) => string }>;

/** Marks a non-null relation that points nowhere. JSON text never contains it. */
export const danglingMark = "\u0001";

/** SQL of a root field for one entity: JSON text, or null. Those of both generations are read together, since each is long to plan. */
function singleSql(context: CompileContext, type: EntityType, { nodes }: Selected): string | undefined {
  const alias = context.statement.alias();
  const id = idArgument(context, nodes[0]);
  const scope: Scope = { type, alias, columns: new Set(), depth: context.limits.depth, rows: 1 };
  const object = objectSql(context, scope, nodes);
  if (object === undefined) return undefined;
  context.budget.spend("rows", 1);
  const ofType = typeSql(context.statement, type, alias);
  const rowsOf = (found: string, columns: string) => {
    const rows = rowsSql(context, scope, all([found, ...ofType]));
    return `SELECT ${columns} FROM ${rows.from}${walkJoin(context.v2, scope)} WHERE ${rows.where}`;
  };
  if (id.includes("\0")) return `(${rowsOf("FALSE", object)})`;
  const asked = context.statement.bind(id);
  if (context.v2?.armsOf(type.table, alias) === undefined && !scope.isWalked)
    return `(${rowsOf(`${alias}.id = ${asked}`, object)})`;
  const sets = nodes.map(({ selectionSet }) => selectionSet?.loc);
  const key = [type.name, ...sets.map((loc) => loc?.source.body.slice(loc.start, loc.end))].join("\n");
  const shared = context.shared.get(key) ?? {
    table: `shared${context.shared.size}`,
    ids: [],
    rowsOf: (ids: string) => rowsOf(`${alias}.id = ANY (${ids})`, `${alias}.id, ${object} AS json`),
  };
  context.shared.set(key, shared);
  shared.ids.push(id);
  return `(SELECT json FROM ${shared.table} WHERE id = ${asked})`;
}

/** SQL of a root field for a list: JSON text. */
function listSql(context: CompileContext, type: EntityType, { nodes }: Selected): string | undefined {
  return listOf(context, type, nodes, { depth: context.limits.depth, rows: 1, link: undefined });
}

/** SQL for the number of rows behind a list, and for whether there are more than it returns. */
function totalsSql(context: CompileContext, type: EntityType, { nodes }: Selected) {
  const alias = context.statement.alias();
  const { first, skip } = range(context, nodes[0]);
  const filter = argument(context, nodes[0], "where");
  const where = [...typeSql(context.statement, type, alias), ...whereSql(context, type, alias, filter)];
  const rows = rowsSql(context, { type, alias, columns: [] }, all(where));
  const from = `FROM ${rows.from} WHERE ${rows.where}`;
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
  const { statement } = context;
  const node = nodes[0];
  const alias = statement.alias();
  const { first, skip } = range(context, node);
  const order = orderSql(context, type, alias, {
    orderBy: argument(context, node, "orderBy"),
    orderDirection: argument(context, node, "orderDirection"),
  });
  const filter = whereSql(context, type, alias, argument(context, node, "where"));
  const where = [...(link === undefined ? [] : [link(alias)]), ...typeSql(statement, type, alias), ...filter];
  const scope: Scope = { type, alias, columns: new Set(["id"]), depth, rows: rows * first };
  context.budget.spend("rows", scope.rows);
  const object = objectSql(context, scope, nodes);
  if (object === undefined) return undefined;
  const page = pageSql(context, scope, { where: all(where), order, first, skip });
  return `(SELECT concat('[', string_agg(${object}, ','), ']') FROM (${page}) ${alias}${walkJoin(context.v2, scope)})`;
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
  // A row is of one type: the longest branch counts.
  const { spent } = context.budget;
  const before = spent.estimatedBytes;
  let longest = 0;
  const sql = [...branches.values()].map(({ names, fields }) => {
    const [only] = names;
    const concrete = names.length === 1 && only !== undefined ? entityType(only) : type;
    const object = entitySql(context, { ...scope, type: concrete }, fields);
    longest = Math.max(longest, spent.estimatedBytes - before);
    spent.estimatedBytes = before;
    return { names, object };
  });
  context.budget.spend("estimatedBytes", longest);
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
    const { key, name } = selected;
    context.budget.spend("estimatedBytes", scope.rows * bytesOf(scope.type.fields.get(name), key));
    const value = fieldPieces(context, scope, selected);
    if (value === undefined) continue;
    pieces.push({ text: `${pieces.length === 0 ? "{" : ","}"${key}":` }, ...value);
  }
  if (pieces.length === 0) return "'{}'";
  pieces.push({ text: "}" });
  return joinPieces(context.statement, pieces);
}

function fieldPieces(context: CompileContext, scope: Scope, selected: Selected): Piece[] | undefined {
  if (selected.name === "__typename") return typenamePieces(scope);
  const field = scope.type.fields.get(selected.name);
  if (field === undefined) throw new Error(`${scope.type.name} has no field ${selected.name}.`);
  if (field.kind === "scalar") {
    if (field.isWalked && context.v2 === undefined)
      throw new QueryError(`Type \`${scope.type.name}\` has no field \`${field.name}\``, {
        node: selected.nodes[0],
      });
    if (field.isWalked && !scope.isWalked) context.budget.spend("rows", scope.rows * walkPrice);
    return scalarPieces(field, columnOfField(scope, field));
  }
  if (field.kind === "relation") return relationPieces(context, scope, field, selected);
  const sql = derivedSql(context, scope, field, selected);
  return sql === undefined ? undefined : [{ sql }];
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
  const known = target.name === "Account" ? knownObject(context, scope.rows, id, nodes) : undefined;
  if (known !== undefined) {
    if (!field.nullable) return known;
    return [{ sql: `CASE WHEN ${id} IS NULL THEN 'null' ELSE ${joinPieces(statement, known)} END` }];
  }
  const alias = statement.alias();
  const inner: Scope = { type: target, alias, columns: new Set(), depth: scope.depth - 1, rows: scope.rows };
  const object = objectSql(context, inner, nodes);
  if (object === undefined) return undefined;
  context.budget.spend("rows", scope.rows);
  const rows = rowsSql(context, inner, `${alias}.id = ${id}`);
  const found = `(SELECT ${object} FROM ${rows.from}${walkJoin(context.v2, inner)} WHERE ${rows.where})`;
  if (field.nullable) return [{ sql: `coalesce(${found}, 'null')` }];
  const missing = statement.bind(`${danglingMark}${field.name}${danglingMark}`);
  if (target.name !== "Resolver") return [{ sql: `coalesce(${found}, ${missing})` }];
  // subgraph: a resolver set to zero is kept as the bare zero address, which no resolver row has. Clients
  // read the id of every NewResolver, so an object with that address stands in.
  const zero = `right(${id}, ${zeroAddress.length}) = ${statement.bind(zeroAddress)}`;
  const stand = joinPieces(statement, objectOfId(target, id, fieldsOf(context, target, nodes)));
  return [{ sql: `coalesce(${found}, CASE WHEN ${zero} THEN ${stand} ELSE ${missing} END)` }];
}

function fieldsOf(context: CompileContext, { name }: EntityType, nodes: Selected["nodes"]): Selected[] {
  const sets = nodes.flatMap((node) => node.selectionSet ?? []);
  return collectFields(context, name, name, sets);
}

// An account of which nothing but the id is selected.
function knownObject(
  context: CompileContext,
  rows: number,
  id: string,
  nodes: Selected["nodes"],
): Piece[] | undefined {
  const type = entityType("Account");
  const fields = fieldsOf(context, type, nodes);
  const isKnown = fields.every(({ name }) => name === "id" || name === "__typename");
  if (fields.length === 0 || !isKnown) return undefined;
  for (const { key, name } of fields) {
    context.budget.spend("estimatedBytes", rows * bytesOf(type.fields.get(name), key));
  }
  return objectOfId(type, id, fields);
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
  const inner: Scope = { type: target, alias, columns: new Set(), depth, rows: scope.rows };
  const object = objectSql(context, inner, nodes);
  if (object === undefined) return undefined;
  context.budget.spend("rows", scope.rows);
  const rows = rowsSql(context, inner, `${alias}.${field.by} = ${id}`);
  return `coalesce((SELECT ${object} FROM ${rows.from}${walkJoin(context.v2, inner)} WHERE ${rows.where} LIMIT 1), 'null')`;
}
