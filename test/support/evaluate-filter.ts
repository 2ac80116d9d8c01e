import type { Related, Typed } from "./evaluate.ts";

const suffixes =
  "not_contains_nocase not_starts_with_nocase not_ends_with_nocase contains_nocase starts_with_nocase ends_with_nocase " +
  "not_contains not_starts_with not_ends_with not_in contains starts_with ends_with not gte lte gt lt in";
const numbers =
  "subdomainCount ttl createdAt expiryDate registrationDate cost fuses blockNumber coinType contentType version coinTypes";

/** Whether an entity meets a filter object: all of its keys, the groups beside them included. */
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
    return meets(field, suffix ?? "is", entity[field] ?? null, wanted);
  });
}

function meets(field: string, operator: string, value: unknown, wanted: unknown): boolean {
  if (wanted === null || wanted === undefined) return operator === "is" ? value === null : value !== null;
  if (value === null) return false;
  // On lists the negation of `contains` is that none is present, not that one is missing.
  if (operator === "not_contains" && Array.isArray(value)) {
    return (wanted as unknown[]).every((item) => !value.map(String).includes(String(item)));
  }
  if (operator.startsWith("not")) {
    const positive = operator === "not" ? "is" : operator.slice("not_".length);
    if (positive === "in" && (wanted as unknown[]).length === 0) return false;
    return !meets(field, positive, value, wanted);
  }
  if (Array.isArray(value)) return meetsList(operator, value, wanted as unknown[]);
  if (operator === "in") return (wanted as unknown[]).some((item) => meets(field, "is", value, item));
  const fold = operator.endsWith("_nocase") ? lower : (text: string) => text;
  const [have, want] = [fold(String(value)), fold(String(wanted))];
  switch (operator.replace("_nocase", "")) {
    case "is":
      return isNumber(field) ? order(field, value, wanted) === 0 : have === bytes(field, want);
    case "gt":
      return order(field, value, wanted) > 0;
    case "lt":
      return order(field, value, wanted) < 0;
    case "gte":
      return order(field, value, wanted) >= 0;
    case "lte":
      return order(field, value, wanted) <= 0;
    case "contains":
      return have.includes(want);
    case "starts_with":
      return have.startsWith(want);
    default:
      return have.endsWith(want);
  }
}

function meetsList(operator: string, value: unknown[], wanted: unknown[]): boolean {
  const have = value.map(String);
  const want = wanted.map(String);
  if (operator === "contains") return want.every((item) => have.includes(item));
  return have.length === want.length && have.every((item, place) => item === want[place]);
}

const isNumber = (field: string) => numbers.split(" ").includes(field);
const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const bytes = (field: string, text: string) =>
  field === "labelhash" || field === "address" ? `0x${lower(text.replace(/^0x/, ""))}` : text;

function order(field: string, a: unknown, b: unknown): number {
  if (isNumber(field)) return Number(BigInt(String(a)) - BigInt(String(b)));
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}
