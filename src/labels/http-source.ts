import http from "node:http";
import https from "node:https";
import { urlToHttpOptions } from "node:url";
import { LRUCache } from "lru-cache";
import pRetry from "p-retry";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { isLabelOf } from "../ens/labels.ts";
import { createOutageLog, escapeControls, parsedJson } from "../log/json-log.ts";
import {
  countHeal,
  type LabelSource,
  LabelSourceError,
  type LabelSourceFacts,
  type LabelSourceOptions,
  labelCounters,
  withoutSecrets,
} from "./source.ts";

/** Limits in production. `cacheSize` counts UTF-16 units of labels, and `cacheCostOfEntry` for each entry. */
const productionLimits = {
  timeoutMs: 30_000,
  firstRetryMs: 100,
  longestRetryMs: 10_000,
  cacheSize: 64_000_000,
};
const cacheCostOfEntry = 200;
/** Bytes of the longest response that is read: more than any single label as JSON. */
const longestReply = 128 * 1024 * 1024;

/** A cached response; without a label if the label set does not know the labelhash. */
type CachedLabel = { label: string | undefined };

/**
 * Opens a label service over HTTP, pinned to the label set. Retries network errors, 5xx, responses that are not a label
 * service's, and labels of another hash without limit. Caches responses.
 * @example (await openHttpSource(new URL("http://localhost:3223"), options)).heal("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0") // Promise of "eth"
 */
export async function openHttpSource(
  url: URL,
  { labelSetId, labelSetVersion, log, signal }: LabelSourceOptions,
  limits = productionLimits,
): Promise<LabelSource> {
  const closing = new AbortController();
  const request = createHttpClient(url, limits.timeoutMs, closing.signal);
  const untilAnswered = createPatientAsker(
    request,
    createOutageLog(log, { url: withoutSecrets(url.href) }),
    limits,
    signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]),
  );
  const pin = { label_set_id: labelSetId, label_set_version: String(labelSetVersion) };
  const query = new URLSearchParams(pin);
  // Simultaneous heals of a labelhash share one fetch.
  const cache = new LRUCache<Hex, CachedLabel>({
    maxSize: limits.cacheSize,
    sizeCalculation: ({ label }) => cacheCostOfEntry + (label?.length ?? 0),
    fetchMethod: async (labelhash) => ({
      label: countHeal(
        await untilAnswered(`/v1/heal/${labelhash}?${query}`, (reply) => parseLabel(reply, labelhash)),
      ),
    }),
    // A caller gets its label even if the cache is full, or has the label from a list by then.
    ignoreFetchAbort: true,
  });

  const heal = (labelhash: Hex) => {
    const known = cache.get(labelhash);
    if (known === undefined) return cache.forceFetch(labelhash).then(({ label }) => label);
    labelCounters.cacheHits++;
    return countHeal(known.label);
  };

  let lastFacts = await askFacts(untilAnswered);
  let hasLists = true;
  const askForList = async (labelhashes: readonly Hex[]) => {
    const body = JSON.stringify({ labelhashes, ...pin, label_set_version: labelSetVersion });
    const reply = await request("/v1/heal", body).catch(() => undefined);
    if (reply !== undefined && withoutLists.includes(reply.status)) hasLists = false;
    for (const [labelhash, label] of parseLabels(reply, labelhashes)) cache.set(labelhash, { label });
  };
  return {
    heal,
    expect: async (labelhashes) => {
      const missing = [...new Set(labelhashes)].filter((labelhash) => !cache.has(labelhash));
      while (hasLists && missing.length > 0) await askForList(missing.splice(0, maxBatch));
      // A service without lists gets many single requests at the same time.
      const left = labelhashes.filter((labelhash) => !hasLists && !cache.has(labelhash));
      while (left.length > 0) await Promise.allSettled(left.splice(0, maxConcurrent).map(heal));
    },
    describe: async () => {
      lastFacts = await askFacts(async (path, read) => read(await request(path))).catch(() => lastFacts);
      return lastFacts;
    },
    close: () => closing.abort(new Error("The label source was closed.")),
  };
}

// Fits the limits of this project's service, if the labels have at most 33 kB on average.
const maxBatch = 1_000;
const maxConcurrent = 64;
/** Statuses with which services without lists answer one. */
const withoutLists = [400, 404, 405, 501];

/**
 * HTTP client below `base`, whose path is a prefix. Sends a body as JSON. A request fails after `timeoutMs`
 * milliseconds, after `longestReply` bytes, and at once when `closed` is aborted.
 */
export function createHttpClient(base: URL, timeoutMs: number, closed: AbortSignal) {
  const { request, Agent } = base.protocol === "https:" ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: maxConcurrent });
  // Credentials in the URL become its `auth`.
  const { path: _, ...target } = urlToHttpOptions(base);
  const prefix = base.pathname.replace(/\/+$/, "");
  // One listener for all requests: a backfill sends tens of thousands of them.
  const pending = new Set<http.ClientRequest>();
  closed.addEventListener("abort", () => {
    for (const one of pending) one.destroy(closed.reason);
    agent.destroy();
  });
  const send = async (path: string, body?: string): Promise<LabelReply> => {
    closed.throwIfAborted();
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const sent = request({
      ...{ ...target, agent, path: prefix + path, method: body === undefined ? "GET" : "POST" },
      headers: { accept: "application/json", ...type },
    });
    const timer = setTimeout(() => sent.destroy(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
    pending.add(sent);
    try {
      return await readReply(sent.end(body));
    } catch (error) {
      // The service closed a connection just when it was to be used again.
      const isStale = sent.reusedSocket && (error as NodeJS.ErrnoException).code === "ECONNRESET";
      if (isStale && !closed.aborted) return send(path, body);
      // The error of several addresses has no message.
      const { message, code } = error as NodeJS.ErrnoException;
      throw new Error(message || code, { cause: error });
    } finally {
      pending.delete(sent);
      clearTimeout(timer);
    }
  };
  return send;
}

const readReply = (sent: http.ClientRequest) =>
  new Promise<LabelReply>((resolve, reject) => {
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        chunks.push(chunk);
        if (length > longestReply) sent.destroy(new Error(`a response of more than ${longestReply} bytes`));
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
      );
      response.on("error", reject);
    });
  });

function createPatientAsker(
  request: (path: string) => Promise<LabelReply>,
  outage: ReturnType<typeof createOutageLog>,
  limits: typeof productionLimits,
  signal: AbortSignal,
) {
  return async <T>(path: string, read: (reply: LabelReply) => T): Promise<T> => {
    let isWaiting = false;
    const attempt = async () => {
      const reply = await request(path).catch((error: Error) => {
        throw new LabelServiceOutage(error.message, { cause: error });
      });
      const answer = read(reply);
      outage.ended("label service can be used again");
      return answer;
    };
    try {
      return await pRetry(attempt, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: limits.firstRetryMs,
        maxTimeout: limits.longestRetryMs,
        randomize: true,
        signal,
        shouldRetry: ({ error }) => error instanceof LabelServiceOutage,
        onFailedAttempt: ({ error }) => {
          if (!(error instanceof LabelServiceOutage)) return;
          labelCounters.retries++;
          if (!isWaiting) labelCounters.waiting++;
          isWaiting = true;
          const reason = error.message;
          const isNew = outage.noticed("label service cannot be used, waiting for it", { reason });
          if (isNew) labelCounters.outages++;
        },
      });
    } finally {
      if (isWaiting) labelCounters.waiting--;
    }
  };
}

/** HTTP response with its whole body. */
export type LabelReply = { status: number; body: string };

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
 * Label of a heal reply; undefined if the service does not know it. Throws as `parseContent` does, and a
 * `LabelServiceOutage` for a label of another hash, because neither it nor "unknown" may be stored.
 * @example parseLabel({ status: 200, body: '{"status":"success","label":"eth"}' }, "0x4f5b…") // "eth"
 * @example parseLabel({ status: 404, body: '{"status":"error","error":"Label not found","errorCode":404}' }, "0x4f5b…") // undefined
 */
function parseLabel(reply: LabelReply, labelhash: Hex): string | undefined {
  const label = parseContent(reply, healReply)?.label;
  if (label === undefined || isLabelOf(label, labelhash)) return label;
  throw new LabelServiceOutage(`it returned a label of another hash for ${labelhash}`);
}

/**
 * Labels of a list reply by labelhash, without those of another hash. Empty unless the reply is a label service's list
 * of the same length.
 */
function parseLabels(
  reply: LabelReply | undefined,
  labelhashes: readonly Hex[],
): [Hex, string | undefined][] {
  const list = reply?.status === 200 ? listReply.safeParse(parsedJson(reply.body)).data?.labels : undefined;
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
  ask: <T>(path: string, read: (reply: LabelReply) => T) => Promise<T>,
): Promise<LabelSourceFacts> {
  const required = <T extends z.ZodType>(reply: LabelReply, schema: T): z.infer<T> => {
    const content = parseContent(reply, schema);
    if (content === undefined) throw new LabelServiceOutage(`it answered ${reply.status}`);
    return content;
  };
  const ifThere = <T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T> | undefined> =>
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
 * Content of a reply; undefined for the service's own 404. Throws a `LabelServiceOutage` when waiting may help, as
 * after a reply of something else: a proxy's 404 must not count as "unknown". Throws a `LabelSourceError` when the
 * service refuses the request.
 */
function parseContent<T extends z.ZodType>({ status, body }: LabelReply, schema: T): z.infer<T> | undefined {
  const json = parsedJson(body);
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

/** The label service cannot answer now, but may later. */
class LabelServiceOutage extends Error {
  override name = "LabelServiceOutage";
}
