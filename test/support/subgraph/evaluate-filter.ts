import type { Entity } from "./entities.ts";

/** An entity with the name of its type. */
export type Typed = Entity & { __typename: string };
/** Where a related entity of another is found; undefined for plain fields. */
export type Related = (
  type: string,
  field: string,
  entity: Entity,
) => { target: string; entities: Typed[]; many: boolean } | undefined;

const suffixes =
  "not_contains_nocase not_starts_with_nocase not_ends_with_nocase contains_nocase starts_with_nocase ends_with_nocase " +
  "not_contains not_starts_with not_ends_with not_in contains starts_with ends_with not gte lte gt lt in";
const numbers =
  "subdomainCount ttl createdAt expiryDate registrationDate cost fuses blockNumber coinType contentType version coinTypes";

/** Whether an entity matches a filter object: all of its keys, `and` and `or` included. */
export function matches(type: string, entity: Typed, filter: object, related: Related): boolean {
  return Object.entries(filter).every(([key, wanted]) => {
    if (key === "and") return (wanted as object[]).every((part) => matches(type, entity, part, related));
    if (key === "or") return (wanted as object[]).some((part) => matches(type, entity, part, related));
    if (key.endsWith("_") && key !== "_") {
      const found = related(entity.__typename, key.slice(0, -1), entity);
      return found!.entities.some((other) => matches(found!.target, other, wanted as object, related));
    }
    const suffix = suffixes.split(" ").find((name) => key.endsWith(`_${name}`));
    const field = suffix === undefined ? key : key.slice(0, -suffix.length - 1);
    const kind = isBytes(entity.__typename, field)
      ? "bytes"
      : numbers.split(" ").includes(field)
        ? "number"
        : "text";
    return meets(kind, suffix ?? "is", entity[field] ?? null, wanted);
  });
}

type Kind = "bytes" | "number" | "text";

function meets(kind: Kind, operator: string, value: unknown, wanted: unknown): boolean {
  if (wanted === null) return operator === "is" ? value === null : value !== null;
  if (value === null) return false;
  // On lists the negation of `contains` means that none is present, not that one is missing.
  if (operator.startsWith("not_contains") && Array.isArray(value)) {
    return (wanted as unknown[]).every((item) => !meetsList(operator.slice("not_".length), value, [item]));
  }
  if (operator.startsWith("not")) {
    const positive = operator === "not" ? "is" : operator.slice("not_".length);
    if (positive === "in" && (wanted as unknown[]).length === 0) return false;
    return !meets(kind, positive, value, wanted);
  }
  if (Array.isArray(value)) return meetsList(operator, value, wanted as unknown[]);
  if (operator === "in") return (wanted as unknown[]).some((item) => meets(kind, "is", value, item));
  if (typeof value === "boolean") return value === wanted;
  if (kind === "number") return isInOrder(operator, Number(BigInt(String(value)) - BigInt(String(wanted))));
  const fold = operator.endsWith("_nocase") || kind === "bytes" ? lower : (text: string) => text;
  const have = fold(String(value));
  const want = fold(kind === "bytes" ? `0x${String(wanted).replace(/^0x/, "")}` : String(wanted));
  switch (operator.replace("_nocase", "")) {
    case "contains":
      return kind === "bytes" ? holdsBytes(have, want) : have.includes(want);
    case "starts_with":
      return have.startsWith(want);
    case "ends_with":
      return have.endsWith(want);
    default:
      return isInOrder(operator, Buffer.compare(Buffer.from(have), Buffer.from(want)));
  }
}

function isInOrder(operator: string, difference: number): boolean {
  if (operator === "is") return difference === 0;
  if (operator === "gt" || operator === "gte")
    return difference > 0 || (operator === "gte" && difference === 0);
  return difference < 0 || (operator === "lte" && difference === 0);
}

function holdsBytes(have: string, want: string): boolean {
  return Buffer.from(have.slice(2), "hex").includes(Buffer.from(want.slice(2), "hex"));
}

function meetsList(operator: string, value: unknown[], wanted: unknown[]): boolean {
  const fold = operator.endsWith("_nocase") ? lower : (text: string) => text;
  const have = value.map((item) => fold(String(item)));
  const want = wanted.map((item) => fold(String(item)));
  if (operator.startsWith("contains")) return want.every((item) => have.includes(item));
  return have.length === want.length && have.every((item, place) => item === want[place]);
}

const bytes = "labelhash address contentHash transactionID hash x y interfaceID implementer target";
const isBytes = (type: string, field: string) =>
  bytes.split(" ").includes(field) ||
  (type === "MulticoinAddrChanged" && field === "addr") ||
  (type === "AuthorisationChanged" && field === "owner");
const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
