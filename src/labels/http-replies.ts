import type { Hex } from "viem";
import { z } from "zod";
import { isLabelOf } from "../ens/labels.ts";
import { escapeControls } from "../log/json-log.ts";
import { LabelSourceError, type LabelSourceFacts } from "./source.ts";

/** HTTP response with its whole body. */
export type Reply = { status: number; body: string };

/** `GET /v1/heal/<labelhash>`, 200. */
const healReply = z.object({ status: z.literal("success"), label: z.string() });

/** `POST /v1/heal`, 200: a label or null for each labelhash, in order. */
const listReply = z.object({ status: z.literal("success"), labels: z.array(z.string().nullable()) });

/** The error body of every label endpoint. */
const errorReply = z.object({ status: z.literal("error"), error: z.string(), errorCode: z.number() });

const labelSet = z.object({
  labelSetId: z.string(),
  highestLabelSetVersion: z.number().int().nonnegative(),
});

/** `GET /v1/config`, 200. ENSRainbow 1.11 and newer has another form, without a count. */
const configReply = z.union([
  z.object({ version: z.string(), labelSet, recordsCount: z.number().int().nonnegative() }),
  z
    .object({ versionInfo: z.object({ ensRainbow: z.string() }), serverLabelSet: labelSet })
    .transform(({ versionInfo, serverLabelSet }) => ({
      version: versionInfo.ensRainbow,
      labelSet: serverLabelSet,
      recordsCount: undefined,
    })),
]);

/** `GET /v1/labels/count`, 200. */
const countReply = z.object({ status: z.literal("success"), count: z.number().int().nonnegative() });

/** `GET /v1/version`, 200. */
const versionReply = z.object({
  status: z.literal("success"),
  versionInfo: z.object({
    version: z.string(),
    dbSchemaVersion: z.number().int().positive(),
    labelSet,
  }),
});

/**
 * Label of a heal reply; undefined if the service does not know it. Throws as `contentOf` does, and a `LabelServiceOutage` for a label of
 * another hash, because neither it nor "unknown" may be stored.
 * @example labelOf({ status: 200, body: '{"status":"success","label":"eth"}' }, "0x4f5b…") // "eth"
 * @example labelOf({ status: 404, body: '{"status":"error","error":"Label not found","errorCode":404}' }, "0x4f5b…") // undefined
 */
export function labelOf(reply: Reply, labelhash: Hex): string | undefined {
  const label = contentOf(reply, healReply)?.label;
  if (label === undefined || isLabelOf(label, labelhash)) return label;
  throw new LabelServiceOutage(`it returned a label of another hash for ${labelhash}`);
}

/**
 * Labels of a list reply by labelhash, without those of another hash. Empty unless the reply is a label service's list of the same length.
 */
export function labelsOf(reply: Reply | undefined, labelhashes: readonly Hex[]): [Hex, string | undefined][] {
  const list = reply?.status === 200 ? listReply.safeParse(parsed(reply.body)).data?.labels : undefined;
  if (list?.length !== labelhashes.length) return [];
  return labelhashes.flatMap((labelhash, index): [Hex, string | undefined][] => {
    const label = list[index] ?? undefined;
    return label === undefined || isLabelOf(label, labelhash) ? [[labelhash, label]] : [];
  });
}

/**
 * Facts of a label service, requested with `ask(path, read)`. Services without `/v1/version` all have schema version 3.
 * @example await askFacts(ask) // { labelSetId: "subgraph", highestLabelSetVersion: 0, recordsCount: 133856894, version: "0.1.0", schemaVersion: 1 }
 */
export async function askFacts(
  ask: <T>(path: string, read: (reply: Reply) => T) => Promise<T>,
): Promise<LabelSourceFacts> {
  const required = <T extends z.ZodTypeAny>(reply: Reply, schema: T): z.infer<T> => {
    const content = contentOf(reply, schema);
    if (content === undefined) throw new LabelServiceOutage(`it answered ${reply.status}`);
    return content;
  };
  const ifThere = <T extends z.ZodTypeAny>(path: string, schema: T): Promise<z.infer<T> | undefined> =>
    ask(path, (reply) => (reply.status === 404 ? undefined : required(reply, schema)));

  const reported = await ifThere("/v1/version", versionReply);
  const config = await ifThere("/v1/config", configReply);
  const { version, labelSet } = reported?.versionInfo ?? config ?? {};
  if (version === undefined || labelSet === undefined) {
    throw new LabelSourceError("This is not a label service: it has neither /v1/version nor /v1/config.");
  }
  const recordsCount =
    config?.recordsCount ?? (await ask("/v1/labels/count", (reply) => required(reply, countReply).count));
  return { ...labelSet, recordsCount, version, schemaVersion: reported?.versionInfo.dbSchemaVersion ?? 3 };
}

/**
 * Content of a reply; undefined for the service's own 404. Throws a `LabelServiceOutage` when waiting may help, as after a reply of
 * something else: a proxy's 404 must not count as "unknown". Throws a `LabelSourceError` when the service refuses the request.
 */
function contentOf<T extends z.ZodTypeAny>({ status, body }: Reply, schema: T): z.infer<T> | undefined {
  const json = parsed(body);
  if (status === 200) {
    const content = schema.safeParse(json);
    if (content.success) return content.data;
    throw new LabelServiceOutage("it answered 200 with a body that is not a label service's");
  }
  const error = errorReply.safeParse(json);
  // The service's error text, escaped for messages.
  const reason = error.success ? `${status}: ${escapeControls(error.data.error.slice(0, 200))}` : `${status}`;
  if (status === 404 && error.success && error.data.errorCode === 404) return undefined;
  if (status >= 500 || [404, 408, 425, 429].includes(status)) {
    throw new LabelServiceOutage(`it answered ${reason}`);
  }
  throw new LabelSourceError(`The label service refuses the request with status ${reason}.`);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The label service cannot answer now, but may later. */
export class LabelServiceOutage extends Error {
  override name = "LabelServiceOutage";
}
