import { type EntityType, entityTypes, type Field, type ScalarField } from "./entities.ts";

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
const bytes: Operator[] = [...comparison, "contains", "not_contains"];
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
  Bytes: bytes,
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
