import { LRUCache } from "lru-cache";
import pRetry from "p-retry";
import type { Hex } from "viem";
import { type Log, seeOperations } from "../log/json-log.ts";
import { createHttpClient, type Reply } from "./http-client.ts";
import { askFacts, LabelServiceOutage, labelOf, labelsOf } from "./http-replies.ts";
import {
  counted,
  type LabelSource,
  type LabelSourceOptions,
  labelCounters,
  withoutSecrets,
} from "./source.ts";

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
      for (const [labelhash, label] of labelsOf(reply, part)) labels.set(labelhash, label);
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
