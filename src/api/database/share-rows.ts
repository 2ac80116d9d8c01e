type Run<Row> = (sql: string, values: readonly string[], signal: AbortSignal) => Promise<Row>;
type Flight<Row> = { row: Promise<Row>; since: number; waiting: number; stop: AbortController };

// A request that joins another's statement may see a moment before its own, but never more than this.
const joinableMs = 50;

/**
 * Runs statements through `run`; equal ones of the same moment run once. A statement is stopped when all who wait
 * for it have gone.
 */
export function shareRows<Row>(
  run: Run<Row>,
  clock: () => number = performance.now.bind(performance),
): Run<Row> {
  const flights = new Map<string, Flight<Row>>();

  function start(key: string, sql: string, values: readonly string[]): Flight<Row> {
    const stop = new AbortController();
    const flight: Flight<Row> = { row: run(sql, values, stop.signal), since: clock(), waiting: 0, stop };
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
    return promise.finally(() => signal.removeEventListener("abort", leave));
  };
}
