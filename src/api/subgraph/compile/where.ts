import { QueryError } from "../schema/errors.ts";
import {
  coerce,
  type EntityField,
  entityType,
  type FilterKey,
  filterKeys,
  isObject,
  type Operator,
  type Scalar,
  show,
  type Value,
} from "../schema/inputs.ts";
import {
  arrayLiteral,
  type CompileContext,
  createScope,
  indexedPrefix,
  linkSql,
  type Prefix,
  type RowScope,
  rowsSql,
  type StatementBuilder,
  shownColumn,
} from "./statement.ts";

const narrowing = new Set([
  "id",
  "id_in",
  "name",
  "labelhash",
  "owner",
  "registrant",
  "wrappedOwner",
  "resolvedAddress",
]);

// Rows that a filter applies to. `depth`: levels that it may still have. `isNarrow`: the object's other keys likely
// leave few rows.
type Filtered = Pick<RowScope, "type" | "alias" | "sortedBy" | "isOneGroup"> & {
  depth: number;
  isNarrow: boolean;
};

/** The condition of a scope's rows: their type, their link to others, and the `where` object. */
export function whereSql(
  context: CompileContext,
  scope: RowScope,
  {
    link,
    filter,
    depth = context.limits.depth,
  }: { link?: string | undefined; filter: Value; depth?: number },
): string {
  const { type, alias } = scope;
  const own = link === undefined ? [] : [link];
  // The table has several types, frequent and rare ones.
  if (type.interface !== undefined) {
    context.statement.planEach();
    own.push(`${alias}.type = ${context.statement.bind(type.name)}`);
  }
  return joinConditions([...own, ...buildConditions(context, { ...scope, depth, isNarrow: false }, filter)]);
}

function buildConditions(context: CompileContext, filtered: Filtered, filter: Value): string[] {
  const { type, depth } = filtered;
  if (filter === null) return [];
  if (!isObject(filter))
    throw createInvalidError(`expected an object of type ${type.name}_filter, but got ${show(filter)}`);
  if (depth < 0) throw createInvalidError("it is nested too deeply");
  const keys = filterKeys(type);
  const names = Object.keys(filter);
  context.budget.spend("filterKeys", Math.max(1, names.length));
  const isNarrow = names.some((name) => narrowing.has(name) && filter[name] !== null);
  const inner = { ...filtered, depth: depth - 1, isNarrow };
  return names.flatMap((name) => {
    const key = keys.get(name);
    const value = filter[name] ?? null;
    if (!hasOnePlan(filtered, key)) context.statement.planEach();
    if (key === undefined) throw createInvalidError(`\`${type.name}_filter\` has no field \`${name}\``);
    if (key.kind === "group") return group(context, inner, key, value);
    if (key.kind === "changeBlock") return changeBlock(context, inner, value);
    return key.kind === "child"
      ? buildChildSql(context, inner, key.field, value)
      : buildColumnSql(context, inner, key, value);
  });
}

// Whether one plan is good for all values of a filter: few rows meet it, or the list is read from there on in its
// order.
function hasOnePlan({ sortedBy }: Filtered, key: FilterKey | undefined): boolean {
  if (key?.kind !== "column" || key.field.kind !== "scalar") return false;
  const { column } = key.field;
  if (key.operator === "") return ["id", "name", "labelhash"].includes(column);
  return column === sortedBy && ["gt", "gte", "lt", "lte"].includes(key.operator);
}

// The keys of one element are ANDed, and a group with the keys beside it. graph-node does the same, or refuses the
// latter.
function group(
  context: CompileContext,
  filtered: Filtered,
  { name, every }: { name: string; every: boolean },
  value: Value,
): string[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw createInvalidError(`\`${name}\` takes a list, but got ${show(value)}`);
  checkLength(context, name, value);
  const elements = value.map((element) => joinConditions(buildConditions(context, filtered, element)));
  if (every) return elements.filter((sql) => sql !== "TRUE");
  return [elements.length === 0 ? "FALSE" : `(${elements.join(" OR ")})`];
}

function changeBlock({ statement }: CompileContext, { type, alias }: Filtered, value: Value): string[] {
  if (value === null) return [];
  const number = isObject(value) ? coerce("Int", value["number_gte"] ?? null) : undefined;
  if (number === undefined) throw createInvalidError("`_change_block` takes {number_gte: Int!}");
  return [`${alias}.${type.changeColumn} >= ${statement.bind(number, "numeric")}::integer`];
}

// A matching related row exists. Nesting may be deeper than the original's one level.
function buildChildSql(
  context: CompileContext,
  { alias, depth, isNarrow }: Filtered,
  field: EntityField,
  filter: Value,
): string {
  if (field.kind === "scalar") throw new Error(`${field.name} is not a relation.`);
  if (!isObject(filter)) throw new QueryError("Query contains value with invalid type", { scope: "group" });
  const other = createScope(context.statement, entityType(field.target));
  const where = whereSql(context, other, { link: linkSql(alias, field, other.alias), filter, depth });
  // If few rows are left, Postgres looks up each one's related row. OFFSET keeps it from starting at the related rows,
  // which is slow for parents with millions of names.
  return `EXISTS (SELECT FROM ${rowsSql(context, other, where)}${isNarrow ? " OFFSET 0" : ""})`;
}

// A column to compare. `prefix`: its first characters if an index has only these.
type ComparedColumn = {
  statement: StatementBuilder;
  column: string;
  prefix: Prefix | undefined;
  scalar: Scalar;
};

function buildColumnSql(
  context: CompileContext,
  filtered: Filtered,
  { name, field, operator }: Extract<FilterKey, { kind: "column" }>,
  value: Value,
): string {
  if (field.kind === "derived") throw new Error(`${field.name} has no column.`);
  const scalar = field.kind === "relation" ? "String" : field.scalar;
  const isList = field.kind === "scalar" && field.list && operator !== "has" && operator !== "not_has";
  const compared = {
    statement: context.statement,
    column: shownColumn(filtered, field.column),
    prefix: indexedPrefix(filtered, field.column),
    scalar,
  };
  if (value === null) return nullSql(compared.column, name, operator);
  // A single value counts as a list of one.
  const takesList = isList || operator === "in" || operator === "not_in";
  const items = takesList && Array.isArray(value) ? value : [value];
  if (takesList) checkLength(context, name, items);
  const texts = items.map((item) => {
    const text = coerce(scalar, item);
    if (text === undefined) throw createInvalidError(`\`${name}\` takes ${scalar}, but got ${show(item)}`);
    context.budget.spendValue(text);
    return text;
  });
  if (isList) return listSql(compared, operator, texts);
  if (takesList) return memberSql(compared, operator, texts);
  return comparisonSql(compared, operator, texts[0] ?? "");
}

function nullSql(column: string, name: string, operator: Operator): string {
  if (operator === "") return `${column} IS NULL`;
  if (operator === "not") return `${column} IS NOT NULL`;
  const symbol = operator in sqlOperators ? sqlOperators[operator as SqlOperator] : operator;
  const message =
    operator === "in" || operator === "not_in"
      ? `Non-list value passed to \`_${operator}\` filter`
      : `Store error: unsupported filter \`${symbol}\` for value \`null\``;
  throw new QueryError(`${message} (\`${name}\`)`, { scope: "group" });
}

function checkLength({ limits }: CompileContext, name: string, values: readonly unknown[]): void {
  if (values.length > limits.listValues) {
    throw createInvalidError(
      `\`${name}\` has ${values.length} values and may have ${limits.listValues}; split it into several requests`,
    );
  }
}

function createInvalidError(reason: string): QueryError {
  return new QueryError(`Invalid value provided for argument \`where\`: ${reason}`);
}

function joinConditions(conditions: readonly string[]): string {
  const [first = "TRUE", second] = conditions;
  return second === undefined ? first : `(${conditions.join(" AND ")})`;
}

const sqlOperators = { "": "=", not: "<>", gt: ">", lt: "<", gte: ">=", lte: "<=" } as const;
// Operators that then hold for the first characters.
const prefixOperators = { "": "=", gt: ">=", gte: ">=", lt: "<=", lte: "<=" } as const;
type SqlOperator = keyof typeof sqlOperators;

// A filter on a scalar column, or `has` on a list. Negations never hold for null.
function comparisonSql(compared: ComparedColumn, operator: Operator, value: string): string {
  const { statement, column, prefix, scalar } = compared;
  if (operator === "has" || operator === "not_has") {
    const test = `${statement.bind(value, scalar === "BigInt" ? "numeric" : "text")} = ANY (${column})`;
    return operator === "has" ? test : `(${column} IS NOT NULL AND NOT (${test}))`;
  }
  if (!(operator in sqlOperators))
    return scalar === "Bytes" ? bytesSql(compared, operator, value) : patternSql(compared, operator, value);
  const comparison = operator as SqlOperator;
  const begin = `${column} ${sqlOperators[comparison]}`;
  if (scalar === "Boolean") return `${begin} ${value === "true"}`;
  // A number may have any length, and exceed the column's range.
  if (scalar === "BigInt") return `${begin} ${statement.bind(value, "numeric")}`;
  if (scalar === "Int") return `${begin} ${statement.bind(value, "numeric")}::integer`;
  const whole = `${begin} ${statement.bind(value)}`;
  if (prefix === undefined || comparison === "not") return whole;
  return `(${prefix.sql} ${prefixOperators[comparison]} ${statement.bind(cutPrefix(value, prefix))} AND ${whole})`;
}

function memberSql(
  { statement, column, prefix, scalar }: ComparedColumn,
  operator: Operator,
  given: string[],
): string {
  // An empty list matches nothing, negated or not.
  if (given.length === 0) return "FALSE";
  if (scalar === "Boolean") {
    const test = `${column} IN (${given.map((value) => value === "true").join(", ")})`;
    return operator === "in" ? test : `NOT (${test})`;
  }
  const type = scalar === "Int" ? "integer[]" : scalar === "BigInt" ? "numeric[]" : "text[]";
  const list = statement.bindList(given, type);
  if (operator === "not_in") return `${column} <> ALL (${list})`;
  if (prefix === undefined) return `${column} = ANY (${list})`;
  const prefixes = statement.bindList(
    given.map((value) => cutPrefix(value, prefix)),
    "text[]",
  );
  return `(${prefix.sql} = ANY (${prefixes}) AND ${column} = ANY (${list}))`;
}

// subgraph: LIKE, where wildcards and backslashes of the value keep their meaning.
function patternSql(
  { statement, column, prefix }: ComparedColumn,
  operator: Operator,
  value: string,
): string {
  const negated = operator.startsWith("not_");
  const nocase = operator.endsWith("_nocase");
  const kind = operator.replace(/^not_|_nocase$/g, "");
  const wild = value.startsWith("%") || value.endsWith("%");
  const pattern =
    kind === "starts_with" ? `${value}%` : kind === "ends_with" ? `%${value}` : wild ? value : `%${value}%`;
  const like = nocase ? "ILIKE" : "LIKE";
  const whole = () => `${column} ${negated ? "NOT " : ""}${like} ${statement.bind(pattern)}`;
  if (prefix === undefined || negated || nocase || kind !== "starts_with" || /[%_\\]/.test(value))
    return whole();
  const first = cutPrefix(value, prefix);
  const begins = `${prefix.sql} LIKE ${statement.bind(`${first}%`)}`;
  // The planner estimates a single condition well: it reads rows in their order until a page is full.
  return first === value ? begins : `(${begins} AND ${whole()})`;
}

function bytesSql({ statement, column }: ComparedColumn, operator: Operator, value: string): string {
  const part = `decode(${statement.bind(value.slice(2))}, 'hex')`;
  const found = `position(${part} IN decode(substr(${column}, 3), 'hex'))`;
  return operator.startsWith("not_") ? `${found} = 0` : `${found} > 0`;
}

// A filter on a list column. Null lists match only equality with null.
function listSql(
  { statement, column, scalar }: ComparedColumn,
  operator: Operator,
  values: string[],
): string {
  const bind = (some: string[]) =>
    statement.bind(arrayLiteral(some), scalar === "BigInt" ? "numeric[]" : "text[]");
  if (operator === "") return `${column} = ${bind(values)}`;
  if (operator === "not") return `${column} <> ${bind(values)}`;
  if (operator === "contains") return `${column} @> ${bind(values)}`;
  if (operator === "not_contains") return `NOT (${column} && ${bind(values)})`;
  const folded = `(SELECT array_agg(lower(item COLLATE "C")) FROM unnest(${column}) item)`;
  const lowered = bind(values.map((value) => value.replace(/[A-Z]/g, (letter) => letter.toLowerCase())));
  const some =
    operator === "not_contains_nocase"
      ? `NOT coalesce(${folded} && ${lowered}, FALSE)`
      : `coalesce(${folded}, '{}') @> ${lowered}`;
  return `(${column} IS NOT NULL AND ${some})`;
}

// A character takes at most two UTF-16 units, so that only the start of a long value is split.
function cutPrefix(value: string, { length }: Prefix): string {
  return value.length <= length ? value : [...value.slice(0, 2 * length)].slice(0, length).join("");
}
