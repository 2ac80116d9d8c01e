import { currentClient } from "../database/queue.ts";

type Client = string | undefined;
type Slice = () => void;

const mostRemembered = 1_000;
// What a slice counts for at most, in milliseconds: one that took longer was interrupted, by other processes or the collection of garbage.
const longestSlice = 10;

/**
 * Turns for slices of requests: all wait, and the client whose slices took the least time has the next turn, so that many long
 * requests of one client delay a short one of another by one slice. Between two slices the process takes what has arrived.
 */
export function createTurns(clock = performance.now.bind(performance)) {
  // Slices that wait, by client.
  const waiting = new Map<Client, Slice[]>();
  // Milliseconds that the slices of each client took, counted from those of the client that was served last when it came.
  const used = new Map<Client, number>();
  let usedByLast = 0;

  function clientOfLeast(): Client {
    let least: [Client, number] | undefined;
    for (const client of waiting.keys()) {
      const milliseconds = used.get(client) ?? 0;
      if (least === undefined || milliseconds < least[1]) least = [client, milliseconds];
    }
    return least?.[0];
  }

  function charge(client: Client, milliseconds: number): void {
    used.set(client, (used.get(client) ?? usedByLast) + Math.min(milliseconds, longestSlice));
    if (waiting.size > 0 && used.size < mostRemembered) return;
    for (const [one, sum] of used)
      if (!waiting.has(one) && (waiting.size === 0 || sum <= usedByLast)) used.delete(one);
    if (waiting.size === 0) usedByLast = 0;
  }

  // The first call may come before the process has looked for what has arrived, the others come after.
  function nextSlice(): void {
    setImmediate(() => {
      const client = clientOfLeast();
      const line = waiting.get(client) ?? [];
      usedByLast = used.get(client) ?? 0;
      if (line.length <= 1) waiting.delete(client);
      const start = clock();
      line.shift()?.();
      // What the slice does is done in microtasks; the next tick comes after them.
      queueMicrotask(() => process.nextTick(() => charge(client, clock() - start)));
      if (waiting.size > 0) nextSlice();
    });
  }

  return (): Promise<void> =>
    new Promise((resolve) => {
      if (waiting.size === 0) setImmediate(nextSlice);
      const client = currentClient();
      const line = waiting.get(client);
      if (line !== undefined) return void line.push(resolve);
      waiting.set(client, [resolve]);
      used.set(client, Math.max(used.get(client) ?? 0, usedByLast));
    });
}

/** Lets other requests have their turn. */
export const yieldToEventLoop = createTurns();
