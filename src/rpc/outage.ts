import { createOutageLog, type Log } from "../log/json-log.ts";
import type { RpcRequest } from "./nodes.ts";

type SendRpc = (body: RpcRequest) => Promise<unknown>;

const failures = new WeakSet<object>();

/** Whether an error or its cause is a failed request during a reported outage. */
export function isDuringOutage(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  return failures.has(error) || isDuringOutage((error as { cause?: unknown }).cause);
}

/**
 * Reports once that no URL of a chain responds, and once that one does again. Errors in between are `isDuringOutage`.
 */
export function watchOutages({ chain, log, now }: { chain: string; log: Log; now: () => number }) {
  const silent = new Set<string>();
  const hosts = new Map<string, string>();
  const outage = createOutageLog(log, { chain }, now);
  const failed = (url: string, error: object) => {
    silent.add(url);
    if (silent.size < hosts.size) return;
    failures.add(error);
    const hostnames = [...hosts.values()].join(", ");
    outage.noticed("No RPC URL responds. Indexing waits", { hostnames, reason: readReason(error) });
  };
  const answered = (url: string, hostname: string) => {
    silent.delete(url);
    outage.ended("An RPC URL responds again", { hostname });
  };
  return (url: string, host: string, request: SendRpc): SendRpc => {
    hosts.set(url, host);
    return async (body) => {
      try {
        const response = await request(body);
        answered(url, host);
        return response;
      } catch (error) {
        if (isAnswer(error)) answered(url, host);
        else failed(url, error as object);
        throw error;
      }
    };
  };
}

type Failure = { code?: unknown; status?: unknown; details?: unknown; message?: unknown };

/** Whether the node itself responded: with a JSON-RPC error, or a status below 500 such as "too many requests". */
function isAnswer(error: unknown): boolean {
  const { code, status } = error as Failure;
  return typeof code === "number" || (typeof status === "number" && status < 500);
}

function readReason(error: object): string {
  const { details, message } = error as Failure;
  return String(details ?? message).split("\n", 1)[0] ?? "";
}
