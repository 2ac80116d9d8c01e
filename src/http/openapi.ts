import { z } from "zod/v4";

// Own code, since @hono/zod-openapi takes zod 4 as a package only, and hono-openapi documents middleware, not values.

/** A JSON object. */
export type Json = Record<string, unknown>;

/** What a document says of one response: the schema of its body by media type; none: it has no body. */
export type ResponseDocs = { description: string; content?: Readonly<Record<string, z.core.$ZodType>> };

/** What a document says of one method of a path. */
export type Operation = {
  method: "get" | "post";
  /** In the form of OpenAPI: `/v1/heal/{labelhash}`. */
  path: string;
  operationId: string;
  tag: string;
  /** A few words without a full stop. */
  summary: string;
  /** Sentences, in Markdown. */
  description: string;
  params?: z.ZodObject | undefined;
  query?: z.ZodObject | undefined;
  /** Of a JSON body. */
  body?: z.core.$ZodType | undefined;
  /** By HTTP status. */
  answers: Readonly<Record<number, ResponseDocs>>;
};

/** How schemas become JSON Schema, beside the direction. */
export type SchemaOptions = Omit<NonNullable<Parameters<typeof z.toJSONSchema>[1]>, "io">;

type SchemaOf = (schema: z.core.$ZodType, io: "input" | "output") => Json;

/** The OpenAPI 3.1 document of operations. Input is described as requests write it, not as handlers get it. */
export function openApiDocument({
  operations,
  schemas = {},
  ...info
}: {
  title: string;
  version: string;
  description: string;
  operations: readonly Operation[];
  schemas?: SchemaOptions;
}) {
  const schemaOf: SchemaOf = (schema, io) => jsonSchemaOf(schema, { ...schemas, io });
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method]: operationOf(operation, schemaOf) };
  }
  return {
    openapi: "3.1.0",
    info: { ...info, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: "/" }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
  };
}

/** A schema as JSON Schema 2020-12, the dialect of OpenAPI 3.1, which is left out. */
export function jsonSchemaOf(schema: z.core.$ZodType, options?: Parameters<typeof z.toJSONSchema>[1]): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, options);
  return json;
}

function operationOf(operation: Operation, schemaOf: SchemaOf): Json {
  const { operationId, tag, summary, description, params, query, body, answers } = operation;
  const responses = Object.entries(answers).map(([status, { description, content }]) => [
    status,
    { description, ...(content === undefined ? {} : { content: contentOf(content, "output", schemaOf) }) },
  ]);
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    parameters: [...parametersOf("path", params, schemaOf), ...parametersOf("query", query, schemaOf)],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: contentOf({ "application/json": body }, "input", schemaOf),
          },
        }),
    responses: Object.fromEntries(responses),
  };
}

function contentOf(
  content: Readonly<Record<string, z.core.$ZodType>>,
  io: "input" | "output",
  schemaOf: SchemaOf,
): Json {
  const entries = Object.entries(content);
  return Object.fromEntries(entries.map(([type, schema]) => [type, { schema: schemaOf(schema, io) }]));
}

function parametersOf(
  location: "path" | "query",
  schema: z.ZodObject | undefined,
  schemaOf: SchemaOf,
): Json[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, example, ...rest } = schemaOf(field, "input");
    return {
      name,
      in: location,
      required: location === "path" || !z.safeParse(field, undefined).success,
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    };
  });
}
