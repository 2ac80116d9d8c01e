import { expect, test } from "vitest";
import { BusyError } from "../schema/errors.ts";
import { createGate } from "./gate.ts";
import { shareRows } from "./rows.ts";

const never = new AbortController().signal;
const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

test("runs a limited number of tasks at a time and the others in order", async () => {
  const gate = createGate({ concurrency: 2, queue: 10 });
  const order: number[] = [];
  let running = 0;
  let most = 0;
  await Promise.all(
    [1, 2, 3, 4, 5].map((number) =>
      gate(never, async () => {
        running += 1;
        most = Math.max(most, running);
        order.push(number);
        await pause();
        running -= 1;
      }),
    ),
  );
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(most).toBe(2);
});

test("rejects tasks beyond the queue at once, and accepts tasks again afterwards", async () => {
  const gate = createGate({ concurrency: 1, queue: 1 });
  const first = gate(never, pause);
  const second = gate(never, pause);
  await expect(gate(never, pause)).rejects.toThrow(BusyError);
  await Promise.all([first, second]);
  expect(await gate(never, async () => "again")).toBe("again");
});

test("passes the turn on when a task fails", async () => {
  const gate = createGate({ concurrency: 1, queue: 1 });
  const failing = gate(never, async () => {
    await pause();
    throw new Error("broken");
  });
  const next = gate(never, async () => "next");
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("next");
});

test("frees the place of a task that is aborted while waiting", async () => {
  const gate = createGate({ concurrency: 1, queue: 1 });
  const first = gate(never, pause);
  const leaving = new AbortController();
  const second = gate(leaving.signal, pause);
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  const third = gate(never, async () => "third");
  await first;
  expect(await third).toBe("third");
  await expect(gate(leaving.signal, pause)).rejects.toThrow("left");
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

test("runs equal statements once while they run, and others separately", async () => {
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

test("stops a statement when all its clients have gone, and no sooner", async () => {
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

test("fails for all waiting clients", async () => {
  const { running, run } = statements();
  const row = shareRows(run, () => 0);
  const answers = Promise.allSettled([row("a", [], stay), row("a", [], stay)]);
  running[0]?.fail(new Error("broken"));
  expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
