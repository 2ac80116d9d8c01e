import type { SubgraphLimits } from "../../../config/limits.ts";
import { yieldToEventLoop } from "../../rest/turns.ts";
import { type BlockConstraint, blockConstraint } from "../request/block-constraint.ts";
import { Budget, workAtOnce } from "../request/budget.ts";
import {
  collectFields,
  type createDocumentReader,
  readVariables,
  type Selected,
} from "../request/document.ts";
import type { createIntrospection } from "../request/introspection.ts";
import { type EntityType, entityTypes } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import type { Value } from "../schema/inputs.ts";
import { type CompileContext, listSql, singleSql, totalsSql } from "./compile.ts";
import { createStatement, type Statement } from "./statement.ts";

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
  | { kind: "text"; text: string | undefined }
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
  const asked = selections.filter(({ name }) => name === "__schema" || name === "__type");
  const introspected =
    asked.length === 0 ? {} : await compiler.introspect(request.query, operation, asked, context);
  const add = createFields(compiled, request.extensions, introspected);
  let work = 0;
  for (const selected of selections) {
    if (context.budget.work > work + workAtOnce) {
      await yieldToEventLoop();
      work = context.budget.work;
    }
    add(selected);
  }
  return compiled;
}

/** Adds root fields to a compiled request, in the order of the document. */
function createFields(
  compiled: CompiledRequest,
  extensions: QueryRequest["extensions"],
  introspected: Record<string, string>,
): (selected: Selected) => void {
  const { context, fields } = compiled;
  let last: string | undefined;
  let group = -1;
  return (selected) => {
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
    else fields.push({ ...base, kind: "text", text: introspected[selected.key] });
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
