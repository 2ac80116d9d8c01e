import { expect, test } from "vitest";
import { BusyError } from "./lanes.ts";
import { createQueue, type QueueLimits, type Turn } from "./queue.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setTimeout(resolve));

const usual: QueueLimits = {
  concurrency: 2,
  short: 0,
  queue: 100,
  queuePerClient: 50,
  quickMs: 200,
  slow: 2,
  slowQueue: 4,
};

/**
 * A queue whose statements are named and end when the test says so; `started` are their names in order. A statement's text
 * is the first letter of its name.
 */
function open(limits: Partial<QueueLimits> = {}) {
  let now = 0;
  const queue = createQueue({ ...usual, ...limits }, () => now);
  const started: string[] = [];
  const turns = new Map<string, Turn>();
  const run = async (client: string, name: string, signal = never, stoppedIn?: Turn["lane"]) => {
    const turn = await queue.forClient(client, () => queue.turn(name.slice(0, 1), signal, stoppedIn));
    started.push(name);
    turns.set(name, turn);
  };
  return {
    run,
    started,
    turn: (name: string) => turns.get(name),
    end: (name: string) => turns.get(name)?.end(),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

test("runs so many statements at a time, and those of one client in their order", async () => {
  const { run, started, end } = open();
  for (const name of ["1", "2", "3", "4"]) void run("a", name);
  await settled();
  expect(started).toEqual(["1", "2"]);
  end("2");
  end("1");
  await settled();
  expect(started).toEqual(["1", "2", "3", "4"]);
});

test("what was quick lately has five times as long before it counts as slow", async () => {
  const { run, turn, end, pass } = open();
  await run("a", "s1");
  expect(turn("s1")?.quickMs).toBe(200);
  pass(100);
  end("s1");
  await run("a", "s2");
  await run("b", "s3");
  expect([turn("s2")?.quickMs, turn("s3")?.quickMs]).toEqual([1_000, 200]);
  expect(turn("s2")?.mayGoOn()).toBe(true);
  end("s2");
  await run("a", "s4");
  // Among the slow ones.
  expect(turn("s4")?.quickMs).toBeUndefined();
});

test("serves another client next, however many statements of one wait", async () => {
  const { run, started, end } = open();
  for (let i = 0; i < 40; i++) void run("a", `a${i}`);
  void run("b", "b0");
  void run("b", "b1");
  void run("c", "c0");
  await settled();
  for (const name of ["a0", "a1"]) end(name);
  await settled();
  expect(started.slice(2)).toEqual(["b0", "c0"]);
  end("b0");
  await settled();
  expect(started.slice(4)).toEqual(["a2"]);
  end("c0");
  await settled();
  expect(started.slice(5)).toEqual(["b1"]);
});

/** Has the statement `name` of client `z` take so many milliseconds. */
async function take({ run, pass, end }: ReturnType<typeof open>, name: string, milliseconds: number) {
  await run("z", name);
  pass(milliseconds);
  end(name);
}

test("statements that took next to no time lately have a place of their own, whoever asks", async () => {
  const queue = open({ short: 1 });
  const { run, started, turn, end } = queue;
  await take(queue, "s0", 10);
  await take(queue, "l0", 11);
  for (const name of ["l1", "l2", "l3", "s1", "s2"]) void run("a", name);
  for (const name of ["s3", "n1"]) void run("b", name);
  await settled();
  expect(started.slice(2)).toEqual(["l1", "l2", "s1"]);
  expect([turn("l1")?.lane, turn("s1")?.lane, turn("s1")?.quickMs]).toEqual(["quick", "short", 100]);
  end("s1");
  await settled();
  expect(started.slice(5)).toEqual(["s3"]);
  end("l1");
  await settled();
  // The turn after that of the client that has nothing running among the quick ones.
  expect(started.slice(6)).toEqual(["n1"]);
  end("s3");
  await settled();
  expect(started.slice(7)).toEqual(["s2"]);
});

test("a short statement that takes long is stopped, and waits as a quick one until it is short again", async () => {
  const queue = open({ concurrency: 1, short: 1 });
  const { run, started, turn, end, pass } = queue;
  await take(queue, "s0", 1);
  await run("a", "l1");
  await run("b", "s1");
  pass(100);
  expect(turn("s1")?.mayGoOn()).toBe(false);
  end("s1");
  void run("b", "s1", never, turn("s1")?.lane);
  void run("c", "s2");
  await settled();
  expect(started.slice(1)).toEqual(["l1", "s1"]);
  end("l1");
  await settled();
  expect([started.slice(3), turn("s1")?.lane]).toEqual([["s1"], "quick"]);
  pass(2);
  end("s1");
  await settled();
  await run("d", "s3");
  expect(turn("s3")?.lane).toBe("short");
});

test("a statement that was short once and takes longer since is no longer one", async () => {
  const queue = open({ concurrency: 1, short: 1 });
  await take(queue, "s0", 9);
  for (const name of ["s1", "s2"]) await take(queue, name, 50);
  const { run, turn } = queue;
  await run("a", "l1");
  void run("b", "s3");
  await settled();
  expect(turn("s3")).toBeUndefined();
});

test("refuses at once what is beyond a client's share or the whole queue", async () => {
  const { run } = open({ concurrency: 1, queue: 3, queuePerClient: 2 });
  for (const name of ["a0", "a1", "a2"]) void run("a", name);
  await expect(run("a", "a3")).rejects.toThrow(BusyError);
  void run("b", "b0");
  await expect(run("c", "c0")).rejects.toThrow(BusyError);
});

test("never refuses the service's own statements", async () => {
  const queue = createQueue({ ...usual, concurrency: 1, queue: 0, queuePerClient: 0 });
  const { end } = await queue.forClient("a", () => queue.turn("s", never));
  await expect(queue.forClient("a", () => queue.turn("s", never))).rejects.toThrow(BusyError);
  const own = queue.turn("s", never);
  end();
  expect((await own).quickMs).toBeUndefined();
});

test("gives up the place of who leaves while waiting", async () => {
  const { run, started, end } = open({ concurrency: 1, queue: 1 });
  void run("a", "a0");
  const leaving = new AbortController();
  const left = run("a", "a1", leaving.signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  void run("b", "b0");
  end("a0");
  await settled();
  expect(started).toEqual(["a0", "b0"]);
  await expect(run("b", "b1", leaving.signal)).rejects.toThrow("left");
});

test("a statement that takes long goes on among the slow ones, whose place a quick one then takes", async () => {
  const { run, started, turn, end } = open({ concurrency: 1 });
  void run("a", "s1");
  void run("a", "q1");
  await settled();
  expect(turn("s1")?.quickMs).toBe(200);
  expect(turn("s1")?.mayGoOn()).toBe(true);
  await settled();
  expect(started).toEqual(["s1", "q1"]);
  end("s1");
  await settled();
  expect(started).toEqual(["s1", "q1"]);
});

test("a statement that takes long is stopped where the slow ones have no place, and waits for one", async () => {
  const { run, started, turn, end } = open();
  for (const [client, name] of [
    ["a", "s1"],
    ["a", "t1"],
    ["b", "u1"],
  ] as const) {
    void run(client, name);
    await settled();
    // The second place is for clients without a slow statement.
    expect(turn(name)?.mayGoOn()).toBe(name !== "t1");
    if (name === "t1") end(name);
  }
  void run("a", "t1", never, "quick");
  void run("b", "q1");
  await settled();
  expect(started).toEqual(["s1", "t1", "u1", "q1"]);
  end("s1");
  await settled();
  expect(started.slice(4)).toEqual(["t1"]);
  expect(turn("t1")?.quickMs).toBeUndefined();
});

test("what was slow begins among the slow ones, for the same client and until it is quick again", async () => {
  const { run, started, turn, end, pass } = open({ slow: 1 });
  void run("a", "s1");
  await settled();
  turn("s1")?.mayGoOn();
  void run("a", "s2");
  void run("b", "s3");
  await settled();
  expect(started).toEqual(["s1", "s3"]);
  end("s1");
  await settled();
  expect(turn("s2")?.quickMs).toBeUndefined();
  pass(199);
  end("s2");
  void run("a", "s4");
  await settled();
  expect(turn("s4")?.quickMs).toBe(200);
});

test("those that wait like one that was slow wait among the slow ones", async () => {
  const { run, started, turn, end } = open({ concurrency: 1, slow: 1 });
  for (const name of ["s1", "s2", "q1"]) void run("a", name);
  await settled();
  turn("s1")?.mayGoOn();
  await settled();
  expect(started).toEqual(["s1", "q1"]);
  end("s1");
  await settled();
  expect(started).toEqual(["s1", "q1", "s2"]);
});

test("refuses slow statements at once beyond those that may wait, half of them of one client", async () => {
  const { run, turn } = open({ slow: 1 });
  void run("a", "s0");
  await settled();
  turn("s0")?.mayGoOn();
  for (const name of ["s1", "s2"]) void run("a", name);
  await expect(run("a", "s3")).rejects.toThrow(BusyError);
  for (const name of ["s4", "s5"]) void run("b", name, never, "quick");
  await expect(run("c", "s6", never, "quick")).rejects.toThrow(BusyError);
  await run("c", "q1");
});
