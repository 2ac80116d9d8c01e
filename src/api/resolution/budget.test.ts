import { describe, expect, test } from "vitest";
import { createAdmission, createTurns, resolutionLimits } from "./budget.ts";

const forever = new AbortController().signal;

describe("turns", () => {
  test("are given to so many at a time, in order, also after a failure", async () => {
    const take = createTurns(2);
    const log: string[] = [];
    const tasks = [0, 1, 2, 3].map((i) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const done = take(forever, () => {
        log.push(`start ${i}`);
        return promise;
      });
      done.then(
        () => log.push(`end ${i}`),
        () => log.push(`failed ${i}`),
      );
      return { resolve, reject };
    });
    await expect.poll(() => log).toEqual(["start 0", "start 1"]);
    tasks[1]?.reject(new Error("x"));
    await expect.poll(() => log).toEqual(["start 0", "start 1", "start 2", "failed 1"]);
    tasks[2]?.resolve();
    await expect.poll(() => log.slice(4)).toEqual(["start 3", "end 2"]);
  });

  test("are not given to a task that was given up before, and none is lost by it", async () => {
    const take = createTurns(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = take(forever, () => promise);
    const leaving = new AbortController();
    const given = take(leaving.signal, async () => "ran");
    leaving.abort(new Error("gone"));
    await expect(given).rejects.toThrow("gone");
    const next = take(forever, async () => "next");
    resolve();
    await first;
    expect(await next).toBe("next");
    expect(await take(forever, async () => "last")).toBe("last");
    await expect(take(leaving.signal, async () => "ran")).rejects.toThrow("gone");
  });
});

describe("requests at a time", () => {
  const limits = { ...resolutionLimits, requests: 3, requestsOfAddress: 2 };
  const refusal = { status: 503, headers: { "retry-after": "1" } };

  test("of one address and of all are limited, and admitted again when others end", async () => {
    const admit = createAdmission(limits);
    const { promise, resolve } = Promise.withResolvers<string>();
    const run = () => promise;
    const first = [admit("a", run), admit("a", run)];
    await expect(admit("a", run)).rejects.toMatchObject(refusal);
    const other = admit("b", run);
    await expect(admit("c", run)).rejects.toMatchObject(refusal);
    resolve("done");
    expect(await Promise.all([...first, other])).toEqual(["done", "done", "done"]);
    await expect(admit("a", () => Promise.reject(new Error("x")))).rejects.toThrow("x");
    expect(await Promise.all([admit("a", run), admit("a", run), admit("c", run)])).toHaveLength(3);
  });
});
