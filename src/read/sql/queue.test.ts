import { expect, test } from "vitest";
import { forClient } from "../../http/turn.ts";
import { BusyError, createQueue, type QueueLimits } from "./client.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setTimeout(resolve));

// Statements that a test leaves running never end by themselves: nobody would take the error.
const endless = 2_000_000_000;

const usual: QueueLimits = {
  ...{ concurrency: 2, spare: 0, queue: 100, queuePerClient: 50 },
  ...{ timeoutMs: endless, quickMs: endless, slow: 2, slowQueue: 4 },
};

/**
 * A queue whose statements are named and run until they are stopped, or the test ends them; `started` are their names
 * in order. A statement's text is the first letter of its name.
 */
function open(limits: Partial<QueueLimits> = {}) {
  const queue = createQueue({ ...usual, ...limits });
  const [started, stopped]: [string[], string[]] = [[], []];
  const ends = new Map<string, () => void>();
  const runOwn = (name: string, signal = never) =>
    queue(
      name.slice(0, 1),
      signal,
      (stop) =>
        new Promise<string>((resolve, reject) => {
          started.push(name);
          ends.set(name, () => resolve(name));
          stop.addEventListener("abort", () => {
            stopped.push(name);
            reject(new Error("canceling statement due to user request"));
          });
        }),
    );
  const run = (client: string, name: string, signal = never) => forClient(client, () => runOwn(name, signal));
  const end = async (...names: string[]) => {
    for (const name of names) ends.get(name)?.();
    await settled();
  };
  return { run, runOwn, started, stopped, end, waiting: queue.waiting };
}

test("runs so many statements at a time, and those of one client in their order", async () => {
  const { run, started, end, waiting } = open();
  for (const name of ["1", "2", "3", "4"]) void run("a", name);
  await settled();
  expect(started).toEqual(["1", "2"]);
  expect(waiting()).toBe(2);
  await end("2", "1");
  expect(started).toEqual(["1", "2", "3", "4"]);
  expect(waiting()).toBe(0);
});

test("serves another client next, however many statements of one wait", async () => {
  const { run, started, end } = open();
  for (let i = 0; i < 40; i++) void run("a", `a${i}`);
  for (const name of ["b0", "b1", "c0"]) void run(name.slice(0, 1), name);
  await settled();
  await end("a0", "a1");
  expect(started.slice(2)).toEqual(["b0", "c0"]);
  await end("b0");
  expect(started.slice(4)).toEqual(["a2"]);
  await end("c0");
  expect(started.slice(5)).toEqual(["b1"]);
});

test("has spare places for clients that have no statement running", async () => {
  const { run, started, end } = open({ spare: 1 });
  for (const name of ["a0", "a1", "a2", "b0", "b1"]) void run(name.slice(0, 1), name);
  await settled();
  expect(started).toEqual(["a0", "a1", "b0"]);
  await end("b0");
  expect(started).toEqual(["a0", "a1", "b0", "b1"]);
  await end("a0");
  expect(started).toEqual(["a0", "a1", "b0", "b1"]);
  await end("a1");
  expect(started).toEqual(["a0", "a1", "b0", "b1", "a2"]);
});

test("refuses at once what is beyond a client's share or the whole queue, but never the service's own statements", async () => {
  const { run, runOwn, started, end } = open({ concurrency: 1, queue: 3, queuePerClient: 2 });
  for (const name of ["a0", "a1", "a2"]) void run("a", name);
  await expect(run("a", "a3")).rejects.toThrow(BusyError);
  void run("b", "b0");
  await expect(run("c", "c0")).rejects.toThrow(BusyError);
  void runOwn("own");
  await end("a0");
  await end("b0");
  expect(started).toEqual(["a0", "b0", "own"]);
});

test("gives up the place of who leaves while waiting", async () => {
  const { run, started, end } = open({ concurrency: 1, queue: 1 });
  void run("a", "a0");
  const leaving = new AbortController();
  const left = run("a", "a1", leaving.signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  void run("b", "b0");
  await end("a0");
  expect(started).toEqual(["a0", "b0"]);
  await expect(run("b", "b1", leaving.signal)).rejects.toThrow("left");
});

test("a statement that is given up keeps its turn until it has ended", async () => {
  const queue = createQueue({ ...usual, concurrency: 1 });
  const started: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = (name: string, signal: AbortSignal) =>
    queue(name, signal, () => {
      started.push(name);
      return promise;
    });
  const leaving = new AbortController();
  const first = run("a", leaving.signal);
  const second = run("b", never);
  await settled();
  leaving.abort(new Error("left"));
  await expect(first).rejects.toThrow("left");
  expect(started).toEqual(["a"]);
  resolve();
  await second;
  expect(started).toEqual(["a", "b"]);
});

test.each([
  ["quick", { timeoutMs: 20, slow: 0 }],
  ["slow", { timeoutMs: 50, quickMs: 10 }],
])("stops a %s statement that takes too long", async (_, limits) => {
  const { run } = open(limits);
  for (let round = 0; round < 2; round++)
    await expect(run("a", "a")).rejects.toThrow("The statement took too long.");
});

const lanes = { concurrency: 1, slow: 1, quickMs: 200 };
const often = { interval: 10 };

test("a statement that takes long goes on among the slow ones, whose place a quick one then takes", async () => {
  const { run, started, stopped, end } = open({ concurrency: 1, quickMs: 200 });
  const first = run("a", "s1");
  const quick = run("a", "q1");
  await expect.poll(() => started, often).toEqual(["s1", "q1"]);
  await end("q1", "s1");
  expect([await first, await quick, stopped]).toEqual(["s1", "q1", []]);
});

test("one that has no place among the slow ones is stopped, and run again when there is one", async () => {
  const { run, started, stopped, end } = open(lanes);
  void run("a", "s1");
  const second = run("a", "t1");
  await expect.poll(() => stopped, often).toEqual(["t1"]);
  const quick = run("a", "q1");
  await settled();
  expect(started).toEqual(["s1", "t1", "q1"]);
  await end("q1");
  await quick;
  await end("s1");
  await expect.poll(() => started).toEqual(["s1", "t1", "q1", "t1"]);
  await end("t1");
  expect(await second).toBe("t1");
});

test("a client may leave while its stopped statement waits among the slow ones", async () => {
  const { run, stopped, end } = open(lanes);
  void run("a", "s1");
  const leaving = new AbortController();
  const second = run("b", "t1", leaving.signal);
  await expect.poll(() => stopped, often).toEqual(["t1"]);
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  await end("s1");
  const third = run("c", "q1");
  await settled();
  await end("q1");
  expect(await third).toBe("q1");
});

test("what was slow begins among the slow ones, for the same client and until it is quick again", async () => {
  const { run, started, end } = open({ ...lanes, concurrency: 2 });
  void run("a", "s1");
  void run("a", "s2");
  void run("a", "q1");
  // Once the first is among the slow ones; the second is stopped, or waited like one that was slow.
  await expect.poll(() => started.at(-1), often).toBe("q1");
  void run("a", "s3");
  void run("b", "s4");
  await expect.poll(() => started.at(-1), often).toBe("s4");
  expect(started).not.toContain("s3");
  await end("q1", "s4", "s1");
  expect(started.at(-1)).toBe("s2");
  await end("s2");
  expect(started.at(-1)).toBe("s3");
  // The second took no time among the slow ones.
  void run("a", "s5");
  await settled();
  expect(started.at(-1)).toBe("s5");
});

test("refuses slow statements at once beyond those that may wait, half of them of one client", async () => {
  const { run, started, stopped } = open({ ...lanes, concurrency: 10 });
  void run("a", "s0");
  await settled();
  void run("b", "t0");
  void run("c", "u0");
  await expect.poll(() => stopped, often).toEqual(["t0", "u0"]);
  void run("b", "t1");
  await settled();
  await expect(run("b", "t2")).rejects.toThrow(BusyError);
  void run("a", "s1");
  await settled();
  await expect(run("c", "u1")).rejects.toThrow(BusyError);
  expect(started).toEqual(["s0", "t0", "u0"]);
});
