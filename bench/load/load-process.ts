// Sends requests from a separate process, so that the measured service has its event loop to itself. Takes jobs from the
// process that forked it, one at a time.
import { type LoadResult, load } from "./load.ts";

/** What the process is sent: requests, of which each connection sends random ones in turn. */
export type LoadJob = { port: number; connections: number; seconds: number; requests: string[] };

process.on("message", async ({ port, connections, seconds, requests }: LoadJob) => {
  const next = () => requests[Math.floor(Math.random() * requests.length)] ?? "";
  const result: LoadResult = await load(port, { connections, seconds, next });
  process.send?.(result);
});
