// Watches services from a process of its own, which neither attacks nor the bench delay. Takes the list of what to
// watch first, then "read" for the observations since the last time.
import { once } from "node:events";
import { Agent, type IncomingMessage, type RequestOptions, request } from "node:http";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Requests that are repeated in turn, `everyMs` apart. */
export type Watched = {
  name: string;
  port: number;
  everyMs: number;
  /** The address that they are sent from: the services give each its share. */
  from: string;
  requests: readonly { method: "GET" | "POST"; path: string; body?: string | undefined }[];
};

/** What a watch observed since it was last read. */
export type Seen = {
  /** Milliseconds; a request that held others back counts for those too. */
  latencies: number[];
  /** By HTTP status, or by the reason for having none. */
  statuses: Record<string, number>;
  /** Responses per second with status 200. */
  perSecond: number;
};

const timeoutMs = 30_000;

process.on("disconnect", () => process.exit());
let watches: { name: string; read: () => Seen }[] = [];
process.on("message", (message: readonly Watched[] | "read") => {
  if (message === "read") process.send?.(Object.fromEntries(watches.map(({ name, read }) => [name, read()])));
  else watches = message.map((one) => ({ name: one.name, read: watch(one) }));
});

/**
 * Sends one request after the other. The result returns the observations since the last call and counts a
 * pending request by its waiting time so far. Latencies are corrected as HdrHistogram does: while a response is late,
 * the requests that would have been sent meanwhile are counted with the time they would have waited.
 */
function watch({ port, everyMs, from: localAddress, requests }: Watched) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let seen = empty();
  let since = performance.now();
  let waiting: number | undefined;

  const note = (milliseconds: number) => {
    for (let late = milliseconds; late > 0; late -= everyMs) seen.latencies.push(late);
  };
  void (async () => {
    for (let index = 0; ; index++) {
      const { body, ...target } = requests[index % requests.length] ?? { method: "GET", path: "/" };
      const started = performance.now();
      waiting = started;
      const status = await requestStatus({ ...target, agent, port, localAddress }, body);
      const ended = performance.now();
      note(ended - waiting);
      waiting = undefined;
      seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
      await sleep(Math.max(0, everyMs - (ended - started)));
    }
  })();

  return (): Seen => {
    const now = performance.now();
    if (waiting !== undefined && now - waiting > everyMs) {
      note(now - waiting);
      waiting = now;
    }
    const { latencies, statuses } = seen;
    const perSecond = ((statuses["200"] ?? 0) * 1000) / (now - since);
    seen = empty();
    since = now;
    return { latencies, statuses, perSecond };
  };
}

const empty = () => ({ latencies: [] as number[], statuses: {} as Record<string, number> });

async function requestStatus(target: RequestOptions, body: string | undefined): Promise<string> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const signal = AbortSignal.timeout(timeoutMs);
  const asked = request({ ...target, host: "127.0.0.1", headers, signal });
  try {
    const [response] = (await once(asked.end(body), "response")) as [IncomingMessage];
    // It is seen at the response.
    asked.on("error", () => undefined);
    await finished(response.resume());
    return String(response.statusCode);
  } catch (error) {
    return signal.aborted ? "no response" : ((error as NodeJS.ErrnoException).code ?? "error");
  }
}
