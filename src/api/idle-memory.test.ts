import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { returnIdleMemory } from "./idle-memory.ts";

const megabyte = 2 ** 20;

/** A process of `rss` MB, of which a collection returns all above 400. */
function machineOf({ rss, heapTotal, busy }: { rss: number; heapTotal: number; busy: number }) {
  const state = { rss, heapTotal, busy, collections: 0 };
  return {
    state,
    memory: () => ({ rss: state.rss * megabyte, heapTotal: state.heapTotal * megabyte, external: 0 }),
    busyShare: () => state.busy,
    collect() {
      state.collections += 1;
      state.rss = Math.min(state.rss, 400);
    },
  };
}

const minute = 60_000;

function watched(given: { rss: number; heapTotal: number; busy: number }) {
  vi.useFakeTimers();
  const machine = machineOf(given);
  const { stop } = returnIdleMemory(machine);
  return { state: machine.state, stop };
}

afterEach(() => void vi.useRealTimers());

test("returns memory once there is much of it and the process has little to do", () => {
  const { state, stop } = watched({ rss: 900, heapTotal: 150, busy: 0.9 });
  vi.advanceTimersByTime(minute);
  expect(state.collections).toBe(0);
  state.busy = 0.1;
  vi.advanceTimersByTime(minute);
  expect(state).toMatchObject({ collections: 1, rss: 400 });
  state.rss = 900;
  vi.advanceTimersByTime(2 * minute);
  expect(state.collections, "at most once in five minutes").toBe(1);
  vi.advanceTimersByTime(3 * minute);
  expect(state).toMatchObject({ collections: 2, rss: 400 });
  stop();
  state.rss = 900;
  vi.advanceTimersByTime(20 * minute);
  expect(state.collections).toBe(2);
});

test("leaves memory alone that is not worth the pause", () => {
  const { state } = watched({ rss: 470, heapTotal: 150, busy: 0.1 });
  vi.advanceTimersByTime(minute);
  expect(state.collections, "less than 150 MB").toBe(0);
  Object.assign(state, { rss: 1_350, heapTotal: 800 });
  vi.advanceTimersByTime(minute);
  expect(state.collections, "less than half of the heap").toBe(0);
});

test("does not try again what a collection could not return", () => {
  const { state } = watched({ rss: 900, heapTotal: 10, busy: 0.1 });
  vi.advanceTimersByTime(minute);
  state.rss = 530;
  vi.advanceTimersByTime(20 * minute);
  expect(state.collections).toBe(1);
});

test("a heap that has shrunk is returned to the system", () => {
  const module = fileURLToPath(new URL("idle-memory.ts", import.meta.url));
  const script = `
    import { setTimeout as pause } from "node:timers/promises";
    import { runInNewContext } from "node:vm";
    const { thisProcess } = await import(${JSON.stringify(module)});
    const { collect } = thisProcess();
    const megabytes = () => Math.round(process.memoryUsage().rss / 2 ** 20);
    let kept = Array.from({ length: 6_000_000 }, (_, at) => ({ at }));
    kept = undefined;
    runInNewContext("gc({ type: 'major', execution: 'sync' })");
    await pause(100);
    const before = megabytes();
    collect();
    console.log(JSON.stringify({ before, after: megabytes() }));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  const { before, after }: Record<string, number> = JSON.parse(stdout);
  // An ordinary collection came before it.
  expect(after).toBeLessThan(Number(before) - 150);
});
