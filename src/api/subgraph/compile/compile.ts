import type { SubgraphLimits } from "../../../config/limits.ts";
import { zeroAddress } from "../../../ens/ids.ts";
import { isNormalizedName } from "../../../ens/normalization.ts";
import { yieldToEventLoop } from "../../../http/turn.ts";
import { mayLackRow, walkedName } from "../../../read/names/v2-walk.ts";
import { type BlockConstraint, blockConstraint, type MetaSource, metaJson } from "../request/block.ts";
import {
  argument,
  collectFields,
  createBudget,
  type createDocumentReader,
  hasSelection,
  idArgument,
  range,
  readVariables,
  type Selected,
  workAtOnce,
} from "../request/document.ts";
import type { createIntrospection } from "../request/introspection.ts";
import { QueryError } from "../schema/errors.ts";
import {
  type DerivedField,
  type EntityType,
  entityType,
  entityTypes,
  isObject,
  type RelationField,
  type Value,
} from "../schema/inputs.ts";
import {
  buildArms,
  buildColumn,
  type CompileContext,
  countBytes,
  createScope,
  createStatement,
  type JsonPiece,
  joinPieces,
  objectOfId,
  objectPieces,
  orderSql,
  pageSql,
  type RowScope,
  rowsSql,
  scalarPieces,
  typenamePieces,
  valueOfField,
  walkJoin,
  walkPrice,
} from "./statement.ts";
import { whereSql } from "./where.ts";

/** The members of a GraphQL request. */
export type QueryRequest = {
  query: string;
  variables: { [name: string]: Value };
  operationName: string | undefined;
  /** Opt-in extras: exact counts of root lists, and whether these have more rows. */
  extensions: { counts: boolean; truncated: boolean };
  /** SHA-256 under which the document is to be registered. */
  hash?: string | undefined;
};

// A root field: a column of the statement, or read without it (undefined: left out). Neighbours with the same block
// constraint form a group, which succeeds or fails as one.
type RootField = { key: string; group: number; constraint: BlockConstraint } & (
  | { kind: "sql"; sql: string }
  | { kind: "read"; read: (source: MetaSource) => Promise<string | undefined> }
);

/**
 * A request as one SQL statement, with what its response needs besides. `failed` has the error of each failed group.
 */
export type CompiledRequest = {
  context: CompileContext;
  fields: RootField[];
  /** The constraint of each group, as JSON. */
  groups: string[];
  failed: Map<number, QueryError>;
  extensions: { member: "counts" | "truncated"; key: string; constraint: BlockConstraint; sql: string }[];
};

// A statement selects one column per root field; Postgres allows 1,664.
const maxRootFields = 1000;

// Characters of a document that takes a few milliseconds to parse.
const longDocument = 20_000;

const roots = new Map<string, { type: EntityType; many: boolean }>(
  [...entityTypes.values()].flatMap((type) => [
    [type.singular, { type, many: false }],
    [type.plural, { type, many: true }],
  ]),
);

type Compiler = {
  limits: SubgraphLimits;
  readDocument: ReturnType<typeof createDocumentReader>;
  introspect: ReturnType<typeof createIntrospection>;
  v2?: CompileContext["v2"];
};

/**
 * Compiles a request to one SQL statement, yielding to other requests. Throws QueryError for errors of the document and
 * exceeded limits.
 */
export async function compileRequest(
  { query, operationName, variables, extensions }: QueryRequest,
  { limits, readDocument, introspect, v2 }: Compiler,
): Promise<CompiledRequest> {
  const isLong = query.length > longDocument;
  if (isLong) await yieldToEventLoop();
  const operation = readDocument(query, operationName);
  if (isLong) await yieldToEventLoop();
  const context: CompileContext = {
    fragments: operation.fragments,
    variables: readVariables(operation, variables, limits),
    limits,
    budget: createBudget(limits),
    statement: createStatement(),
    v2,
  };
  const selections = collectFields(context, "Query", [operation.node]);
  if (selections.length > maxRootFields) {
    throw new QueryError(
      `The document has more than ${maxRootFields} root fields. Split it into several requests.`,
    );
  }
  for (const { name, nodes } of selections) {
    if (!roots.has(name) && !["__schema", "__type", "__typename", "_meta"].includes(name))
      throw new QueryError(`Type \`Query\` has no field \`${name}\``, { node: nodes[0] });
  }
  const compiled: CompiledRequest = { context, fields: [], groups: [], failed: new Map(), extensions: [] };
  let work = 0;
  for (const selected of selections) {
    if (context.budget.work() > work + workAtOnce) {
      await yieldToEventLoop();
      work = context.budget.work();
    }
    await addField(compiled, selected, { extensions, introspect });
  }
  return compiled;
}

async function addField(
  compiled: CompiledRequest,
  selected: Selected,
  { extensions, introspect }: Pick<QueryRequest, "extensions"> & Pick<Compiler, "introspect">,
): Promise<void> {
  const { context, fields, groups, failed } = compiled;
  const { key, name, nodes } = selected;
  const root = roots.get(name);
  const isMeta = name === "_meta";
  const constraint: BlockConstraint =
    root !== undefined || isMeta ? blockConstraint(context, selected) : { kind: "latest" };
  const text = JSON.stringify(constraint);
  if (text !== groups.at(-1)) groups.push(text);
  const base = { key, group: groups.length - 1, constraint };
  if (isMeta) {
    fields.push({ ...base, kind: "read", read: (source) => metaJson(context, selected, constraint, source) });
  } else if (root === undefined) {
    const json = name === "__typename" ? '"Query"' : await introspect(context, selected);
    fields.push({ ...base, kind: "read", read: async () => json });
  } else {
    const { type, many } = root;
    try {
      const sql = many ? listSql(context, type, nodes) : singleSql(context, type, nodes);
      if (sql === undefined) return;
      payForSql(context, sql);
      fields.push({ ...base, kind: "sql", sql });
      if (many) addTotals(compiled, type, { ...selected, constraint }, extensions);
    } catch (error) {
      if (!(error instanceof QueryError) || error.scope === "document") throw error;
      if (!failed.has(base.group)) failed.set(base.group, error);
    }
  }
}

function payForSql({ budget, statement }: CompileContext, sql: string): void {
  budget.spend("sqlLength", sql.length);
  budget.spend("parameters", statement.size() - budget.spent.parameters);
}

/** Marks a non-null relation that points nowhere. JSON text never contains it. */
export const danglingMark = "\u0001";

function oneSql(
  context: CompileContext,
  scope: RowScope,
  nodes: Selected["nodes"],
  where: string,
): string | undefined {
  const object = objectSql(context, scope, nodes);
  if (object === undefined) return undefined;
  context.budget.spend("rows", scope.rows);
  return `SELECT ${object} FROM ${rowsSql(context, scope, where)}`;
}

// SQL of one entity's root field: JSON text or null. Fields of both generations share one read, because each is slow to
// plan.
function singleSql(context: CompileContext, type: EntityType, nodes: Selected["nodes"]): string | undefined {
  const { statement, limits } = context;
  const scope = createScope(statement, type, { depth: limits.depth, rows: 1 });
  const id = idArgument(context, nodes[0]);
  const asked = statement.bind(id);
  const whereOf = (found: string) =>
    whereSql(context, scope, { link: `${scope.alias}.id ${found}`, filter: null });
  if (buildArms(context, scope) === undefined) {
    const found = oneSql(context, scope, nodes, whereOf(`= ${asked}`));
    return found && `(${found})`;
  }
  const object = objectSql(context, scope, nodes);
  if (object === undefined) return undefined;
  context.budget.spend("rows", 1);
  const sets = nodes.map(({ selectionSet }) => selectionSet?.loc);
  const key = [type.name, ...sets.map((loc) => loc?.source.body.slice(loc.start, loc.end))].join("\n");
  const shared = statement.shared(key, (ids) => {
    const rows = rowsSql(context, scope, whereOf(`= ANY (${ids})`));
    return `SELECT ${scope.alias}.id, ${object} AS json FROM ${rows}`;
  });
  shared.ids.push(id);
  return `(SELECT json FROM ${shared.table} WHERE id = ${asked})`;
}

// Adds the extensions that the client opted in to: a list's row count, and whether it has more rows than it returns.
function addTotals(
  { context, extensions }: CompiledRequest,
  type: EntityType,
  { key, nodes: [node], constraint }: Selected & { constraint: BlockConstraint },
  asked: QueryRequest["extensions"],
): void {
  if (!asked.counts && !asked.truncated) return;
  const scope = createScope(context.statement, type);
  const { first, skip } = range(context, node);
  const filter = argument(context, node, "where");
  scope.named = findAskedNames(context, type, filter);
  const where = whereSql(context, scope, { filter });
  const from = `FROM ${rowsSql(context, scope, where)}`;
  const totals = {
    counts: `(SELECT count(*)::text ${from})`,
    truncated: `EXISTS (SELECT ${from} OFFSET ${skip + first} LIMIT 1)::text`,
  };
  payForSql(context, totals.counts + totals.truncated);
  for (const member of ["counts", "truncated"] as const)
    if (asked[member]) extensions.push({ member, key, constraint, sql: totals[member] });
}

const maxNamesAsked = 1_000;

// SQL of the names that a filter of domains asks for and rows may lack: registries of ENSv2 may have more names than
// rows (docs/data-model.md).
function findAskedNames(
  { v2, statement }: CompileContext,
  type: EntityType,
  filter: Value,
): string | undefined {
  if (v2 === undefined || type.table !== "domain" || !isObject(filter)) return undefined;
  const asked = [filter["name"], filter["name_in"]].flat();
  const names = asked.filter((one) => typeof one === "string" && mayLackRow(one) && isNormalizedName(one));
  if (names.length === 0 || names.length > maxNamesAsked) return undefined;
  return statement.bind(JSON.stringify([...new Set(names as string[])].map(walkedName)));
}

// SQL of a list as JSON text. `link`: the column that holds the id of the row above, and SQL of that.
function listSql(
  context: CompileContext,
  type: EntityType,
  nodes: Selected["nodes"],
  { depth, rows, link }: { depth: number; rows: number; link?: { by: string; id: string } } = {
    depth: context.limits.depth,
    rows: 1,
  },
): string | undefined {
  const [node] = nodes;
  const { first, skip } = range(context, node);
  const scope = createScope(context.statement, type, { depth, rows: rows * first });
  const { alias } = scope;
  scope.columns.add("id");
  const filter = argument(context, node, "where");
  scope.named = findAskedNames(context, type, filter);
  const order = orderSql(context, scope, { node, linkedBy: link?.by });
  const where = whereSql(context, scope, { link: link && `${alias}.${link.by} = ${link.id}`, filter });
  context.budget.spend("rows", scope.rows);
  const object = objectSql(context, scope, nodes);
  if (object === undefined) return undefined;
  const page = pageSql(context, scope, { where, order, first, skip });
  return `(SELECT concat('[', string_agg(${object}, ','), ']') FROM (${page}) ${alias}${walkJoin(context, scope)})`;
}

// subgraph: an object without a selection is left out of the response.
function objectSql(context: CompileContext, scope: RowScope, nodes: Selected["nodes"]): string | undefined {
  if (!hasSelection(nodes)) return undefined;
  if (scope.depth <= 0) {
    throw new QueryError(`query has a depth that exceeds the limit of \`${context.limits.depth}\``, {
      node: nodes[0],
    });
  }
  if (scope.type.kind === "interface") return interfaceSql(context, scope, nodes);
  return entitySql(context, scope, collectFields(context, scope.type.name, nodes));
}

// Types with the same selected fields share one branch.
function interfaceSql(context: CompileContext, scope: RowScope, nodes: Selected["nodes"]): string {
  const { type, alias } = scope;
  const selected = type.implementers.map((name) => ({
    name,
    fields: collectFields(context, name, nodes, type.name),
  }));
  const branches = Map.groupBy(selected, ({ fields }) =>
    fields.map(({ key, nodes }) => `${key}:${nodes.map(({ loc }) => loc?.start).join(".")}`).join(),
  );
  // A row has one type: the longest branch counts.
  const { spent } = context.budget;
  const before = spent.estimatedBytes;
  let longest = 0;
  const sql = Array.from(branches.values(), (same) => {
    const names = same.map(({ name }) => name);
    const concrete = names.length === 1 ? entityType(names.join()) : type;
    const object = entitySql(context, { ...scope, type: concrete }, same[0]?.fields ?? []);
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

function entitySql(context: CompileContext, scope: RowScope, fields: Selected[]): string {
  const pieces = objectPieces(fields, (selected) => {
    const bytes = countBytes(scope.type.fields.get(selected.name), selected.key);
    context.budget.spend("estimatedBytes", scope.rows * bytes);
    return buildFieldPieces(context, scope, selected);
  });
  return joinPieces(context.statement, pieces);
}

function buildFieldPieces(
  context: CompileContext,
  scope: RowScope,
  selected: Selected,
): JsonPiece[] | undefined {
  if (selected.name === "__typename") return typenamePieces(scope);
  const field = scope.type.fields.get(selected.name);
  if (field === undefined) throw new Error(`${scope.type.name} has no field ${selected.name}.`);
  if (field.kind === "scalar") {
    if (field.isWalked && context.v2 === undefined)
      throw new QueryError(`Type \`${scope.type.name}\` has no field \`${field.name}\``, {
        node: selected.nodes[0],
      });
    if (field.isWalked && !scope.isWalked) context.budget.spend("rows", scope.rows * walkPrice);
    return scalarPieces(field, valueOfField(scope, field));
  }
  if (field.kind === "relation") return buildRelationPieces(context, scope, field, selected);
  const sql = derivedSql(context, scope, field, selected);
  return sql === undefined ? undefined : [{ sql }];
}

function buildRelationPieces(
  context: CompileContext,
  scope: RowScope,
  field: RelationField,
  { nodes }: Selected,
): JsonPiece[] | undefined {
  const { statement } = context;
  const target = entityType(field.target);
  const id = buildColumn(scope, field.column);
  // Every address in a row has an account row: its id needs no lookup.
  const fields = target.name === "Account" ? collectFields(context, target.name, nodes) : [];
  if (fields.length > 0 && fields.every(({ name }) => name === "id" || name === "__typename")) {
    for (const { key, name } of fields)
      context.budget.spend("estimatedBytes", scope.rows * countBytes(target.fields.get(name), key));
    const known = objectOfId(target, id, fields);
    if (!field.nullable) return known;
    return [{ sql: `CASE WHEN ${id} IS NULL THEN 'null' ELSE ${joinPieces(statement, known)} END` }];
  }
  const inner = createScope(statement, target, { depth: scope.depth - 1, rows: scope.rows });
  const row = oneSql(context, inner, nodes, `${inner.alias}.id = ${id}`);
  if (row === undefined) return undefined;
  const found = `(${row})`;
  if (field.nullable) return [{ sql: `coalesce(${found}, 'null')` }];
  const missing = statement.bind(`${danglingMark}${field.name}${danglingMark}`);
  if (target.name !== "Resolver") return [{ sql: `coalesce(${found}, ${missing})` }];
  // subgraph: keeps a resolver set to zero as the bare zero address, which no resolver row has. Clients read the id of
  // every NewResolver, so an object with that address stands in.
  const zero = `right(${id}, ${zeroAddress.length}) = ${statement.bind(zeroAddress)}`;
  const stand = joinPieces(statement, objectOfId(target, id, collectFields(context, target.name, nodes)));
  return [{ sql: `coalesce(${found}, CASE WHEN ${zero} THEN ${stand} ELSE ${missing} END)` }];
}

function derivedSql(
  context: CompileContext,
  scope: RowScope,
  { target, by, many }: DerivedField,
  { nodes }: Selected,
): string | undefined {
  const type = entityType(target);
  const id = buildColumn(scope, "id");
  const within = { depth: scope.depth - 1, rows: scope.rows };
  // Few names have most subnames, which the planner is told to expect (src/operations/indexes.ts); of other rows some
  // have many, too.
  if (many && by !== "parent_id") context.statement.planEach();
  if (many) return listSql(context, type, nodes, { ...within, link: { by, id } });
  const inner = createScope(context.statement, type, within);
  const found = oneSql(context, inner, nodes, `${inner.alias}.${by} = ${id}`);
  return found && `coalesce((${found} LIMIT 1), 'null')`;
}
