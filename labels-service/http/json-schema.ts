import { z } from "zod/v4";

/** A JSON object. */
export type Json = Record<string, unknown>;

/**
 * The JSON Schema of what a schema takes, for the API's document, whose dialect is the same (OpenAPI 3.1 is JSON Schema
 * 2020-12). What a schema cannot tell of itself is told by its entry in the registry.
 */
export function schemaOf(schema: z.core.$ZodType): Json {
  const { $schema: _, ...told } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return told;
}
