import { BusyError } from "../../database/client.ts";

// A request that joins another may see data this much older than its own, at most.
const joinableMs = 50;

type Flight<Value> = { value: Promise<Value>; since: number; waiting: number; stop: AbortController };

/**
 * Runs equal requests of the same 50 ms once. A run stops when all who wait for it have gone. If it ends with BusyError, which may concern
 * its first client alone, each other request runs alone.
 */
export function joinEqual<Value>(now: () => number = () => performance.now()) {
  const flights = new Map<string, Flight<Value>>();

  function begin(key: string, run: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const stop = new AbortController();
    const flight = { value: run(stop.signal), since: now(), waiting: 0, stop };
    flights.set(key, flight);
    const land = () => void (flights.get(key) === flight && flights.delete(key));
    stop.signal.addEventListener("abort", land);
    flight.value.then(land, land);
    return flight;
  }

  /** The value of `run` or of an equal run. Rejects with the reason of `signal` once that aborts. */
  return async (key: string, signal: AbortSignal, run: (signal: AbortSignal) => Promise<Value>) => {
    signal.throwIfAborted();
    const found = flights.get(key);
    const joined = found !== undefined && now() - found.since < joinableMs ? found : undefined;
    const flight = joined ?? begin(key, run);
    flight.waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const leave = () => {
      flight.waiting -= 1;
      if (flight.waiting === 0) flight.stop.abort(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    flight.value.then(resolve, reject);
    try {
      return await promise;
    } catch (error) {
      if (joined === undefined || !(error instanceof BusyError)) throw error;
      return await run(signal);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
