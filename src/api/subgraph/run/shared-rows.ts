import type { Database } from "../../database/client.ts";

type Row = (string | null)[];
type Flight = { row: Promise<Row>; since: number; waiting: number; stop: AbortController };

// A request that joins another's statement may see a moment before its own, but never more than this.
const joinableMs = 50;

/**
 * Runs statements through `run`; equal ones that are asked for at the same time run once. A statement is
 * stopped when all who wait for it have gone.
 */
export function shareRows(
  run: Database["row"],
  clock: () => number = performance.now.bind(performance),
): Database["row"] {
  const flights = new Map<string, Flight>();

  function start(key: string, sql: string, values: readonly string[]): Flight {
    const stop = new AbortController();
    const flight: Flight = { row: run(sql, values, stop.signal), since: clock(), waiting: 0, stop };
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.row.then(land, land);
    flights.set(key, flight);
    return flight;
  }

  return async (sql, values, signal) => {
    signal.throwIfAborted();
    // No parameter holds a NUL: Postgres would refuse it.
    const key = [sql, ...values].join("\0");
    const found = flights.get(key);
    const flight =
      found !== undefined && clock() - found.since < joinableMs ? found : start(key, sql, values);
    flight.waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Row>();
    const leave = () => {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (flights.get(key) === flight) flights.delete(key);
        flight.stop.abort(signal.reason);
      }
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    flight.row.then(resolve, reject);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
