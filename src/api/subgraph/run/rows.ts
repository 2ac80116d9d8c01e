import type { SubgraphLimits } from "../../../config/limits.ts";
import type { Database } from "../../database/client.ts";
import { createGate } from "./gate.ts";

type RowReader = Database["row"];

/**
 * Runs statements of one row, `concurrency` at a time, each for `timeoutMs` at most from when its turn comes. Equal
 * statements of the same moment run once. Throws BusyError if too many wait.
 */
export function createRows(
  database: Database,
  { concurrency, queue, timeoutMs }: Pick<SubgraphLimits, "concurrency" | "queue" | "timeoutMs">,
): RowReader {
  const gate = createGate({ concurrency: Math.min(concurrency, database.connections), queue });
  const inTime = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  return shareRows((sql, values, signal) => gate(signal, () => database.row(sql, values, inTime(signal))));
}

type Flight = { row: ReturnType<RowReader>; since: number; waiting: number; stop: AbortController };

// A request that joins another's statement may see a moment before its own, but never more than this.
const joinableMs = 50;

/**
 * Runs statements through `run`; equal ones of the same moment run once. A statement is stopped when all who wait
 * for it have gone.
 */
export function shareRows(
  run: RowReader,
  clock: () => number = performance.now.bind(performance),
): RowReader {
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
    // No parameter contains a NUL: Postgres would refuse it.
    const key = [sql, ...values].join("\0");
    const found = flights.get(key);
    const isJoinable = found !== undefined && clock() - found.since < joinableMs;
    const flight = isJoinable ? found : start(key, sql, values);
    flight.waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<Flight["row"]>>();
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
    return promise.finally(() => signal.removeEventListener("abort", leave));
  };
}
