// Watches services from a process of its own, which neither attacks nor the bench delay. Takes the list of what to watch first, then
// "read" for the observations since the last time.
import { Agent, request } from "node:http";

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

const patienceMs = 30_000;

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
  const ask = async (index: number) => {
    const { method, path, body } = requests[index % requests.length] ?? { method: "GET", path: "/" };
    const started = performance.now();
    waiting = started;
    const status = await statusOf({ agent, port, method, path, localAddress }, body);
    const ended = performance.now();
    note(ended - (waiting ?? started));
    waiting = undefined;
    seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
    return Math.max(0, everyMs - (ended - started));
  };
  void (async () => {
    for (let index = 0; ; index++) {
      const pause = await ask(index);
      await new Promise((resolve) => setTimeout(resolve, pause));
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

function statusOf(
  target: { agent: Agent; port: number; method: string; path: string; localAddress: string },
  body: string | undefined,
): Promise<string> {
  return new Promise((resolve) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const asked = request({ ...target, host: "127.0.0.1", headers }, (response) => {
      response.on("error", () => resolve("broken off"));
      response.on("end", () => resolve(String(response.statusCode)));
      response.resume();
    });
    const timer = setTimeout(() => {
      resolve("no response");
      asked.destroy();
    }, patienceMs);
    asked.on("close", () => clearTimeout(timer));
    asked.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    asked.end(body);
  });
}
