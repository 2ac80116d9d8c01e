import { Kind, type ValueNode } from "graphql";
import { type EntityType, entityTypes, type Field, type Scalar, type ScalarField } from "./entities.ts";
import { QueryError } from "./errors.ts";

const equality = ["", "not", "in", "not_in"] as const;
const comparison = ["", "not", "gt", "lt", "gte", "lte", "in", "not_in"] as const;
const ofBytes = [...comparison, "contains", "not_contains"] as const;
const patterns = (["contains", "starts_with", "ends_with"] as const).flatMap(
  (kind) => [kind, `${kind}_nocase`, `not_${kind}`, `not_${kind}_nocase`] as const,
);
const text = [...comparison, ...patterns];
const ofLists = ["", "not", "contains", "not_contains"] as const;
const ofTexts = [...ofLists, "contains_nocase", "not_contains_nocase"] as const;
const has = ["has", "not_has"] as const;
const operators = {
  ID: comparison,
  BigInt: comparison,
  Int: comparison,
  Boolean: equality,
  Bytes: ofBytes,
  String: text,
};

/** Operators that compare a column with a value; "" is equality. */
export type Operator = (typeof text)[number] | (typeof has)[number];

/** A key of a filter object. `input` is its GraphQL type. */
export type FilterKey = { name: string; input: string; extra: boolean } & (
  | { kind: "column"; field: Field; operator: Operator }
  | { kind: "child"; field: Field }
  | { kind: "changeBlock" }
  | { kind: "group"; every: boolean }
);

/** Every key of a type's filter objects, extras included. */
export const filterKeys = byType(({ name, fields }): FilterKey[] => {
  const input = `[${name}_filter]`;
  return [
    ...[...fields.values()].flatMap(fieldKeys),
    { name: "_change_block", kind: "changeBlock", input: "BlockChangedFilter", extra: false },
    { name: "and", kind: "group", every: true, input, extra: false },
    { name: "or", kind: "group", every: false, input, extra: false },
  ];
});

function fieldKeys(field: Field): FilterKey[] {
  const { name, extra } = field;
  if (field.kind === "scalar") return field.isWalked ? [] : scalarKeys(field);
  const child: FilterKey = { name: `${name}_`, kind: "child", field, input: `${field.target}_filter`, extra };
  return field.kind === "derived" ? [child] : [...columnKeys(field, "String", text), child];
}

function scalarKeys(field: ScalarField): FilterKey[] {
  const { scalar, list } = field;
  const asExtra = { ...field, extra: true };
  if (list) {
    const keys = columnKeys(field, `[${scalar}!]`, scalar === "String" ? ofTexts : ofLists);
    return [...keys, ...columnKeys(asExtra, scalar, has)];
  }
  // Extra: filters search ids like text.
  return [
    ...columnKeys(field, scalar, operators[scalar]),
    ...(scalar === "ID" ? columnKeys(asExtra, scalar, patterns) : []),
  ];
}

function columnKeys(field: Field, scalar: string, offered: readonly Operator[]): FilterKey[] {
  return offered.map((operator) => ({
    name: operator === "" ? field.name : `${field.name}_${operator}`,
    kind: "column",
    field,
    operator,
    input: operator === "in" || operator === "not_in" ? `[${scalar}!]` : scalar,
    extra: field.extra,
  }));
}

/** A sort order: by a column of the row, or by one of a related row. */
export type SortKey = { name: string; field: Field; child: ScalarField | undefined; extra: boolean };

/** Every value of a type's orderBy enum. As in the original, not all can be sorted by: see `isSortable`. */
export const sortKeys = byType(({ fields }): SortKey[] => [...fields.values()].flatMap(fieldSorts));

function fieldSorts(field: Field): SortKey[] {
  const { name, extra } = field;
  const own = { name, field, child: undefined, extra };
  if (field.kind === "scalar") return field.isWalked ? [] : [own];
  if (field.kind === "derived" && field.many) return [own];
  const children = [...(entityTypes.get(field.target)?.fields.values() ?? [])].filter(
    (child) => child.kind === "scalar" && !child.list && !child.extra,
  ) as ScalarField[];
  return [own, ...children.map((child) => ({ name: `${name}__${child.name}`, field, child, extra }))];
}

/** Whether rows can be sorted by the key: not by relations and lists. */
export function isSortable({ field, child }: SortKey): boolean {
  return child !== undefined || (field.kind === "scalar" && !field.list);
}

// Memoizes what is offered of each type, by name.
function byType<T extends { name: string }>(offered: (type: EntityType) => T[]) {
  const made = new Map<EntityType, ReadonlyMap<string, T>>();
  return (type: EntityType): ReadonlyMap<string, T> => {
    const known = made.get(type) ?? new Map(offered(type).map((one) => [one.name, one]));
    made.set(type, known);
    return known;
  };
}

/** A value of the document, variables replaced: unsafe integers are bigint, bare enum values are symbols with that description. */
export type Value = null | boolean | number | bigint | string | symbol | Value[] | InputObject;
type InputObject = { [key: string]: Value };

/** Values of the request's variables; those declared without a value are absent. */
export type Variables = ReadonlyMap<string, Value>;

/** The value of an argument. As in graph-node, a variable without a value is null. Throws QueryError beyond `depth`. */
export function readValue(node: ValueNode, variables: Variables, depth: number): Value {
  if (depth < 0) throw new QueryError("The value of an argument is nested too deeply.", { node });
  switch (node.kind) {
    case Kind.VARIABLE:
      return variables.get(node.name.value) ?? null;
    case Kind.INT: {
      const number = Number(node.value);
      return Number.isSafeInteger(number) ? number : BigInt(node.value);
    }
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.STRING:
    case Kind.BOOLEAN:
      return node.value;
    case Kind.NULL:
      return null;
    case Kind.ENUM:
      return Symbol(node.value);
    case Kind.LIST:
      return node.values.map((item) => readValue(item, variables, depth - 1));
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields.map((field) => [field.name.value, readValue(field.value, variables, depth - 1)]),
      );
  }
}

/** Name of an enum value, bare or as a string (clients send both). Undefined for other values. */
export function nameOf(value: Value): string | undefined {
  return typeof value === "symbol" ? value.description : typeof value === "string" ? value : undefined;
}

/** Whether a value is an input object. */
export function isObject(value: unknown): value is InputObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value for a message: short, on one line. */
export function show(value: Value): string {
  try {
    const text = JSON.stringify(value, (_, item) =>
      typeof item === "bigint" ? item.toString() : typeof item === "symbol" ? item.description : item,
    );
    return text.length > 60 ? `${text.slice(0, 57)}...` : text;
  } catch (error) {
    // A variable may be nested too deeply for the stack.
    if (error instanceof RangeError) return "a deeply nested value";
    throw error;
  }
}

/**
 * A value as text for a scalar column; undefined if it does not fit. Throws QueryError for NUL (Postgres cannot hold it) and non-hex bytes.
 */
export function coerce(scalar: Scalar, value: Value): string | undefined {
  if (typeof value === "string" && value.includes("\0"))
    throw new QueryError(`Invalid value ${show(value)}: it contains NUL, which Postgres cannot hold`);
  switch (scalar) {
    case "String":
      return typeof value === "string" ? value : undefined;
    case "ID":
      return typeof value === "string" ? value : wholeNumber(value)?.toString();
    case "Boolean":
      return typeof value === "boolean" ? String(value) : undefined;
    case "Int": {
      const number = wholeNumber(value);
      return number !== undefined && BigInt.asIntN(32, number) === number ? number.toString() : undefined;
    }
    case "BigInt":
      if (typeof value === "string") return /^[+-]?\d{1,1000}$/.test(value) ? value : undefined;
      return wholeNumber(value)?.toString();
    case "Bytes":
      return typeof value === "string" ? bytes(value) : undefined;
  }
}

// Numbers have up to 64 bits; clients send longer ones as strings.
function wholeNumber(value: Value): bigint | undefined {
  const isWhole = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return isWhole && BigInt.asIntN(64, BigInt(value)) === BigInt(value) ? BigInt(value) : undefined;
}

function bytes(value: string): string {
  const digits = value.startsWith("0x") ? value.slice(2) : value;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) {
    throw new QueryError(`Failed to decode \`Bytes\` value: \`${show(value)} is not hexadecimal\``);
  }
  return `0x${digits.toLowerCase()}`;
}
