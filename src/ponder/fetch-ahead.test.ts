import { expect, test } from "vitest";
import { createFetchAhead } from "./fetch-ahead.ts";

const chain = 1;

function paced() {
  let clock = 0;
  const ahead = createFetchAhead({ mostLogs: 100, idleMs: 300, pauseMs: 1, now: () => clock });
  let isThrough = false;
  let isOver = false;
  return {
    ...ahead,
    pass: (ms: number) => {
      clock += ms;
    },
    /** Whether fetching goes on. */
    async goesOn() {
      isThrough = false;
      void ahead
        .room(chain, () => isOver)
        .then(() => {
          isThrough = true;
        });
      await new Promise((done) => setTimeout(done, 10));
      return isThrough;
    },
    end() {
      isOver = true;
    },
    isThrough: async () => {
      await new Promise((done) => setTimeout(done, 10));
      return isThrough;
    },
  };
}

test("fetching waits while rules work and have enough to read, and goes on once they have read it", async () => {
  const ahead = paced();
  ahead.rulesWork(true);
  ahead.stored(chain, 20, 60);
  expect(await ahead.goesOn()).toBe(true);
  ahead.stored(chain, 40, 60);
  expect(await ahead.goesOn()).toBe(false);
  ahead.read(chain, 19);
  expect(await ahead.isThrough()).toBe(false);
  ahead.read(chain, 20);
  expect(await ahead.isThrough()).toBe(true);
});

test("fetching does not wait for rules that wait for events, such as those of another chain", async () => {
  const ahead = paced();
  ahead.stored(chain, 20, 1_000);
  expect(await ahead.goesOn()).toBe(true);
  ahead.rulesWork(true);
  expect(await ahead.goesOn()).toBe(false);
  ahead.rulesWork(false);
  ahead.pass(299);
  expect(await ahead.isThrough()).toBe(false);
  ahead.pass(1);
  expect(await ahead.isThrough()).toBe(true);
});

test("chains wait each for themselves", async () => {
  const ahead = paced();
  ahead.rulesWork(true);
  ahead.stored(10, 20, 1_000);
  ahead.read(chain, 5);
  expect(await ahead.goesOn()).toBe(true);
});

test("what was unread of a chain counts no more once its fetching begins again, nor when the process stops", async () => {
  const ahead = paced();
  ahead.rulesWork(true);
  ahead.stored(chain, 20, 1_000);
  ahead.begin(chain);
  expect(await ahead.goesOn()).toBe(true);
  ahead.stored(chain, 20, 1_000);
  expect(await ahead.goesOn()).toBe(false);
  ahead.end();
  expect(await ahead.isThrough()).toBe(true);
});
