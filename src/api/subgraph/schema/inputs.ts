import { Kind, type ValueNode } from "graphql";
import { type EntityType, entityTypes, type Field, type Scalar, type ScalarField } from "./entities.ts";
import { QueryError } from "./errors.ts";

/** Operators that compare a column with a value; "" is equality. */
export type Operator =
  | ""
  | "not"
  | "gt"
  | "lt"
  | "gte"
  | "lte"
  | "in"
  | "not_in"
  | `${"" | "not_"}${"contains" | "starts_with" | "ends_with"}${"" | "_nocase"}`
  | "has"
  | "not_has";

/** What one key of a filter object means. `input` is its GraphQL type. */
export type FilterKey = { name: string } & KeyMeaning;
type KeyMeaning = { input: string; extra: boolean } & (
  | { kind: "column"; field: Field; operator: Operator }
  | { kind: "child"; field: Field }
  | { kind: "changeBlock" }
  | { kind: "group"; every: boolean }
);

const equality: Operator[] = ["", "not", "in", "not_in"];
const comparison: Operator[] = ["", "not", "gt", "lt", "gte", "lte", "in", "not_in"];
const ofBytes: Operator[] = [...comparison, "contains", "not_contains"];
const patterns: Operator[] = [
  "contains",
  "contains_nocase",
  "not_contains",
  "not_contains_nocase",
  "starts_with",
  "starts_with_nocase",
  "not_starts_with",
  "not_starts_with_nocase",
  "ends_with",
  "ends_with_nocase",
  "not_ends_with",
  "not_ends_with_nocase",
];
const text: Operator[] = [...comparison, ...patterns];
const operators = {
  ID: comparison,
  BigInt: comparison,
  Int: comparison,
  Boolean: equality,
  Bytes: ofBytes,
  String: text,
};

const keys = new Map<string, Map<string, FilterKey>>();

/** Every key that a filter object of the type may hold, extras included. */
export function filterKeys(type: EntityType): ReadonlyMap<string, FilterKey> {
  const known = keys.get(type.name);
  if (known !== undefined) return known;
  const meanings = new Map([...type.fields.values()].flatMap(fieldKeys));
  meanings.set("_change_block", { kind: "changeBlock", input: "BlockChangedFilter", extra: false });
  for (const every of [true, false]) {
    meanings.set(every ? "and" : "or", {
      kind: "group",
      every,
      input: `[${type.name}_filter]`,
      extra: false,
    });
  }
  const found = new Map([...meanings].map(([name, meaning]) => [name, { name, ...meaning }]));
  keys.set(type.name, found);
  return found;
}

function fieldKeys(field: Field): [string, KeyMeaning][] {
  if (field.kind === "scalar" && field.isWalked) return [];
  if (field.kind === "scalar")
    return field.list ? listKeys(field) : columnKeys(field, field.scalar, operators[field.scalar]);
  const child: [string, KeyMeaning] = [
    `${field.name}_`,
    { kind: "child", field, input: `${field.target}_filter`, extra: field.kind === "derived" && field.extra },
  ];
  return field.kind === "derived" ? [child] : [...columnKeys(field, "String", text), child];
}

function columnKeys(field: Field, scalar: string, offered: Operator[]): [string, KeyMeaning][] {
  const extra = field.kind === "scalar" && field.extra;
  const keysOf = (some: Operator[], isExtra: boolean) =>
    some.map((operator): [string, KeyMeaning] => {
      const input = operator === "in" || operator === "not_in" ? `[${scalar}!]` : scalar;
      return [keyOf(field, operator), { kind: "column", field, operator, input, extra: isExtra }];
    });
  // Extra: an id may be searched like text.
  return [...keysOf(offered, extra), ...(scalar === "ID" ? keysOf(patterns, true) : [])];
}

function listKeys(field: ScalarField): [string, KeyMeaning][] {
  const list: Operator[] = ["", "not", "contains", "not_contains"];
  const nocase: Operator[] = field.scalar === "String" ? ["contains_nocase", "not_contains_nocase"] : [];
  const has: Operator[] = ["has", "not_has"];
  return [...list, ...nocase, ...has].map((operator) => {
    const extra = has.includes(operator);
    const input = extra ? field.scalar : `[${field.scalar}!]`;
    return [keyOf(field, operator), { kind: "column", field, operator, input, extra }];
  });
}

function keyOf(field: Field, operator: Operator): string {
  return operator === "" ? field.name : `${field.name}_${operator}`;
}

/** How a list may be sorted: by a column of the row, or by one of a related row. */
export type SortKey = { key: string; field: Field; child: ScalarField | undefined; extra: boolean };

const sorts = new Map<string, Map<string, SortKey>>();

/**
 * Every value of the type's orderBy enum. Relations and lists are listed, as in the original, but cannot be
 * sorted by: see `isSortable`.
 */
export function sortKeys(type: EntityType): ReadonlyMap<string, SortKey> {
  const known = sorts.get(type.name);
  if (known !== undefined) return known;
  const found = new Map<string, SortKey>();
  for (const field of type.fields.values()) {
    if (field.kind === "scalar" && field.isWalked) continue;
    const extra = field.kind !== "relation" && field.extra;
    found.set(field.name, { key: field.name, field, child: undefined, extra });
    if (field.kind === "scalar" || (field.kind === "derived" && field.many)) continue;
    for (const child of entityTypes.get(field.target)?.fields.values() ?? []) {
      if (child.kind !== "scalar" || child.list || child.extra) continue;
      found.set(`${field.name}__${child.name}`, { key: `${field.name}__${child.name}`, field, child, extra });
    }
  }
  sorts.set(type.name, found);
  return found;
}

/** Whether rows can be sorted by the key; the others are names of relations and lists of entities. */
export function isSortable({ field, child }: SortKey): boolean {
  return child !== undefined || (field.kind === "scalar" && !field.list);
}

/**
 * A value of the document, its variables replaced. Integers too big for a number are bigint; a bare name,
 * as an enum's value is written, is a symbol with that description.
 */
export type Value = null | boolean | number | bigint | string | symbol | Value[] | InputObject;
/** An input object, such as a filter. */
export type InputObject = { [key: string]: Value };

/** Values of the request's variables; one that is declared and has no value is absent. */
export type Variables = ReadonlyMap<string, Value>;

/** The value of an argument. A variable without a value counts as null, as in graph-node. */
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

/** Name of an enum's value: bare, or as a string (clients send both). Undefined for anything else. */
export function nameOf(value: Value): string | undefined {
  return typeof value === "symbol" ? value.description : typeof value === "string" ? value : undefined;
}

/** Whether a value is an input object. */
export function isObject(value: Value): value is InputObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as shown in a message: short, on one line. */
export function show(value: Value): string {
  const text = jsonOf(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function jsonOf(value: Value): string {
  try {
    return JSON.stringify(value, (_, item) =>
      typeof item === "bigint" ? item.toString() : typeof item === "symbol" ? item.description : item,
    );
  } catch (error) {
    // A variable may be nested too deeply for the stack.
    if (error instanceof RangeError) return "a deeply nested value";
    throw error;
  }
}

/** Text form of a scalar for the database, by the type of its column; undefined if the value does not fit. */
export function coerce(scalar: Scalar, value: Value): string | undefined {
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

// Numbers may have up to 64 bits; longer ones come as strings.
function wholeNumber(value: Value): bigint | undefined {
  const number =
    typeof value === "bigint"
      ? value
      : typeof value === "number" && Number.isInteger(value)
        ? BigInt(value)
        : undefined;
  return number !== undefined && BigInt.asIntN(64, number) === number ? number : undefined;
}

function bytes(value: string): string {
  const digits = value.startsWith("0x") ? value.slice(2) : value;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) {
    throw new QueryError(`Failed to decode \`Bytes\` value: \`${show(value)} is not hexadecimal\``);
  }
  return `0x${digits.toLowerCase()}`;
}
