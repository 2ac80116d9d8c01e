import { z } from "zod/v4";
import { labelSetIdPattern } from "../../src/labels/label-set.ts";

// Bodies of the service's responses, exactly as it sends them. Clients read with looser schemas.

/** `/health` and `/ready`, 200. */
export const okBody = z.strictObject({ status: z.literal("ok") });

/** `GET /v1/heal/<labelhash>`, 200. */
export const healBody = z.strictObject({
  status: z.literal("success"),
  label: z.string().meta({ description: "Exactly as it was stored: any text", example: "eth" }),
});

/** `POST /v1/heal`, 200. */
export const batchBody = z.strictObject({
  status: z.literal("success"),
  labels: z.array(z.string().nullable()).meta({
    description: "A label, or null where it is unknown, for each labelhash of the request, in its order",
    example: ["eth", null],
  }),
});

const labelSet = z.strictObject({
  labelSetId: z.string().regex(labelSetIdPattern).meta({ example: "subgraph" }),
  highestLabelSetVersion: z.int().min(0),
});

/** `GET /v1/labels/count`, 200. */
export const countBody = z.strictObject({
  status: z.literal("success"),
  count: z.int().min(0).meta({ description: "Healable labels, all versions together" }),
  timestamp: z.iso.datetime({ precision: 3 }).meta({ description: "Time of the response" }),
});

/** `GET /v1/config`, 200. */
export const configBody = z.strictObject({
  version: z.string().meta({ description: "Version of the service" }),
  labelSet,
  recordsCount: z.int().min(0).meta({ description: "Healable labels, all versions together" }),
});

/** `GET /v1/version`, 200. */
export const versionBody = z.strictObject({
  status: z.literal("success"),
  versionInfo: z.strictObject({
    version: z.string().meta({ description: "Version of the service" }),
    dbSchemaVersion: z.int().min(1).meta({ description: "Version of the layout of the database file" }),
    labelSet,
  }),
});

/** The body of an error with this status. */
export const errorBody = (status: number) =>
  z.strictObject({ status: z.literal("error"), error: z.string(), errorCode: z.literal(status) });

/** A JSON object. */
export type Json = Record<string, unknown>;

/**
 * The JSON Schema of what a schema accepts, for the OpenAPI document (OpenAPI 3.1 uses JSON Schema 2020-12). The schema's
 * entry in the registry adds what it cannot express itself.
 */
export function schemaOf(schema: z.core.$ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}
