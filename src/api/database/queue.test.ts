import { expect, test } from "vitest";
import { BusyError, createQueue, type QueueLimits, shareRows, type Turn } from "./queue.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setTimeout(resolve));

const usual: QueueLimits = {
  concurrency: 2,
  spare: 0,
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
  const run = async (client: string, name: string, signal = never, wasStopped = false) => {
    const turn = await queue.forClient(client, () => queue.turn(name.slice(0, 1), signal, wasStopped));
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

test("has spare places for clients that have no statement running", async () => {
  const { run, started, end } = open({ spare: 1 });
  for (const name of ["a0", "a1", "a2"]) void run("a", name);
  for (const name of ["b0", "b1"]) void run("b", name);
  await settled();
  expect(started).toEqual(["a0", "a1", "b0"]);
  end("b0");
  await settled();
  expect(started).toEqual(["a0", "a1", "b0", "b1"]);
  end("a0");
  await settled();
  expect(started).toEqual(["a0", "a1", "b0", "b1"]);
  end("a1");
  await settled();
  expect(started).toEqual(["a0", "a1", "b0", "b1", "a2"]);
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
  void run("a", "t1", never, true);
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
  for (const name of ["s4", "s5"]) void run("b", name, never, true);
  await expect(run("c", "s6", never, true)).rejects.toThrow(BusyError);
  await run("c", "q1");
});

/** A stand-in whose statements end when the test says so. */
function statements() {
  const running: {
    sql: string;
    signal: AbortSignal;
    end: (row: string[]) => void;
    fail: (error: Error) => void;
  }[] = [];
  const run = (sql: string, _values: readonly string[], signal: AbortSignal) =>
    new Promise<string[]>((resolve, reject) => {
      running.push({ sql, signal, end: resolve, fail: reject });
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  return { running, run };
}
const stay = new AbortController().signal;

test("runs equal statements once while they run, and others apart", async () => {
  const { running, run } = statements();
  const row = shareRows(run, () => 0);
  const answers = [
    row("a", ["1"], stay),
    row("a", ["1"], stay),
    row("a", ["2"], stay),
    row("b", ["1"], stay),
  ];
  expect(running.map(({ sql }) => sql)).toEqual(["a", "a", "b"]);
  for (const [place, { end }] of running.entries()) end([`${place}`]);
  expect(await Promise.all(answers)).toEqual([["0"], ["0"], ["1"], ["2"]]);
  void row("a", ["1"], stay);
  expect(running).toHaveLength(4);
});

test("does not join a statement that has run for a while", () => {
  const { running, run } = statements();
  let now = 0;
  const row = shareRows(run, () => now);
  void row("a", [], stay);
  now = 49;
  void row("a", [], stay);
  expect(running).toHaveLength(1);
  now = 50;
  void row("a", [], stay);
  expect(running).toHaveLength(2);
});

test("stops a statement when all who wait for it have gone, and no sooner", async () => {
  const { running, run } = statements();
  const row = shareRows(run, () => 0);
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = [row("a", [], first.signal), row("a", [], second.signal)];
  first.abort(new Error("first left"));
  await expect(answers[0]).rejects.toThrow("first left");
  expect(running[0]?.signal.aborted).toBe(false);
  second.abort(new Error("second left"));
  await expect(answers[1]).rejects.toThrow("second left");
  expect(running[0]?.signal.aborted).toBe(true);
  const third = row("a", [], stay);
  running[1]?.end(["again"]);
  expect(await third).toEqual(["again"]);
  await expect(row("a", [], first.signal)).rejects.toThrow("first left");
});

test("fails for all who wait", async () => {
  const { running, run } = statements();
  const row = shareRows(run, () => 0);
  const answers = Promise.allSettled([row("a", [], stay), row("a", [], stay)]);
  running[0]?.fail(new Error("broken"));
  expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
