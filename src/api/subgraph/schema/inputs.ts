import { readFileSync } from "node:fs";
import {
  type DefinitionNode,
  type FieldDefinitionNode,
  type InterfaceTypeDefinitionNode,
  Kind,
  type ObjectTypeDefinitionNode,
  parse,
  print,
  type ValueNode,
} from "graphql";
import { QueryError } from "./errors.ts";

/** Types of scalar fields. */
export type Scalar = "ID" | "String" | "Bytes" | "BigInt" | "Int" | "Boolean";

// `extra`: not in the original subgraph.
type FieldBase = { name: string; nullable: boolean; extra: boolean; description?: string | undefined };

/** A field with a column of its own. */
export type ScalarField = FieldBase & {
  kind: "scalar";
  scalar: Scalar;
  list: boolean;
  column: string;
  /** An id, which needs no escaping in JSON. */
  isId: boolean;
  /** A column of the ENSv2 walk (src/read/names/v2-walk.ts), if ENSv2 is indexed. It has no filter and no order. */
  isWalked: boolean;
};

/** A stored relation: the column holds the target's id, which may point nowhere. */
export type RelationField = FieldBase & { kind: "relation"; target: string; column: string };

/** A reverse relation: rows of `target` whose column `by` holds this row's id. */
export type DerivedField = FieldBase & { kind: "derived"; target: string; by: string; many: boolean };

/** A field of an entity or interface. */
export type EntityField = ScalarField | RelationField | DerivedField;

/** An entity or interface, and the table of its rows. */
export type EntityType = ReturnType<typeof readType>;

type EntityNode = ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode;

const { definitions } = parse(readFileSync(new URL("schema.graphql", import.meta.url), "utf8"));
const isEntity = (node: DefinitionNode): node is EntityNode =>
  node.kind === Kind.INTERFACE_TYPE_DEFINITION ||
  (node.kind === Kind.OBJECT_TYPE_DEFINITION && hasDirective(node, "entity"));
const nodes = definitions.filter(isEntity);

/** GraphQL definitions of all other types and of directives. */
export const commonDefinitions = definitions.filter((node) => !isEntity(node)).map((node) => print(node));

/** Every entity and interface by name. */
export const entityTypes: ReadonlyMap<string, EntityType> = readTypes();

/** The entity or interface with this name. Throws if there is none, which is a bug. */
export function entityType(name: string): EntityType {
  const type = entityTypes.get(name);
  if (type === undefined) throw new Error(`There is no entity type "${name}".`);
  return type;
}

// The column name that Ponder gives a field: `transactionID` -> `transaction_id`.
function toSnakeCase(name: string): string {
  return (name.match(/[\da-z]+|[A-Z]+(?![a-z])|[A-Z][\da-z]+/g) ?? []).join("_").toLowerCase();
}

function hasDirective({ directives }: EntityNode | FieldDefinitionNode, name: string): boolean {
  return directives?.some((directive) => directive.name.value === name) === true;
}

function readTypes(): Map<string, EntityType> {
  const types = new Map(nodes.map((node) => [node.name.value, readType(node)]));
  for (const type of types.values()) addEventLists(type, types);
  return types;
}

function readType(node: EntityNode) {
  const name = node.name.value;
  const of = node.interfaces?.[0]?.name.value;
  const implementers = nodes.filter(({ interfaces }) => interfaces?.[0]?.name.value === name);
  const singular = `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
  const above = nodes.find((other) => other.name.value === of);
  const stored = [...(above?.fields ?? []), ...(node.fields ?? [])].map(readField);
  return {
    name,
    kind: implementers.length > 0 ? ("interface" as const) : ("entity" as const),
    description: node.description?.value,
    /** All types of an interface share a table, whose column `type` has the type's name. */
    table: toSnakeCase(of ?? name),
    interface: of,
    implementers: implementers.map((one) => one.name.value),
    /** Column with the block of the row's last write. */
    changeColumn: of !== undefined || implementers.length > 0 ? "block_number" : "change_block",
    singular,
    plural: `${singular}s`,
    fields: new Map([...stored, ...stored.flatMap(listIdFields)].map((field) => [field.name, field])),
  };
}

function readField(node: FieldDefinitionNode): EntityField {
  const name = node.name.value;
  const type = print(node.type);
  const target = type.replace(/[[\]!]/g, "");
  const list = type.startsWith("[");
  const isWalked = hasDirective(node, "walked");
  const base = {
    name,
    nullable: !type.endsWith("!"),
    extra: isWalked || hasDirective(node, "extra"),
    description: node.description?.value,
  };
  const by = /@derivedFrom\(field: "(\w+)"\)/.exec(print(node))?.[1];
  if (by !== undefined) return { ...base, kind: "derived", target, by: `${toSnakeCase(by)}_id`, many: list };
  if (nodes.some((other) => other.name.value === target))
    return { ...base, kind: "relation", target, column: `${toSnakeCase(name)}_id` };
  const scalar = target as Scalar;
  return {
    ...base,
    kind: "scalar",
    scalar,
    list,
    column: toSnakeCase(name),
    isId: scalar === "ID",
    isWalked,
  };
}

// Extra: the id of each stored relation as a text field.
function listIdFields(relation: EntityField): ScalarField[] {
  if (relation.kind !== "relation") return [];
  const { column, nullable } = relation;
  const name = `${relation.name}Id`;
  const isText = { kind: "scalar", scalar: "String", list: false, isId: true, isWalked: false } as const;
  return [{ ...isText, name, column, nullable, extra: true }];
}

// Extra: one list per event type (transfers, newOwners, ..) beside `events`.
function addEventLists(type: EntityType, types: Map<string, EntityType>): void {
  const events = type.fields.get("events");
  if (events?.kind !== "derived") return;
  for (const name of types.get(events.target)?.implementers ?? []) {
    const { plural } = types.get(name) as EntityType;
    if (type.fields.has(plural)) continue;
    type.fields.set(plural, { ...events, name: plural, target: name, extra: true, description: undefined });
  }
}

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
  | { kind: "column"; field: EntityField; operator: Operator }
  | { kind: "child"; field: EntityField }
  | { kind: "changeBlock" }
  | { kind: "group"; every: boolean }
);

/** Every key of a type's filter objects, extras included. */
export const filterKeys = memoizeByType(({ name, fields }): FilterKey[] => {
  const input = `[${name}_filter]`;
  return [
    ...[...fields.values()].flatMap(listFieldKeys),
    { name: "_change_block", kind: "changeBlock", input: "BlockChangedFilter", extra: false },
    { name: "and", kind: "group", every: true, input, extra: false },
    { name: "or", kind: "group", every: false, input, extra: false },
  ];
});

function listFieldKeys(field: EntityField): FilterKey[] {
  const { name, extra } = field;
  if (field.kind === "scalar") return field.isWalked ? [] : listScalarKeys(field);
  const child: FilterKey = { name: `${name}_`, kind: "child", field, input: `${field.target}_filter`, extra };
  return field.kind === "derived" ? [child] : [...listColumnKeys(field, "String", text), child];
}

function listScalarKeys(field: ScalarField): FilterKey[] {
  const { scalar, list } = field;
  const asExtra = { ...field, extra: true };
  if (list) {
    const keys = listColumnKeys(field, `[${scalar}!]`, scalar === "String" ? ofTexts : ofLists);
    return [...keys, ...listColumnKeys(asExtra, scalar, has)];
  }
  // Extra: filters search ids like text.
  return [
    ...listColumnKeys(field, scalar, operators[scalar]),
    ...(scalar === "ID" ? listColumnKeys(asExtra, scalar, patterns) : []),
  ];
}

function listColumnKeys(field: EntityField, scalar: string, offered: readonly Operator[]): FilterKey[] {
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
export type EntitySort = { name: string; field: EntityField; child: ScalarField | undefined; extra: boolean };

/** Every value of a type's orderBy enum. As in the original, not all can be sorted by: see `isSortable`. */
export const sortKeys = memoizeByType(({ fields }): EntitySort[] =>
  [...fields.values()].flatMap(listFieldSorts),
);

function listFieldSorts(field: EntityField): EntitySort[] {
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
export function isSortable({ field, child }: EntitySort): boolean {
  return child !== undefined || (field.kind === "scalar" && !field.list);
}

// Memoizes what is offered of each type, by name.
function memoizeByType<T extends { name: string }>(offered: (type: EntityType) => T[]) {
  const made = new Map<EntityType, ReadonlyMap<string, T>>();
  return (type: EntityType): ReadonlyMap<string, T> => {
    const known = made.get(type) ?? new Map(offered(type).map((one) => [one.name, one]));
    made.set(type, known);
    return known;
  };
}

/**
 * A value of the document, variables replaced: unsafe integers are bigint, bare enum values are symbols with that
 * description.
 */
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
export function readEnumName(value: Value): string | undefined {
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
 * A value as text for a scalar column; undefined if it does not fit. Throws QueryError for NUL (Postgres cannot hold
 * it) and non-hex bytes.
 */
export function coerce(scalar: Scalar, value: Value): string | undefined {
  if (typeof value === "string" && value.includes("\0"))
    throw new QueryError(`Invalid value ${show(value)}: it contains NUL, which Postgres cannot hold`);
  switch (scalar) {
    case "String":
      return typeof value === "string" ? value : undefined;
    case "ID":
      return typeof value === "string" ? value : parseWholeNumber(value)?.toString();
    case "Boolean":
      return typeof value === "boolean" ? String(value) : undefined;
    case "Int": {
      const number = parseWholeNumber(value);
      return number !== undefined && BigInt.asIntN(32, number) === number ? number.toString() : undefined;
    }
    case "BigInt":
      if (typeof value === "string") return /^[+-]?\d{1,1000}$/.test(value) ? value : undefined;
      return parseWholeNumber(value)?.toString();
    case "Bytes":
      return typeof value === "string" ? parseBytes(value) : undefined;
  }
}

// Numbers have up to 64 bits; clients send longer ones as strings.
function parseWholeNumber(value: Value): bigint | undefined {
  const isWhole = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return isWhole && BigInt.asIntN(64, BigInt(value)) === BigInt(value) ? BigInt(value) : undefined;
}

function parseBytes(value: string): string {
  const digits = value.startsWith("0x") ? value.slice(2) : value;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) {
    throw new QueryError(`Failed to decode \`Bytes\` value: \`${show(value)} is not hexadecimal\``);
  }
  return `0x${digits.toLowerCase()}`;
}
