import type { Hex } from "viem";
import { expect, test } from "vitest";
import { createScopes, savedInMemory } from "../../test/support/scope.ts";
import { labelhash } from "../ens/labels.ts";
import { reverseLabel } from "./reverse-labels.ts";

const account = "5c".repeat(20);
const hash = labelhash(account);
const owner: Hex = `0x${"0d".repeat(20)}`;

/** Reads the label in a transaction whose trace has the account, with what was saved before. */
function createReads(saved = savedInMemory()) {
  const asked: string[] = [];
  const { next, anomalies } = createScopes();
  const nodes = async (_: number, { method }: { method: string }) => {
    asked.push(method);
    return method === "debug_traceTransaction" ? { to: `0x${account}` } : undefined;
  };
  const read = (of = hash) => reverseLabel(next({ nodes, saved }), of, owner);
  return { read, asked, anomalies };
}

test("a label that was found in a transaction is kept, and neither receipt nor trace is asked for again", async () => {
  const saved = savedInMemory();
  const first = createReads(saved);
  expect(await first.read()).toBe(account);
  expect(first.asked).toEqual(["eth_getTransactionReceipt", "debug_traceTransaction"]);
  const second = createReads(saved);
  expect(await second.read()).toBe(account);
  expect([second.asked, second.anomalies]).toEqual([[], []]);
});

test("what an archive says is a label, and is not, is not used", async () => {
  const { read, asked } = createReads({ ...savedInMemory(), find: async () => "5d".repeat(20) });
  expect(await read()).toBe(account);
  expect(asked).toHaveLength(2);
});

test("nothing is kept of a transaction without the account", async () => {
  const saved = savedInMemory();
  for (const { read, asked } of [createReads(saved), createReads(saved)]) {
    expect(await read(labelhash("5e".repeat(20)))).toBeUndefined();
    expect(asked).toHaveLength(2);
  }
});
