import { z } from "zod/v4";

// Columns of a statement as members of JSON: one definition gives the SQL, the schema and the type.

/** A field of a JSON response: the SQL of its JSON, its schema, and the conversion of that JSON to its value. */
export type Field<S extends z.ZodType = z.ZodType> = {
  sql: string;
  schema: S;
  read: (json: unknown) => z.output<S>;
};

/** An object of fields; `rows` reads a JSON text of a list of them. */
type ReadObject<S extends z.ZodType> = Field<S> & {
  rows: (text: string | null | undefined) => z.output<S>[];
};

/** Fields of an object, which may nest. */
type Fields = { readonly [name: string]: Field | Fields };

type Shape<T extends Fields> = {
  [K in keyof T]: T[K] extends Field<infer S> ? S : T[K] extends Fields ? Schema<T[K]> : never;
};
type Schema<T extends Fields> = z.ZodObject<Shape<T>, z.core.$strict>;

/**
 * A field. `sql` gives its JSON value, or the text that `convert` turns into it. A null is left out if the schema is
 * optional.
 */
export function field<S extends z.ZodType>(
  sql: string,
  schema: S,
  convert?: (stored: string) => z.output<S>,
): Field<S> {
  return { sql, schema, read: (json) => (convert ? convert(String(json)) : (json as z.output<S>)) };
}

/** Combines fields into the field of an object. */
export function combineFields<T extends Fields>(fields: T): ReadObject<Schema<T>> {
  const members = Object.entries(fields).map(([name, value]) => ({
    name,
    ...(isField(value) ? value : combineFields(value)),
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
  return { sql, schema, read, rows } as unknown as ReadObject<Schema<T>>;
}

const isField = (value: Field | Fields): value is Field => typeof value.sql === "string";
