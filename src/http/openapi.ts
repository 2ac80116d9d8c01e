import { z } from "zod/v4";

// Own code: @hono/zod-openapi accepts zod 4 only as a package, and hono-openapi documents middleware, not values.

/** A JSON object. */
export type Json = Record<string, unknown>;

/** Documentation of a response, with the schema of its body by media type. Without `content` it has no body. */
export type ResponseDocs = { description: string; content?: Readonly<Record<string, z.core.$ZodType>> };

/** Documentation of one method of a path. */
export type Operation = {
  method: "get" | "post";
  /** As OpenAPI writes it: `/v1/heal/{labelhash}`. */
  path: string;
  operationId: string;
  tag: string;
  /** A few words without a full stop. */
  summary: string;
  /** Sentences in Markdown. */
  description: string;
  params?: z.ZodObject | undefined;
  query?: z.ZodObject | undefined;
  /** JSON body. */
  body?: z.core.$ZodType | undefined;
  /** By HTTP status. */
  answers: Readonly<Record<number, ResponseDocs>>;
};

type OpenApiOptions = NonNullable<Parameters<typeof z.toJSONSchema>[1]>;
type SchemaOf = (schema: z.core.$ZodType, io: "input" | "output") => Json;

/**
 * OpenAPI 3.1 document of the operations. It describes input as requests write it, not as handlers get it. `schemas`
 * are zod's options.
 */
export function openApiDocument({
  operations,
  schemas = {},
  ...info
}: {
  title: string;
  version: string;
  description: string;
  operations: readonly Operation[];
  schemas?: Omit<OpenApiOptions, "io">;
}) {
  const schemaOf: SchemaOf = (schema, io) => toJsonSchema(schema, { ...schemas, io });
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method]: buildOperation(operation, schemaOf) };
  }
  return {
    openapi: "3.1.0",
    info: { ...info, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: "/" }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
  };
}

/** A schema as JSON Schema 2020-12, without `$schema`: that is OpenAPI 3.1's default dialect. */
export function toJsonSchema(schema: z.core.$ZodType, options?: OpenApiOptions): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, options);
  return json;
}

function buildOperation(operation: Operation, schemaOf: SchemaOf): Json {
  const { operationId, tag, summary, description, params, query, body, answers } = operation;
  const contentOf = (content: ResponseDocs["content"], io: "input" | "output") =>
    content && mapValues(content, (schema) => ({ schema: schemaOf(schema, io) }));
  const bodyContent = body && contentOf({ "application/json": body }, "input");
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    parameters: [...buildParameters("path", params, schemaOf), ...buildParameters("query", query, schemaOf)],
    ...(bodyContent && { requestBody: { required: true, content: bodyContent } }),
    responses: mapValues(answers, ({ description, content }) => ({
      description,
      ...(content && { content: contentOf(content, "output") }),
    })),
  };
}

const mapValues = <T>(values: Readonly<Record<string, T>>, change: (value: T) => Json) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));

function buildParameters(
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
      ...(description !== undefined && { description }),
      schema: rest,
      ...(example !== undefined && { example }),
    };
  });
}
