import { LRUCache } from "lru-cache";
import pRetry from "p-retry";
import type { Hex } from "viem";
import { z } from "zod";
import { labelhashOf } from "../ens/labels.ts";
import { escapeControls, type Log, seeOperations } from "../log/json-log.ts";
import { createHttpClient, type Reply } from "./http-client.ts";
import {
  counted,
  type LabelSource,
  LabelSourceError,
  type LabelSourceFacts,
  type LabelSourceOptions,
  labelCounters,
  withoutSecrets,
} from "./source.ts";

/** `GET /v1/heal/<labelhash>`, 200. */
const healReply = z.object({ status: z.literal("success"), label: z.string() });

/** The error body of every label endpoint. */
const errorReply = z.object({ status: z.literal("error"), error: z.string(), errorCode: z.number() });

const labelSet = z.object({
  labelSetId: z.string(),
  highestLabelSetVersion: z.number().int().nonnegative(),
});

/** `GET /v1/config`, 200; or the form of ENSRainbow 1.11 and newer, which has no count. */
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
 * The label of a heal reply, or undefined for "unknown". Throws as `contentOf` does, and a `LabelServiceOutage` for a label of another
 * hash: neither it nor "unknown" may be stored.
 * @example labelOf({ status: 200, body: '{"status":"success","label":"eth"}' }, "0x4f5b…") // "eth"
 * @example labelOf({ status: 404, body: '{"status":"error","error":"Label not found","errorCode":404}' }, "0x4f5b…") // undefined
 */
function labelOf(reply: Reply, labelhash: Hex): string | undefined {
  const label = contentOf(reply, healReply)?.label;
  if (label === undefined || labelhashOf(label) === labelhash) return label;
  throw new LabelServiceOutage(`it returned a label of another hash for ${labelhash}`);
}

/**
 * Facts of a label service, requested with `ask(path, read)`. Services that no longer report their schema version
 * (`/v1/version` is 404) all have version 3.
 * @example await askFacts(ask) // { labelSetId: "subgraph", highestLabelSetVersion: 0, recordsCount: 133856894, version: "0.1.0", schemaVersion: 1 }
 */
export async function askFacts(
  ask: <T>(path: string, read: (reply: Reply) => T) => Promise<T>,
): Promise<LabelSourceFacts> {
  const ifThere = <T extends z.ZodTypeAny>(path: string, schema: T) =>
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

function required<T extends z.ZodTypeAny>(reply: Reply, schema: T): z.infer<T> {
  const content = contentOf(reply, schema);
  if (content === undefined) throw new LabelServiceOutage(`it answered ${reply.status}`);
  return content;
}

/**
 * The content of a reply; undefined for the service's own 404. Throws `LabelServiceOutage` when waiting may help, which
 * includes every reply that is not the label service's own: a proxy's 404 is never taken for "unknown". Throws
 * `LabelSourceError` when the request itself is refused.
 */
function contentOf<T extends z.ZodTypeAny>({ status, body }: Reply, schema: T): z.infer<T> | undefined {
  const json = parsed(body);
  if (status === 200) {
    const content = schema.safeParse(json);
    if (content.success) return content.data;
    throw new LabelServiceOutage("it answered 200 with a body that is not a label service's");
  }
  const error = errorReply.safeParse(json);
  const reason = error.success ? `${status}: ${shownError(error.data.error)}` : `${status}`;
  if (status === 404 && error.success && error.data.errorCode === 404) return undefined;
  if (status >= 500 || [404, 408, 425, 429].includes(status)) {
    throw new LabelServiceOutage(`it answered ${reason}`);
  }
  throw new LabelSourceError(`The label service refuses the request with status ${reason}.`);
}

/** A service's error text, fit for messages whatever it is. */
function shownError(text: string): string {
  return escapeControls(text.slice(0, 200));
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The label service cannot answer now, but may later. */
class LabelServiceOutage extends Error {
  override name = "LabelServiceOutage";
}

/** Times and sizes of the HTTP client. */
export type HttpSourceLimits = {
  /** How long one request may take. */
  timeoutMs: number;
  firstRetryMs: number;
  longestRetryMs: number;
  /** Memory for answers, in UTF-16 units of labels; an entry costs `cacheCostOfEntry` besides. */
  cacheSize: number;
};

const productionLimits = {
  timeoutMs: 30_000,
  firstRetryMs: 100,
  longestRetryMs: 10_000,
  cacheSize: 64_000_000,
};
const cacheCostOfEntry = 200;

/**
 * Asks a label service over HTTP, pinned to the label set. Network errors, 5xx, responses that are not the label
 * service's and labels of another hash are retried without limit. Answers are cached, and simultaneous
 * questions are asked once.
 * @example (await openHttpSource(new URL("http://localhost:3223"), options)).heal("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0") // Promise of "eth"
 */
export async function openHttpSource(
  url: URL,
  { labelSetId, labelSetVersion, log, signal }: LabelSourceOptions,
  limits: HttpSourceLimits = productionLimits,
): Promise<LabelSource> {
  const client = createHttpClient(url, limits.timeoutMs);
  const closing = new AbortController();
  const untilAnswered = createPatientAsker(
    (path) => client.get(path),
    createOutageLog(withoutSecrets(url.href), log),
    limits,
    signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]),
  );
  const pin = `label_set_id=${labelSetId}&label_set_version=${labelSetVersion}`;
  const cache = new LRUCache<Hex, Answer>({
    maxSize: limits.cacheSize,
    sizeCalculation: ({ label }) => cacheCostOfEntry + (label?.length ?? 0),
  });
  const inFlight = new Map<Hex, Promise<string | undefined>>();

  const ask = async (labelhash: Hex): Promise<string | undefined> => {
    try {
      const label = await untilAnswered(`/v1/heal/${labelhash}?${pin}`, (reply) => labelOf(reply, labelhash));
      cache.set(labelhash, { label });
      return counted(label);
    } finally {
      inFlight.delete(labelhash);
    }
  };

  const heal = (labelhash: Hex) => {
    const known = cache.get(labelhash);
    if (known !== undefined) {
      labelCounters.cacheHits++;
      return counted(known.label);
    }
    const pending = inFlight.get(labelhash) ?? ask(labelhash);
    inFlight.set(labelhash, pending);
    return pending;
  };

  let lastFacts = await askFacts(untilAnswered);
  const pinned = { label_set_id: labelSetId, label_set_version: labelSetVersion };
  const askTogether = createTogether((body) =>
    client.post("/v1/heal", JSON.stringify({ ...body, ...pinned })),
  );
  return {
    heal,
    expect: async (labelhashes) => {
      const missing = [...new Set(labelhashes)].filter((labelhash) => !cache.has(labelhash));
      if (missing.length === 0) return;
      const labels = await askTogether(missing);
      // A service that answers no lists is asked for many at the same time.
      if (labels === "unsupported") await Promise.allSettled(missing.map(heal));
      else for (const [labelhash, label] of labels) cache.set(labelhash, { label });
    },
    describe: async () => {
      lastFacts = await askFacts(async (path, read) => read(await client.get(path))).catch(() => lastFacts);
      return lastFacts;
    },
    close: () => {
      closing.abort(new Error("The label source was closed."));
      client.close();
    },
  };
}

/** `POST /v1/heal`, 200: a label or null for each labelhash, in their order. */
const listReply = z.object({ status: z.literal("success"), labels: z.array(z.string().nullable()) });

// Few enough for the longest list and the longest response that this project's service gives, whatever the labels.
const mostTogether = 1_000;
const unsupported = [400, 404, 405, 501];

/** Asks for the labels of lists; an empty result for those that could not be had, "unsupported" by services without lists. */
function createTogether(post: (body: { labelhashes: readonly Hex[] }) => Promise<Reply>) {
  let isSupported = true;
  return async (labelhashes: readonly Hex[]): Promise<Map<Hex, string | undefined> | "unsupported"> => {
    const labels = new Map<Hex, string | undefined>();
    for (let from = 0; isSupported && from < labelhashes.length; from += mostTogether) {
      const part = labelhashes.slice(from, from + mostTogether);
      const reply = await post({ labelhashes: part }).catch(() => undefined);
      if (reply !== undefined && unsupported.includes(reply.status)) isSupported = false;
      const list = reply?.status === 200 ? listReply.safeParse(parsed(reply.body)).data?.labels : undefined;
      if (list?.length !== part.length) continue;
      for (const [place, labelhash] of part.entries()) {
        const label = list[place] ?? undefined;
        if (label === undefined || labelhashOf(label) === labelhash) labels.set(labelhash, label);
      }
    }
    return isSupported ? labels : "unsupported";
  };
}

/** A cached answer; without a label, the label set does not know the labelhash. */
type Answer = { label: string | undefined };

function createPatientAsker(
  get: (path: string) => Promise<Reply>,
  outage: ReturnType<typeof createOutageLog>,
  limits: HttpSourceLimits,
  signal: AbortSignal,
) {
  return async <T>(path: string, read: (reply: Reply) => T): Promise<T> => {
    let isWaiting = false;
    const attempt = async () => {
      const reply = await get(path).catch((error: Error) => {
        throw new LabelServiceOutage(error.message, { cause: error });
      });
      const answer = read(reply);
      outage.ended();
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
          outage.noticed(error.message);
        },
      });
    } finally {
      if (isWaiting) labelCounters.waiting--;
    }
  };
}

/** Logs once that the label service is unavailable and once that it is back, whatever the number of retries. */
function createOutageLog(url: string, log: Log) {
  let since: number | undefined;
  return {
    noticed: (reason: string) => {
      if (since !== undefined) return;
      since = performance.now();
      labelCounters.outages++;
      log("warn", "label service cannot be used, waiting for it", {
        url,
        reason,
        section: seeOperations("While something is away"),
      });
    },
    ended: () => {
      if (since === undefined) return;
      const seconds = Math.round((performance.now() - since) / 1000);
      since = undefined;
      log("info", "label service can be used again", { url, seconds });
    },
  };
}
