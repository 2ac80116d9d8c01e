import { performance } from "node:perf_hooks";

// V8 keeps the pages of a heap that has shrunk for the next time it grows, without end: 300 MB after an attack, 500 MB after a backfill.
// Only a collection that is asked to save memory returns them to the system. It stops the process for 1.5 ms per MB of heap in use, so
// it waits until there is much to return and little to do.

/** What the rule sees and does; the defaults are those of the process. */
type Machine = {
  memory(): { rss: number; heapUsed: number; external: number };
  /** The share of the time since its last call in which the event loop was busy. */
  busyShare(): number;
  collect(): void;
};

const megabyte = 2 ** 20;
// What a process needs beside its heap: the program itself, its code, and threads.
const besideHeap = 250 * megabyte;
const leastToReturn = 150 * megabyte;
const quietShare = 0.2;
const everyMs = 10_000;
// One quiet look may be a gap between two bursts, in which the next request would wait for the collection.
const quietLooks = 3;
const restMs = 5 * 60_000;

/**
 * Returns memory that the heap does not use to the system: at least 150 MB and half of what is in use, at most once in five minutes,
 * after half a minute in which the process was busy for less than a fifth of the time. Needs Node's `--expose-gc`; without it nothing is
 * returned. Ends with `stop`.
 */
export function returnIdleMemory(machine: Machine | undefined = thisProcess()): { stop(): void } {
  if (machine === undefined) return { stop: () => undefined };
  let kept = besideHeap;
  let rest = 0;
  let quiet = 0;
  const timer = setInterval(() => {
    rest -= everyMs;
    quiet = machine.busyShare() < quietShare ? quiet + 1 : 0;
    const { idle, used } = measured(machine);
    if (quiet < quietLooks || rest > 0 || idle - kept < Math.max(leastToReturn, used / 2)) return;
    machine.collect();
    kept = Math.max(besideHeap, measured(machine).idle);
    rest = restMs;
  }, everyMs).unref();
  return { stop: () => clearInterval(timer) };
}

function measured(machine: Machine): { idle: number; used: number } {
  const { rss, heapUsed, external } = machine.memory();
  return { idle: rss - heapUsed - external, used: heapUsed };
}

export function thisProcess(): Machine | undefined {
  const { gc } = globalThis;
  if (gc === undefined) return undefined;
  let last = performance.eventLoopUtilization();
  return {
    memory: process.memoryUsage,
    busyShare() {
      const before = last;
      last = performance.eventLoopUtilization();
      return performance.eventLoopUtilization(last, before).utilization;
    },
    collect: () => void gc({ type: "major", execution: "sync", flavor: "last-resort" }),
  };
}
