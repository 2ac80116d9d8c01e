import pRetry from "p-retry";

const production = { firstRetryMs: 1000, longestRetryMs: 30_000 };

/**
 * What a node answers to `read`. While no node can be reached, or all are overloaded, it is asked again without end: Ponder
 * gives up after a minute and would end the service. Any other failure is thrown, for the node will say the same again.
 */
export function outlastOutage<T>(
  read: () => Promise<T>,
  { firstRetryMs, longestRetryMs } = production,
): Promise<T> {
  return pRetry(read, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: firstRetryMs,
    maxTimeout: longestRetryMs,
    shouldRetry: ({ error }) => isOutage(error),
  });
}

// By name: the errors of viem reach this process from several of its modules.
const outageNames = new Set([
  "TimeoutError",
  "SocketClosedError",
  "WebSocketRequestError",
  "LimitExceededRpcError",
]);
const overloadedStatuses = [408, 425, 429];

/** Whether an error of viem's tells that no node gave an answer. */
export function isOutage(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (outageNames.has(cause.name)) return true;
    if (cause.name !== "HttpRequestError") continue;
    const { status } = cause as { status?: number };
    return status === undefined || status >= 500 || overloadedStatuses.includes(status);
  }
  return false;
}
