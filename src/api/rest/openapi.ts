import { z } from "zod/v4";
import type { Answer, Endpoint } from "./endpoint.ts";

// Own code, since @hono/zod-openapi takes zod 4 as a package only, and hono-openapi documents middleware, not values.

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the endpoints. Input is described as requests write it, not as handlers get it. */
export function openApiDocument({
  version,
  endpoints,
}: {
  version: string;
  endpoints: readonly Endpoint<never>[];
}) {
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Name service index",
      version,
      description:
        "REST endpoints of the index. Names, owners and records as entities are served over GraphQL at `/subgraph`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
  };
}

function operationOf(endpoint: Endpoint<never>): Json {
  const { method, path, tag, summary, description, params, query, body, answers } = endpoint;
  return {
    operationId: operationId(method, path),
    tags: [tag],
    summary,
    description,
    parameters: [...parametersOf("path", params), ...parametersOf("query", query)],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: jsonSchemaOf(body, "input") } },
          },
        }),
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)]),
    ),
  };
}

function operationId(method: string, path: string): string {
  const words = path.replaceAll(/[{}]/g, "").split(/[/-]/).filter(Boolean);
  return [method, ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join("");
}

function parametersOf(place: "path" | "query", schema: z.ZodObject | undefined): Json[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, example, ...rest } = jsonSchemaOf(field as z.ZodType, "input");
    return {
      name,
      in: place,
      required: place === "path" || !z.safeParse(field, undefined).success,
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    };
  });
}

function responseOf({ description, schema, type = "application/json" }: Answer): Json {
  return { description, content: { [type]: { schema: jsonSchemaOf(schema, "output") } } };
}

// Without its dialect, which is that of OpenAPI 3.1, and without the bounds of integers that say nothing.
function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return json;
}
