/** Requests sent to a chain, and how much of what they fetched had been fetched before. */
export type Traffic = {
  /** By method. */
  requests: Record<string, number>;
  /** Logs, blocks with their transactions, and calls that were fetched more than once. */
  repeated: { logs: number; blocks: number; calls: number };
};

/** Counts the requests to a chain. */
export function createTraffic() {
  let requests = new Map<string, number>();
  const logs = createRepeats<string>();
  const blocks = createRepeats<number>();
  const calls = createRepeats<string>();
  return {
    countRequest: (method: string) => void requests.set(method, (requests.get(method) ?? 0) + 1),
    countLog: logs.add,
    countBlock: blocks.add,
    countCall: calls.add,
    read: (): Traffic => ({
      requests: Object.fromEntries(requests),
      repeated: { logs: logs.count(), blocks: blocks.count(), calls: calls.count() },
    }),
    reset() {
      requests = new Map();
      for (const repeats of [logs, blocks, calls]) repeats.reset();
    },
  };
}

/** The sum of several chains' traffic. */
export function sumOfTraffic(all: readonly Traffic[]): Traffic {
  const requests: Record<string, number> = {};
  const repeated = { logs: 0, blocks: 0, calls: 0 };
  for (const traffic of all) {
    for (const [method, count] of Object.entries(traffic.requests)) {
      requests[method] = (requests[method] ?? 0) + count;
    }
    repeated.logs += traffic.repeated.logs;
    repeated.blocks += traffic.repeated.blocks;
    repeated.calls += traffic.repeated.calls;
  }
  return { requests, repeated };
}

function createRepeats<Key>() {
  const seen = new Set<Key>();
  let repeated = 0;
  return {
    add(key: Key) {
      if (seen.has(key)) repeated++;
      else seen.add(key);
    },
    count: () => repeated,
    reset() {
      seen.clear();
      repeated = 0;
    },
  };
}
