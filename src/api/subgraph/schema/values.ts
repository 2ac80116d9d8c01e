import { Kind, type ValueNode } from "graphql";
import type { Scalar } from "./entities.ts";
import { QueryError } from "./errors.ts";

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
