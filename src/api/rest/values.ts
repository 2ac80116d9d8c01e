import { type Hex, isAddress } from "viem";
import { z } from "zod/v4";
import { namehash } from "../../ens/names.ts";
import { isEncodedLabel, normalizedName } from "../../ens/normalization.ts";

const text = (name: string) => z.string({ error: `${name} must be given once` });

/** An address, all lower case or with a correct checksum (EIP-55). Parsed to lower case. */
export const addressParameter = (name: string) =>
  text(name)
    .refine((value) => isAddress(value), { error: `${name} must be an address` })
    .transform((value) => value.toLowerCase() as Hex);

/** An address in any case, with any checksum and surrounding blanks. Parsed to lower case. */
export const anyCaseAddress = (name: string) =>
  text(name)
    .trim()
    .regex(/^0x[0-9a-f]{40}$/i, { error: `${name} must be a 0x-prefixed 20-byte hex string` })
    .transform((value) => value.toLowerCase() as Hex);

/** 32 bytes in hex, in any case. Parsed to lower case. */
export const bytes32Parameter = (name: string) =>
  text(name)
    .regex(/^0x[0-9a-fA-F]{64}$/, { error: `${name} must be 0x and 64 hex digits` })
    .transform((value) => value.toLowerCase() as Hex);

/** The value of a JSON text. */
export const jsonText = (error: string) =>
  z.string().transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue(error);
      return z.NEVER;
    }
  });

/** `true` or `false`. */
export const booleanParameter = (name: string) =>
  z
    .enum(["true", "false"], { error: `${name} must be true or false` })
    .transform((value) => value === "true");

/** Unix seconds, possibly negative. */
export const timestampParameter = (name: string) =>
  text(name)
    .regex(/^-?[0-9]+$/, { error: `${name} must be an integer`, abort: true })
    .transform(Number)
    .refine(Number.isSafeInteger, { error: `${name} is out of range` });

/** A positive integer in decimal digits. */
export const chainIdParameter = (name: string) =>
  text(name)
    .regex(/^[1-9][0-9]{0,14}$/, { error: `${name} must be a positive integer` })
    .transform(Number);

/** A normalized name (ENSIP-15). The error for another one gives its normalized form, or the node if it has `[labelhash]`. */
export const nameParameter = (field: string) =>
  text(field).superRefine((name, { addIssue }) => {
    const result = normalizedName(name);
    if ("fault" in result)
      addIssue(
        name.split(".").some(isEncodedLabel)
          ? `${field} must not hold labels in the form [labelhash]; the node of this name is ${namehash(name)}`
          : `${field} cannot be normalized (ENSIP-15): ${result.fault}`,
      );
    else if (result.name !== name)
      addIssue(`${field} must be normalized (ENSIP-15): write ${JSON.stringify(result.name)} instead`);
  });

/** Hex with a fixed number of digits, lower case. */
export const hexSchema = (digits: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${digits}}$`));

/** An address. */
export const addressSchema = hexSchema(40).meta({ description: "Address, lower case" });

/** A hash, node or token id. */
export const hashSchema = hexSchema(64).meta({ description: "32 bytes of hex, lower case" });

/** A point in time. */
export const secondsSchema = z.int().meta({ description: "Unix seconds" });

/** A non-negative integer. */
export const countSchema = z.int().min(0);

/** A chain id. */
export const chainIdSchema = z.int().min(1);

/** An amount of money in the smallest unit of its currency. */
export const amountSchema = z.string().regex(/^\d+$/);

/** A field of a JSON response: the SQL of its JSON, its schema, and the conversion of that JSON to its value. */
export type Field<S extends z.ZodType = z.ZodType> = {
  sql: string;
  schema: S;
  read: (json: unknown) => z.output<S>;
};

/** An object of fields; `rows` reads a JSON text of a list of them. */
type Reading<S extends z.ZodType> = Field<S> & { rows: (text: string | null | undefined) => z.output<S>[] };

/** Fields of an object, which may nest. */
type Fields = { readonly [name: string]: Field | Fields };

type Shape<T extends Fields> = {
  [K in keyof T]: T[K] extends Field<infer S> ? S : T[K] extends Fields ? Schema<T[K]> : never;
};
type Schema<T extends Fields> = z.ZodObject<Shape<T>, z.core.$strict>;

/** A field. `sql` gives its JSON value, or the text that `convert` turns into it. A null is left out if the schema is optional. */
export function field<S extends z.ZodType>(
  sql: string,
  schema: S,
  convert?: (stored: string) => z.output<S>,
): Field<S> {
  return { sql, schema, read: (json) => (convert ? convert(String(json)) : (json as z.output<S>)) };
}

/** Combines fields into the field of an object. */
export function readingOf<T extends Fields>(fields: T): Reading<Schema<T>> {
  const members = Object.entries(fields).map(([name, value]) => ({
    name,
    ...(isField(value) ? value : readingOf(value)),
  }));
  const sql = `json_build_object(${members.map(({ name, sql }) => `'${name}', ${sql}`).join(", ")})`;
  const schema = z.strictObject(Object.fromEntries(members.map(({ name, schema }) => [name, schema])));
  const read = (json: unknown) => {
    const object = json as Record<string, unknown>;
    for (const { name, schema, read } of members) {
      if (object[name] === null && schema instanceof z.ZodOptional) delete object[name];
      else if (object[name] !== null) object[name] = read(object[name]);
    }
    return object;
  };
  const rows = (text: string | null | undefined) => (JSON.parse(text ?? "[]") as unknown[]).map(read);
  // The fields give the statement, and so its JSON, the shape of the schema.
  return { sql, schema, read, rows } as unknown as Reading<Schema<T>>;
}

const isField = (value: Field | Fields): value is Field => typeof value.sql === "string";
