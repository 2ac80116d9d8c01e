import type { SubgraphLimits } from "../../../config/limits.ts";
import { type BlockConstraint, blockConstraint } from "../request/block-constraint.ts";
import { type createDocumentReader, readVariables } from "../request/document.ts";
import { collectFields, type Selected } from "../request/fields.ts";
import type { createIntrospection } from "../request/introspection.ts";
import { type EntityType, entityTypes } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import type { Value } from "../schema/values.ts";
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

const roots = new Map<string, { type: EntityType; many: boolean }>(
  [...entityTypes.values()].flatMap((type) => [
    [type.singular, { type, many: false }],
    [type.plural, { type, many: true }],
  ]),
);

/** Turns a request into one SQL statement. Throws QueryError for errors that concern the document as a whole. */
export function compileRequest(
  request: QueryRequest,
  {
    limits,
    readDocument,
    introspect,
  }: {
    limits: SubgraphLimits;
    readDocument: ReturnType<typeof createDocumentReader>;
    introspect: ReturnType<typeof createIntrospection>;
  },
): CompiledRequest {
  const operation = readDocument(request.query, request.operationName);
  const variables = readVariables(operation, request.variables, limits);
  const statement = createStatement();
  const context: CompileContext = {
    fragments: operation.fragments,
    variables,
    fieldsLeft: limits.fields,
    statement,
    limits,
    rows: 0,
  };
  const selections = collectFields(context, "Query", "Query", [operation.node.selectionSet]);
  if (selections.length > mostRootFields) {
    throw new QueryError(
      `The document has more than ${mostRootFields} root fields. Split it into several requests.`,
    );
  }
  const compiled: CompiledRequest = { context, statement, fields: [], failed: new Map(), extensions: [] };
  checkRootFields(selections);
  const asked = selections.filter(({ name }) => name === "__schema" || name === "__type");
  const introspected = asked.length === 0 ? {} : introspect(request.query, operation, asked, variables);
  let last: string | undefined;
  let group = -1;
  for (const selected of selections) {
    const root = roots.get(selected.name);
    const isMeta = selected.name === "_meta";
    const isData = root !== undefined || isMeta;
    const constraint: BlockConstraint = isData
      ? blockConstraint(selected, variables, limits)
      : { kind: "latest" };
    const text = JSON.stringify(constraint);
    if (text !== last) group += 1;
    last = text;
    const base = { selected, group, constraint };
    if (root !== undefined) addEntityField(compiled, { ...base, ...root, extensions: request.extensions });
    else if (isMeta) compiled.fields.push({ ...base, kind: "meta" });
    else if (selected.name === "__typename") compiled.fields.push({ ...base, kind: "text", text: '"Query"' });
    else compiled.fields.push({ ...base, kind: "text", text: introspected[selected.key] });
  }
  return compiled;
}

function checkRootFields(selections: readonly Selected[]): void {
  for (const { name, nodes } of selections) {
    if (!roots.has(name) && !["__schema", "__type", "__typename", "_meta"].includes(name)) {
      throw new QueryError(`Type \`Query\` has no field \`${name}\``, { node: nodes[0] });
    }
  }
}

function addEntityField(
  compiled: CompiledRequest,
  {
    selected,
    group,
    constraint,
    type,
    many,
    extensions,
  }: {
    selected: Selected;
    group: number;
    constraint: BlockConstraint;
    type: EntityType;
    many: boolean;
    extensions: QueryRequest["extensions"];
  },
): void {
  try {
    const sql = many
      ? listSql(compiled.context, type, selected)
      : singleSql(compiled.context, type, selected);
    if (sql === undefined) return;
    compiled.fields.push({ selected, group, constraint, kind: "sql", sql });
    if (!many || !(extensions.counts || extensions.truncated)) return;
    const { count, truncated } = totalsSql(compiled.context, type, selected);
    if (extensions.counts) compiled.extensions.push({ member: "counts", key: selected.key, sql: count });
    if (extensions.truncated)
      compiled.extensions.push({ member: "truncated", key: selected.key, sql: truncated });
  } catch (error) {
    if (!(error instanceof QueryError) || error.scope === "document") throw error;
    if (!compiled.failed.has(group)) compiled.failed.set(group, error);
  }
}
