import { afterAll, expect, test } from "vitest";
import type { Change } from "../../devnet/rpc/liar.ts";
import { openChangedChain } from "../../test/support/ponder/changed-chain.ts";

// One seed of the table that `bench/faults.ts --changes` makes.
const chain = await openChangedChain();
afterAll(() => chain.close());

const changed = (kind: Change["kind"], of: Change["of"] = "logs and receipts"): Change => ({
  kind,
  rate: 0.1,
  of,
});
const [alone, besideHonest, archive] = [
  { liars: 1, honest: 0 },
  { liars: 1, honest: 1 },
  { liars: 0, honest: 1 },
];

test.each([
  [changed("data"), besideHonest, /^(equal|unverified)$/],
  [changed("data"), alone, /^refused$/],
  [changed("timestamp"), alone, /^refused$/],
  [changed("call", "logs"), alone, /^believed$/],
  [changed("call", "logs"), besideHonest, /^unverified$/],
  [changed("timestamp"), archive, /^refused$/],
  [changed("data"), archive, /^believed$/],
] as const)("%o by %o is %s", async (change, urls, outcome) => {
  expect(await chain.run(change, 1, urls)).toMatch(outcome);
});
