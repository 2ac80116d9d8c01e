// Clients of the stream in a process of their own. Takes "open" with paths, "health" with a port, and "read" for what
// came since the last time.

import { once } from "node:events";
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** What the process is sent; each is answered once it is done: streams are open once they are live. */
export type ClientJob = { open: string[] } | { health: number } | "read" | "close";

/**
 * Messages by block, with the Unix milliseconds at which they came, and of /health the milliseconds that responses
 * took.
 */
export type ClientSeen = { messages: [block: number, at: number][]; health: number[] };

let seen: ClientSeen = { messages: [], health: [] };
let requests: ClientRequest[] = [];
let isWatching = false;

async function open(url: string): Promise<void> {
  const request = get(url, { agent: false });
  requests.push(request.on("error", () => undefined));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`);
  const live = Promise.withResolvers<void>();
  let rest = "";
  response.setEncoding("utf8").on("data", (chunk: string) => {
    const at = performance.timeOrigin + performance.now();
    const texts = (rest + chunk).split("\n\n");
    rest = texts.pop() ?? "";
    for (const text of texts) {
      if (text.startsWith("event: event"))
        seen.messages.push([Number(/"block_number":(\d+)/.exec(text)?.[1]), at]);
      else live.resolve();
    }
  });
  response.on("error", () => undefined);
  await live.promise;
}

async function watch(port: number): Promise<void> {
  while (isWatching) {
    const since = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/health`);
    await response.text();
    seen.health.push(performance.now() - since);
    await sleep(20);
  }
}

process.on("disconnect", () => process.exit());
process.on("message", async (job: ClientJob) => {
  let answer: ClientSeen = { messages: [], health: [] };
  if (job === "read") {
    answer = seen;
    seen = { messages: [], health: [] };
  } else if (job === "close") {
    for (const request of requests) request.destroy();
    requests = [];
    isWatching = false;
  } else if ("health" in job) {
    isWatching = true;
    void watch(job.health);
  } else {
    const urls = [...job.open];
    const opening = async () => {
      for (let url = urls.pop(); url !== undefined; url = urls.pop()) await open(url);
    };
    await Promise.all(Array.from({ length: 20 }, opening));
  }
  process.send?.(answer);
});
