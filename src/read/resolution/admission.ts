import { refuse } from "../refusal.ts";
import { createLane } from "../sql/client.ts";

/** Limits of live resolution. It has its own RPC clients, so that it and indexing never wait in each other's queue. */
export const resolutionLimits = {
  /** Milliseconds for one API request. */
  timeoutMs: 20_000,
  /** Contract calls of one request: in total and concurrent. */
  calls: 500,
  callsAtOnce: 6,
  /** Concurrent calls to one chain. */
  callsOfChain: 16,
  /** Calls in one series of gateway redirects, the first call included (EIP-3668 recommends a bound). */
  rounds: 5,
  /** Concurrent requests: of all clients, and of one client address. */
  requests: 40,
  requestsOfAddress: 10,
};

/** Runs a task when its turn comes; rejects without running it if `signal` aborts first. */
export type Turns = <T>(signal: AbortSignal, task: () => Promise<T>) => Promise<T>;

/** Runs up to `max` tasks at a time and queues the others in order. */
export function createTurns(max: number): Turns {
  const endless = Number.POSITIVE_INFINITY;
  const lane = createLane({ concurrency: max, spare: 0, queue: endless, queuePerClient: endless });
  return async (signal, task) => {
    const leave = await lane.turn(undefined, signal);
    try {
      return await task();
    } finally {
      leave();
    }
  };
}

/** Runs a request of a client address at once, or throws a 503 while too many are running. */
export function createAdmission({ requests, requestsOfAddress }: typeof resolutionLimits) {
  const running: string[] = [];
  return async <T>(address: string, run: () => Promise<T>): Promise<T> => {
    const own = running.filter((one) => one === address);
    if (running.length >= requests || own.length >= requestsOfAddress) {
      refuse("overloaded", "Too many names are being resolved at once.");
    }
    running.push(address);
    try {
      return await run();
    } finally {
      running.splice(running.indexOf(address), 1);
    }
  };
}
