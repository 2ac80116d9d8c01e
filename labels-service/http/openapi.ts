import type { z } from "zod/v4";
import { type AnswerDocs, type EndpointDocs, endpoints, type Json, schemaOf } from "./endpoint-docs.ts";

/** The OpenAPI 3.1 document of the label service. */
export function openApiDocument(version: string) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Label service",
      version,
      description:
        "Turns labelhashes back into labels. HEAD works wherever GET does, and below /v1 every origin is allowed. Unknown paths get 404 as plain text.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: Object.fromEntries(
      endpoints.map((endpoint) => [endpoint.path, { [endpoint.method]: operationOf(endpoint) }]),
    ),
  };
}

function operationOf({
  operationId,
  tag,
  summary,
  description,
  params,
  query,
  body,
  answers,
}: EndpointDocs): Json {
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    parameters: [...parametersOf("path", params), ...parametersOf("query", query)],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: schemaOf(body) } } } }),
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)]),
    ),
  };
}

function parametersOf(place: "path" | "query", schema: z.ZodObject | undefined): Json[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, example, ...rest } = schemaOf(field);
    return { name, in: place, required: place === "path", description, schema: rest, example };
  });
}

function responseOf({ description, content }: AnswerDocs): Json {
  const schemas = Object.entries(content).map(([type, schema]) => [type, { schema: schemaOf(schema) }]);
  return { description, content: Object.fromEntries(schemas) };
}
