// Sends requests from a process of its own, so that the measured service has its event loop to itself. Takes jobs from the
// process that forked it, one at a time.
import { type LoadResult, load } from "./load.ts";

/** What is sent to the process: requests of which each connection takes a random one after the other. */
export type LoadJob = { port: number; connections: number; seconds: number; requests: string[] };

process.on("message", async ({ port, connections, seconds, requests }: LoadJob) => {
  const next = () => requests[Math.floor(Math.random() * requests.length)] ?? "";
  const result: LoadResult = await load(port, { connections, seconds, next });
  process.send?.(result);
});
