import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// V8 keeps the pages of a heap that has shrunk for the next time it grows, without end: 300 MB after an attack.
// Only a collection that is asked to save memory returns them to the system. It stops the process for 1.5 ms per MB of heap in use, so
// it waits until there is much to return and little to do.

/** What the rule sees and does; the defaults are those of the process. */
type Machine = {
  memory(): { rss: number; heapTotal: number; external: number };
  /** The share of the time since its last call in which the event loop was busy. */
  busyShare(): number;
  collect(): void;
};

const megabyte = 2 ** 20;
// What a process needs beside its heap: the program itself, its code, and threads.
const besideHeap = 180 * megabyte;
const leastToReturn = 150 * megabyte;
const quietShare = 0.35;
const everyMs = 10_000;
// Under load the heap takes and leaves pages all the time: what it left must stay unused for so many looks.
const looks = 3;
const restMs = 5 * 60_000;

/**
 * Returns memory that the heap has left to the system: at least 150 MB and half of the heap, at most once in five minutes, after half a
 * minute in which it stayed unused and the process was busy for about a third of the time or less. Ends with `stop`.
 */
export function returnIdleMemory(machine: Machine = thisProcess()): { stop(): void } {
  let kept = besideHeap;
  let rest = 0;
  let seen = 0;
  const timer = setInterval(() => {
    rest -= everyMs;
    const { left, heap } = measured(machine);
    const isWorthIt = left - kept >= Math.max(leastToReturn, heap / 2);
    seen = machine.busyShare() < quietShare && isWorthIt ? seen + 1 : 0;
    if (seen < looks || rest > 0) return;
    machine.collect();
    kept = Math.max(besideHeap, measured(machine).left);
    rest = restMs;
  }, everyMs).unref();
  return { stop: () => clearInterval(timer) };
}

function measured(machine: Machine): { left: number; heap: number } {
  const { rss, heapTotal, external } = machine.memory();
  return { left: rss - heapTotal - external, heap: heapTotal };
}

/** The process itself. */
export function thisProcess(): Machine {
  // Contexts have the collector since the flag was set: the process needs none.
  setFlagsFromString("--expose-gc");
  const gc: NonNullable<typeof globalThis.gc> = runInNewContext("gc");
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
