import { setTimeout as pause } from "node:timers/promises";
import { type Log, seeOperations } from "../log/json-log.ts";

// How long a caller waits for a reading, and how long a reading may take.
const timeoutMs = 500;
const readingMs = 5_000;

/**
 * Reads on demand, at most once in `everyMs`, and shares the value. A slow or failed reading leaves the old one;
 * `isAway`: it failed.
 */
export function shareReading<T>(
  what: string,
  read: (signal: AbortSignal) => Promise<T>,
  { everyMs, log }: { everyMs: number; log: Log },
) {
  const state: { value?: T; isAway: boolean } = { isAway: false };
  let readAt = Number.NEGATIVE_INFINITY;
  let reading = Promise.resolve();
  const refresh = async () => {
    try {
      state.value = await read(AbortSignal.timeout(readingMs));
      state.isAway = false;
    } catch (error) {
      if (!state.isAway)
        log("warn", `${what} could not be read: ${error}`, {
          section: seeOperations("When a dependency is unavailable"),
        });
      state.isAway = true;
    }
  };
  return async () => {
    if (performance.now() - readAt >= everyMs) {
      readAt = performance.now();
      reading = refresh();
    }
    await Promise.race([reading, pause(timeoutMs, undefined, { ref: false })]);
    return state;
  };
}
