import { createServer } from "node:net";
import { expect, test } from "vitest";
import { requireChains, requireFreePort } from "./preflight.ts";

const chain = (http: string[]) => ({ id: 1, name: "mainnet", rpc: { http } });

function check(answers: Record<string, (number | "silent")[]>) {
  const messages: string[] = [];
  const pauses: number[] = [];
  return {
    messages,
    pauses,
    log: (message: string) => messages.push(message),
    wait: async (milliseconds: number) => {
      pauses.push(milliseconds);
    },
    request: async (url: string) => {
      const list = answers[url] ?? [];
      const answer = list.length > 1 ? list.shift() : list[0];
      if (answer === undefined || answer === "silent") throw new Error("connect ECONNREFUSED");
      return answer;
    },
  };
}

test("accepts a URL that serves the chain", async () => {
  const run = check({ "http://a.example/key": [1] });
  await requireChains([chain(["http://a.example/key"])], run);
  expect(run.messages).toEqual([]);
});

test("refuses a URL of another chain, naming variable and host but not the key in it", async () => {
  const run = check({ "http://a.example/key": [1], "http://b.example/key": [5] });
  const refused = requireChains([chain(["http://a.example/key", "http://b.example/key"])], run);
  await expect(refused).rejects.toThrow(
    "RPC_URL_1 entry 2 (b.example) answers for chain 5, not for chain 1. Correct RPC_URL_1.",
  );
});

test("waits longer and longer, half a minute at most, until an RPC responds", async () => {
  const run = check({ "http://a.example": [...Array(7).fill("silent"), 1] });
  await requireChains([chain(["http://a.example"])], run);
  expect(run.pauses).toEqual([1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  expect(run.messages[0]).toBe("No answer from RPC_URL_1 (a.example); trying again in 1 s.");
});

test("continues when one of several URLs responds", async () => {
  const run = check({ "http://a.example": ["silent"], "http://b.example": [1] });
  await requireChains([chain(["http://a.example", "http://b.example"])], run);
  expect(run.messages).toEqual(["No answer from RPC_URL_1 entry 1 (a.example); going on with the others."]);
});

test("rejects a port in use, and accepts it once it is free", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  await expect(requireFreePort(port)).rejects.toThrow(
    `Port ${port} is taken by another process. Free it, or choose another with PORT.`,
  );
  await new Promise((resolve) => server.close(resolve));
  await expect(requireFreePort(port)).resolves.toBeUndefined();
});

test("refuses an address that is not this machine's", async () => {
  // TEST-NET-1 (RFC 5737).
  await expect(requireFreePort(0, "192.0.2.1")).rejects.toThrow(
    "This machine has no address 192.0.2.1 (EADDRNOTAVAIL). Correct API_HOST.",
  );
  await expect(requireFreePort(0, "127.0.0.1")).resolves.toBeUndefined();
});
