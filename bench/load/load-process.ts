// Loads a service from a separate process, so that it has its event loop to itself. Takes jobs from the process that
// forked it, one at a time: 16 connections, each sending random ones of the requests in turn, after a second of
// warm-up.
import { load } from "./load.ts";

/** What the process is sent. */
export type LoadJob = { port: number; seconds: number; requests: string[] };

process.on("message", async ({ port, seconds, requests }: LoadJob) => {
  const next = () => requests[Math.floor(Math.random() * requests.length)] ?? "";
  await load(port, { connections: 16, seconds: 1, next });
  process.send?.(await load(port, { connections: 16, seconds, next }));
});
