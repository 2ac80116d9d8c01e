import { expect, test, vi } from "vitest";
import { isDuringOutage, watchOutages } from "./outage.ts";

const refused = () => Object.assign(new Error("HTTP request failed."), { details: "fetch failed" });

function watchTwo() {
  const clock = { time: 0 };
  const log = vi.fn();
  const watch = watchOutages({ chain: "mainnet", log, now: () => clock.time });
  const next: Record<string, Error | undefined> = {};
  const request = (host: string) =>
    watch(`https://${host}/key`, host, async () => {
      if (next[host] !== undefined) throw next[host];
      return "0x1";
    })({ method: "eth_blockNumber" }).catch((error: unknown) => error);
  request("a.example");
  request("b.example");
  return { clock, log, next, request };
}

test("an outage begins when no URL answers, and ends with the first answer", async () => {
  const { clock, log, next, request } = watchTwo();
  next["a.example"] = refused();
  next["b.example"] = refused();
  expect(isDuringOutage(await request("a.example"))).toBe(false);
  expect(log).not.toHaveBeenCalled();
  for (let round = 0; round < 3; round++) {
    const error = await request("b.example");
    expect(isDuringOutage(error)).toBe(true);
    expect(isDuringOutage(new Error("The read failed.", { cause: error }))).toBe(true);
  }
  expect(isDuringOutage(await request("a.example"))).toBe(true);
  clock.time = 20_000;
  next["b.example"] = undefined;
  expect(await request("b.example")).toBe("0x1");
  expect(isDuringOutage(await request("b.example"))).toBe(false);
  const fields = { chain: "mainnet", hostnames: "a.example, b.example", reason: "fetch failed" };
  const section = 'See "When a dependency is unavailable" in docs/runbook.md.';
  expect(log.mock.calls).toEqual([
    ["warn", "No RPC URL responds. Indexing waits", { ...fields, section }],
    ["info", "An RPC URL responds again", { chain: "mainnet", hostname: "b.example", seconds: 20 }],
  ]);
});

// JSON-RPC 2.0: errors of a node have a code. HTTP: below 500 the request is refused.
test.each([{ code: -32_000 }, { status: 429 }])(
  "an error of the node itself is an answer: %j",
  async (said) => {
    const { log, next, request } = watchTwo();
    next["a.example"] = Object.assign(new Error("no"), said);
    next["b.example"] = refused();
    for (const host of ["a.example", "b.example", "a.example"])
      expect(isDuringOutage(await request(host))).toBe(false);
    expect(log).not.toHaveBeenCalled();
  },
);
