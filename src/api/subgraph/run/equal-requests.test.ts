import { expect, test } from "vitest";
import { BusyError } from "../../../read/sql/client.ts";
import { joinEqual } from "./execute.ts";

const stay = new AbortController().signal;

// Runs that end when the test says so.
function opened() {
  const runs: {
    key: string;
    signal: AbortSignal;
    end: (text: string) => void;
    fail: (error: Error) => void;
  }[] = [];
  let now = 0;
  const join = joinEqual<string>(() => now);
  const ask = (key: string, signal = stay) =>
    join(key, signal, (stop) => {
      const { promise, resolve: end, reject: fail } = Promise.withResolvers<string>();
      runs.push({ key, signal: stop, end, fail });
      return promise;
    });
  return {
    ask,
    runs,
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

test("equal requests of a moment run once, others alone", async () => {
  const { ask, runs } = opened();
  const answers = [ask("a"), ask("a"), ask("b")];
  expect(runs.map(({ key }) => key)).toEqual(["a", "b"]);
  runs[0]?.end("1");
  runs[1]?.end("2");
  expect(await Promise.all(answers)).toEqual(["1", "1", "2"]);
  void ask("a");
  expect(runs).toHaveLength(3);
});

test("a request does not join what has run for 50 ms", () => {
  const { ask, runs, pass } = opened();
  void ask("a");
  pass(49);
  void ask("a");
  expect(runs).toHaveLength(1);
  pass(1);
  void ask("a");
  expect(runs).toHaveLength(2);
});

test("a run stops when all who wait for it have gone, and no sooner", async () => {
  const { ask, runs } = opened();
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = [ask("a", first.signal), ask("a", second.signal)];
  first.abort(new Error("first left"));
  await expect(answers[0]).rejects.toThrow("first left");
  expect(runs[0]?.signal.aborted).toBe(false);
  second.abort(new Error("second left"));
  await expect(answers[1]).rejects.toThrow("second left");
  expect(runs[0]?.signal.aborted).toBe(true);
  const third = ask("a");
  runs[1]?.end("again");
  expect(await third).toBe("again");
  await expect(ask("a", first.signal)).rejects.toThrow("first left");
});

test("a failure is everyone's, but who joined a client that may not run more runs alone", async () => {
  const { ask, runs } = opened();
  const broken = Promise.allSettled([ask("a"), ask("a")]);
  runs[0]?.fail(new Error("broken"));
  expect((await broken).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const busy = Promise.allSettled([ask("a"), ask("a")]);
  runs[1]?.fail(new BusyError(1));
  await new Promise((resolve) => setImmediate(resolve));
  runs[2]?.end("alone");
  expect(await busy).toMatchObject([{ status: "rejected" }, { status: "fulfilled", value: "alone" }]);
});
