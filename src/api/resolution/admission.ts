import { createLane } from "../database/client.ts";
import { ApiError } from "../rest/errors.ts";

/** What live resolution may take. It has RPC clients of its own, so that it never waits in indexing's queue, nor the reverse. */
export const resolutionLimits = {
  /** Milliseconds for one request of a client. */
  timeoutMs: 20_000,
  /** Calls of contracts for one request, in all and at a time. */
  calls: 500,
  callsAtOnce: 6,
  /** Calls at a time to one chain. */
  callsOfChain: 16,
  /** Calls that may follow from one, each after a look-up at gateways (EIP-3668 recommends a bound). */
  rounds: 5,
  /** Requests at a time: of all clients, and of one address. */
  requests: 40,
  requestsOfAddress: 10,
};

/** Runs a task when its turn comes; not at all if `signal` is aborted before. */
export type Turns = <T>(signal: AbortSignal, task: () => Promise<T>) => Promise<T>;

/** Lets `most` tasks run at a time, and the others in order. */
export function createTurns(most: number): Turns {
  const endless = Number.POSITIVE_INFINITY;
  const lane = createLane({ concurrency: most, spare: 0, queue: endless, queuePerClient: endless });
  return async (signal, task) => {
    const leave = await lane.turn(undefined, signal);
    try {
      return await task();
    } finally {
      leave();
    }
  };
}

/** Runs the request of a client address at once, or throws a 503 while too many are running. */
export function createAdmission({ requests, requestsOfAddress }: typeof resolutionLimits) {
  const running: string[] = [];
  return async <T>(address: string, run: () => Promise<T>): Promise<T> => {
    const own = running.filter((one) => one === address);
    if (running.length >= requests || own.length >= requestsOfAddress) {
      const message = "Too many names are being resolved at once.";
      throw new ApiError(503, { message }, { "retry-after": "1" });
    }
    running.push(address);
    try {
      return await run();
    } finally {
      running.splice(running.indexOf(address), 1);
    }
  };
}
