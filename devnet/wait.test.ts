import { expect, test } from "vitest";
import { WaitError, waitFor } from "./wait.ts";

test("polls until it is done and returns the result", async () => {
  let looks = 0;
  const result = await waitFor(
    "the third look",
    async () => (++looks < 3 ? { state: "no" } : { done: looks }),
    {
      everyMs: 1,
    },
  );
  expect(result).toBe(3);
});

test("reports what it waited for and the last state on timeout", async () => {
  let looks = 0;
  const look = async () => ({ state: `look ${++looks >= 1 ? "last" : "first"}` });
  await expect(waitFor("the end", look, { timeoutMs: 1_000, everyMs: 100 })).rejects.toThrow(
    "Waited 1 s for the end; last state: look last",
  );
});

test("an error is a state, with its cause", async () => {
  const look = async () => {
    throw new Error("fetch failed", { cause: new Error("refused") });
  };
  await expect(waitFor("an answer", look, { timeoutMs: 10, everyMs: 1 })).rejects.toThrow(
    "fetch failed (refused)",
  );
});

test("a WaitError gives up at once", async () => {
  let looks = 0;
  const look = async () => {
    looks += 1;
    throw new WaitError("The service ended.");
  };
  await expect(waitFor("an answer", look)).rejects.toThrow("The service ended.");
  expect(looks).toBe(1);
});
