import { expect, test } from "vitest";
import { BusyError } from "../schema/errors.ts";
import { createGate } from "./gate.ts";

const never = new AbortController().signal;
const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

test("runs so many tasks at a time and the others in their order", async () => {
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

test("refuses tasks beyond the queue at once, and takes tasks again afterwards", async () => {
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

test("gives up the place of who leaves while waiting", async () => {
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
