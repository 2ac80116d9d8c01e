import { z } from "zod/v4";

/** A field of a JSON response: the SQL it is read with, its schema, and the value for a stored text that differs. */
export type Field<S extends z.ZodType = z.ZodType> = {
  sql: string;
  schema: S;
  convert: ((stored: string) => z.output<S>) | undefined;
};

/** Fields of an object, which may nest. */
export type Fields = { readonly [name: string]: Field | Fields };

type Shape<T extends Fields> = {
  [K in keyof T]: T[K] extends Field<infer S> ? S : T[K] extends Fields ? Schema<T[K]> : never;
};
type Schema<T extends Fields> = z.ZodObject<Shape<T>, z.core.$strict>;

/** How to read an object of fields: its SQL expression, its schema, and what makes its value of the parsed JSON. */
export type Reading<T extends Fields> = {
  sql: string;
  schema: Schema<T>;
  read: (json: unknown) => z.output<Schema<T>>;
};

/**
 * A field: `sql` gives its JSON value, unless `convert` makes it of a stored text. A null is left out where the schema
 * is optional.
 */
export function field<S extends z.ZodType>(
  sql: string,
  schema: S,
  convert?: (stored: string) => z.output<S>,
): Field<S> {
  return { sql, schema, convert };
}

/** What reads an object with these fields: its statement's part, its schema, and its value. */
export function readingOf<T extends Fields>(fields: T): Reading<T> {
  const { sql, schema, steps } = partsOf(fields);
  const read = (json: unknown) => {
    for (const step of steps) step(json as Json);
    return json;
  };
  // The fields give the statement, and with it the JSON, the same shape as the schema.
  return { sql, schema, read } as unknown as Reading<T>;
}

type Json = Record<string, unknown>;
// What turns the JSON that the statement gives into the object, in place.
type Step = (object: Json) => void;

function partsOf(fields: Fields): { sql: string; schema: z.ZodType; steps: Step[] } {
  const members = Object.entries(fields).map(([name, value]) => {
    if (isField(value)) return { name, ...value, steps: stepsOf(name, value) };
    const { sql, schema, steps } = partsOf(value);
    return {
      name,
      sql,
      schema,
      steps: steps.map(
        (step): Step =>
          (object) =>
            step(object[name] as Json),
      ),
    };
  });
  return {
    sql: `json_build_object(${members.map(({ name, sql }) => `'${name}', ${sql}`).join(", ")})`,
    schema: z.strictObject(Object.fromEntries(members.map(({ name, schema }) => [name, schema]))),
    steps: members.flatMap(({ steps }) => steps),
  };
}

function stepsOf(name: string, { schema, convert }: Field): Step[] {
  const steps: Step[] = [];
  if (convert) {
    steps.push((object) => {
      if (object[name] !== null) object[name] = convert(String(object[name]));
    });
  }
  if (schema instanceof z.ZodOptional) {
    steps.push((object) => {
      if (object[name] === null) delete object[name];
    });
  }
  return steps;
}

function isField(value: Field | Fields): value is Field {
  return typeof value.sql === "string";
}
