import { z } from "zod/v4";
import type { EndpointDocs } from "../rest/endpoint.ts";

const text = z.string().min(1);

const configSchema = z.strictObject({
  indexedChainIds: z.array(z.int().min(1)).min(1),
  databaseSchemaName: text,
  isSubgraphCompatible: z.boolean(),
  labelSet: z.strictObject({
    labelSetId: z.string().regex(/^[a-z-]{1,50}$/),
    labelSetVersion: z.int().min(0),
  }),
  namespace: text,
  plugins: z.array(text).min(1),
  versionInfo: z.strictObject({
    runtime: text,
    indexingFramework: text,
    nsDb: text,
    nsIndexer: text,
    nsNormalize: text,
    nsRainbow: text,
    nsRainbowSchema: z.int().min(1),
  }),
});

export const configDocs: EndpointDocs = {
  path: "/api/config",
  tag: "Meta",
  summary: "What is indexed, and with which versions",
  description: "The public part of the configuration.",
  answers: { 200: { description: "The configuration", schema: configSchema } },
};
