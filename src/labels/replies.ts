import type { z } from "zod";
import type { Reply } from "./http-request.ts";
import { configReply, countReply, errorReply, healReply, versionReply } from "./protocol.ts";
import { LabelSourceError, type LabelSourceFacts } from "./source.ts";

/** The label of a heal reply, or undefined for "unknown". Throws as `contentOf` does. */
export function labelOf(reply: Reply): string | undefined {
  return contentOf(reply, healReply)?.label;
}

/**
 * Facts of a label service, asked with `ask(path, read)`. Services that no longer tell their schema version
 * (they answer 404 for `/v1/version`) all have version 3.
 */
export async function askFacts(
  ask: <T>(path: string, read: (reply: Reply) => T) => Promise<T>,
): Promise<LabelSourceFacts> {
  const ifThere = <T extends z.ZodTypeAny>(path: string, schema: T) =>
    ask(path, (reply) => (reply.status === 404 ? undefined : required(reply, schema)));

  const told = await ifThere("/v1/version", versionReply);
  const config = await ifThere("/v1/config", configReply);
  const { version, labelSet } = told?.versionInfo ?? config ?? {};
  if (version === undefined || labelSet === undefined) {
    throw new LabelSourceError("This is no label service: it has neither /v1/version nor /v1/config.");
  }
  const recordsCount =
    config?.recordsCount ?? (await ask("/v1/labels/count", (reply) => required(reply, countReply).count));
  return { ...labelSet, recordsCount, version, schemaVersion: told?.versionInfo.dbSchemaVersion ?? 3 };
}

function required<T extends z.ZodTypeAny>(reply: Reply, schema: T): z.infer<T> {
  const content = contentOf(reply, schema);
  if (content === undefined) throw new LabelServiceOutage(`it answered ${reply.status}`);
  return content;
}

/**
 * What the service said; undefined for its own 404. Throws `LabelServiceOutage` when waiting may help: that
 * includes every answer that is not the label service's own, so that a proxy's 404 is never taken for
 * "unknown". Throws `LabelSourceError` when the request itself is refused.
 */
function contentOf<T extends z.ZodTypeAny>({ status, body }: Reply, schema: T): z.infer<T> | undefined {
  const json = parsed(body);
  if (status === 200) {
    const content = schema.safeParse(json);
    if (content.success) return content.data;
    throw new LabelServiceOutage("it answered 200 with a body that is not a label service's");
  }
  const error = errorReply.safeParse(json);
  const reason = error.success ? `${status}: ${error.data.error}` : `${status}`;
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
