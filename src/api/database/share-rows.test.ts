import { expect, test } from "vitest";
import { shareRows } from "./share-rows.ts";

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
