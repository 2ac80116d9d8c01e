import { z } from "zod/v4";
import type { AnswerDocs, EndpointDocs } from "./endpoint.ts";

type Json = Record<string, unknown>;

/**
 * The OpenAPI 3.1 document of the endpoints. Parameters are told by the schemas that requests are read with: by what they
 * take, not by what they make of it.
 */
export function openApiDocument({ version, endpoints }: { version: string; endpoints: EndpointDocs[] }) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Name service index",
      version,
      description:
        "REST endpoints of the index. Names, owners and records as entities are served over GraphQL at /subgraph.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: Object.fromEntries(endpoints.map((endpoint) => [endpoint.path, { get: operationOf(endpoint) }])),
  };
}

function operationOf({ path, tag, summary, description, params, query, answers }: EndpointDocs): Json {
  return {
    operationId: operationId(path),
    tags: [tag],
    summary,
    description,
    parameters: [...parametersOf("path", params), ...parametersOf("query", query)],
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)]),
    ),
  };
}

function operationId(path: string): string {
  const words = path.replaceAll(/[{}]/g, "").split(/[/-]/).filter(Boolean);
  return ["get", ...words]
    .map((word, i) => (i === 0 ? word : word[0]?.toUpperCase() + word.slice(1)))
    .join("");
}

function parametersOf(place: "path" | "query", schema: z.ZodObject | undefined): Json[] {
  if (schema === undefined) return [];
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, example, ...rest } = inputSchemaOf(field as z.ZodType);
    return {
      name,
      in: place,
      required: place === "path",
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    };
  });
}

function responseOf({ description, schema }: AnswerDocs): Json {
  if (schema === undefined) return { description };
  return { description, content: { "application/json": { schema: withoutDialect(z.toJSONSchema(schema)) } } };
}

function inputSchemaOf(schema: z.ZodType): Json {
  return withoutDialect(z.toJSONSchema(schema, { io: "input" }));
}

// The document's own dialect is the same: OpenAPI 3.1 is JSON Schema 2020-12.
function withoutDialect({ $schema: _, ...schema }: Json): Json {
  return schema;
}
