import { LRUCache } from "lru-cache";
import pRetry from "p-retry";
import type { Hex } from "viem";
import { labelhashOf } from "../ens/labels.ts";
import type { Log } from "../json-log.ts";
import { createHttpClient, type Reply } from "./http-client.ts";
import { askFacts, LabelServiceOutage, labelOf } from "./replies.ts";
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
 * Asks a label service over HTTP, pinned to the label set. Network errors, 5xx and responses that are not the label
 * service's are retried without limit. Labels are checked against their labelhash, answers are cached, and simultaneous
 * questions are asked once.
 * @example (await openHttpSource(new URL("http://localhost:3223"), options)).heal("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0") // Promise of "eth"
 */
export async function openHttpSource(
  url: URL,
  { labelSetId, labelSetVersion, log }: LabelSourceOptions,
  limits: HttpSourceLimits = productionLimits,
): Promise<LabelSource> {
  const client = createHttpClient(url, limits.timeoutMs);
  const closing = new AbortController();
  const untilAnswered = createPatientAsker(
    (path) => client.get(path),
    createOutageLog(withoutSecrets(url.href), log),
    limits,
    closing.signal,
  );
  const pin = `label_set_id=${labelSetId}&label_set_version=${labelSetVersion}`;
  const cache = new LRUCache<Hex, Answer>({
    maxSize: limits.cacheSize,
    sizeCalculation: ({ label }) => cacheCostOfEntry + (label?.length ?? 0),
  });
  const inFlight = new Map<Hex, Promise<string | undefined>>();

  const ask = async (labelhash: Hex): Promise<string | undefined> => {
    try {
      const given = await untilAnswered(`/v1/heal/${labelhash}?${pin}`, labelOf);
      // The one check of a label that comes over the network: what passes it is stored.
      const label = given === undefined || labelhashOf(given) === labelhash ? given : undefined;
      if (given !== label) {
        log("warn", "label service gave a label of another hash, taken as unknown", { labelhash });
      }
      cache.set(labelhash, { label });
      return counted(label);
    } finally {
      inFlight.delete(labelhash);
    }
  };

  let lastFacts = await askFacts(untilAnswered);
  return {
    heal: (labelhash) => {
      const known = cache.get(labelhash);
      if (known !== undefined) {
        labelCounters.cacheHits++;
        return counted(known.label);
      }
      const pending = inFlight.get(labelhash) ?? ask(labelhash);
      inFlight.set(labelhash, pending);
      return pending;
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

/** Says once that the label service cannot be used and once that it can again, whatever the number of retries. */
function createOutageLog(url: string, log: Log) {
  let since: number | undefined;
  return {
    noticed: (reason: string) => {
      if (since !== undefined) return;
      since = performance.now();
      labelCounters.outages++;
      log("warn", "label service cannot be used, waiting for it", { url, reason });
    },
    ended: () => {
      if (since === undefined) return;
      const seconds = Math.round((performance.now() - since) / 1000);
      since = undefined;
      log("info", "label service can be used again", { url, seconds });
    },
  };
}
