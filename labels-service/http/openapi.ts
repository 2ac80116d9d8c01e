import { z } from "zod/v4";
import packageJson from "../../package.json" with { type: "json" };
import { type Operation, openApiDocument, type ResponseDocs, toJsonSchema } from "../../src/http/openapi.ts";
import { labelSetIdPattern, labelSetVersionPattern } from "../../src/labels/label-set.ts";
import { batchRequest, largestAnswer, largestBody, longestBatch } from "./batch.ts";

const json = (description: string, schema: z.ZodType): ResponseDocs => ({
  description,
  content: { "application/json": schema },
});
const fault = (status: number, description: string) => ({
  [status]: json(
    description,
    z.strictObject({ status: z.literal("error"), error: z.string(), errorCode: z.literal(status) }),
  ),
});
const noDatabase = "There is no label database yet: ask again later";
const notReady = fault(503, noDatabase);
const notReadyOrBusy = fault(
  503,
  `${noDatabase}; or too many large requests at once: ask again after Retry-After seconds`,
);
const failed = fault(500, "The service failed, for example because its database file is damaged");

/** Accepted spellings of a labelhash: upper case, no prefix, brackets, one lost leading zero. */
export const labelhashSchema = z
  .string()
  .regex(/^(?:(?:0x)?[0-9a-fA-F]{63,64}|\[(?:0x)?[0-9a-fA-F]{63,64}\])$/)
  .meta({
    description:
      "keccak-256 of the label's UTF-8 bytes. Also upper case, without 0x, in brackets, and with 63 digits (a leading zero is added)",
    example: "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0",
  });

const pinnedId = "Answer only if the service holds this label set";
const pinnedVersion = "Answer as if later versions had not been ingested; needs label_set_id";

const pinQuery = z.object({
  label_set_id: z
    .string()
    .regex(labelSetIdPattern)
    .optional()
    .meta({ description: pinnedId, example: "subgraph" }),
  label_set_version: z
    .string()
    .regex(labelSetVersionPattern)
    .optional()
    .meta({ description: `${pinnedVersion}; at most 2^53 - 1`, example: "0" }),
});

const { labelhashes, label_set_id, label_set_version } = batchRequest.shape;
z.globalRegistry.add(labelhashes, {
  type: "array",
  items: toJsonSchema(labelhashSchema),
  maxItems: longestBatch,
});
z.globalRegistry.add(label_set_id, { description: pinnedId, pattern: labelSetIdPattern.source });
z.globalRegistry.add(label_set_version, { description: pinnedVersion });

// Bodies exactly as the service sends them. Clients read with looser schemas.

const ok = z.strictObject({ status: z.literal("ok") });

const label = z.strictObject({
  status: z.literal("success"),
  label: z.string().meta({ description: "Exactly as it was stored: any text", example: "eth" }),
});

const labels = z.strictObject({
  status: z.literal("success"),
  labels: z.array(z.string().nullable()).meta({
    description: "A label, or null where it is unknown, for each labelhash of the request, in its order",
    example: ["eth", null],
  }),
});

const lines = z.string().meta({
  description: "One JSON value per line: a label, or null where it is unknown",
  example: '"eth"\nnull\n',
});

const recordsCount = z.int().min(0).describe("Healable labels, all versions together");
const serviceVersion = z.string().describe("Version of the service");
const labelSet = z.strictObject({
  labelSetId: z.string().regex(labelSetIdPattern).meta({ example: "subgraph" }),
  highestLabelSetVersion: z.int().min(0),
});

const count = z.strictObject({
  status: z.literal("success"),
  count: recordsCount,
  timestamp: z.iso.datetime({ precision: 3 }).describe("Time of the response"),
});

const config = z.strictObject({ version: serviceVersion, labelSet, recordsCount });

const versions = z.strictObject({
  status: z.literal("success"),
  versionInfo: z.strictObject({
    version: serviceVersion,
    dbSchemaVersion: z.int().min(1).describe("Version of the layout of the database file"),
    labelSet,
  }),
});

const described: (Omit<Operation, "method"> & Partial<Operation>)[] = [
  {
    path: "/v1/heal/{labelhash}",
    operationId: "heal",
    tag: "labels",
    summary: "Heal a labelhash",
    description:
      "Requests are checked in this order: version malformed, id malformed, version without id, labelhash malformed, other id, version too high. An empty query parameter counts as absent; of repeated ones the first counts.",
    params: z.object({ labelhash: labelhashSchema }),
    query: pinQuery,
    answers: {
      200: json("The label", label),
      ...fault(400, "Invalid labelhash, or the label set or its version cannot be served"),
      ...fault(404, "The label is unknown"),
      ...notReadyOrBusy,
    },
  },
  {
    method: "post",
    path: "/v1/heal",
    operationId: "healAll",
    tag: "labels",
    summary: "Heal many labelhashes",
    description: `Up to ${longestBatch} labelhashes in up to ${largestBody} bytes, of labels with up to ${largestAnswer} bytes together. The body is read as JSON in UTF-8, whatever its content type. With "Accept: application/x-ndjson" the response is one JSON value per line.`,
    body: batchRequest,
    answers: {
      200: {
        description: "The labels, in the order of the labelhashes",
        content: { "application/json": labels, "application/x-ndjson": lines },
      },
      ...fault(400, "The body is malformed, or the label set or its version cannot be served"),
      ...fault(
        413,
        `The body has more than ${largestBody} bytes, or the labels have more than ${largestAnswer}`,
      ),
      ...notReadyOrBusy,
    },
  },
  {
    path: "/v1/labels/count",
    operationId: "countLabels",
    tag: "label set",
    summary: "Count the labels",
    description: "How many labels can be healed.",
    answers: { 200: json("The number of labels", count), ...notReady },
  },
  {
    path: "/v1/config",
    operationId: "getConfig",
    tag: "label set",
    summary: "Get the label set",
    description: "The label set that is served, its highest version, and the service's version.",
    answers: { 200: json("The label set", config), ...notReady },
  },
  {
    path: "/v1/version",
    operationId: "getVersion",
    tag: "label set",
    summary: "Get the versions",
    description: "As /v1/config, for older clients, and with the version of the database's layout.",
    answers: { 200: json("The versions", versions), ...notReady },
  },
  {
    path: "/health",
    operationId: "getHealth",
    tag: "service",
    summary: "Check that the process is alive",
    description: "Says nothing about the database.",
    answers: { 200: json("The process is alive", ok) },
  },
  {
    path: "/ready",
    operationId: "getReadiness",
    tag: "service",
    summary: "Check that labels can be healed",
    description: "Whether there is a label database.",
    answers: { 200: json("Labels can be healed", ok), ...notReady },
  },
  {
    path: "/metrics",
    operationId: "getMetrics",
    tag: "service",
    summary: "Get metrics",
    description: "For Prometheus: requests by route and outcome, heal latency, database facts, process.",
    answers: {
      200: {
        description: "Metrics in the text format of Prometheus",
        content: { "text/plain": z.string().meta({ example: "labels_ready 1\n" }) },
      },
    },
  },
];

/** All endpoints except the document itself, in its order. */
export const endpoints: Operation[] = described.map((one) => ({
  method: "get",
  ...one,
  answers: { ...one.answers, ...failed },
}));

/** OpenAPI 3.1 document of the label service. zod's registry adds what schemas cannot express. */
export const buildLabelsDocument = (version: string) =>
  openApiDocument({
    title: "Label service",
    version,
    description:
      "Turns labelhashes back into labels. HEAD works wherever GET does, and below /v1 every origin is allowed. Unknown paths get 404 as plain text.",
    operations: endpoints,
    schemas: { unrepresentable: "any" },
  });

/** The document of this version as JSON. */
export const documentText: string = JSON.stringify(buildLabelsDocument(packageJson.version));
