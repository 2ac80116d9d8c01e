import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { readRecording } from "../../devnet/recording.ts";
import { lies } from "../../devnet/rpc/liar.ts";
import {
  computeBloom,
  differingBlocks,
  logsProblem,
  matches,
  mayBeCutOff,
  mayContain,
  parseLogsFilter,
  type RpcLog,
} from "./log-answers.ts";

const recordings = ["a", "a-base", "a-linea"].map((name) => {
  const { blocks, receipts } = readRecording(
    fileURLToPath(new URL(`../../devnet/recording/${name}`, import.meta.url)),
  );
  const logs = receipts.flatMap((receipt) => receipt["logs"] as RpcLog[]);
  return { name, blocks, logs, byBlock: Map.groupBy(logs, ({ blockNumber }) => blockNumber) };
});
const [{ logs: recorded }] = recordings as [(typeof recordings)[number]];
const all = { fromBlock: "0x0", toBlock: "0xffff" };
const query = (filter: Parameters<typeof parseLogsFilter>[0]) => parseLogsFilter(filter)!;

test.each(recordings)("accepts all logs of recording $name, and those of each block", ({ logs, byBlock }) => {
  expect(logsProblem(logs, query(all))).toBeUndefined();
  for (const ofBlock of byBlock.values())
    expect(logsProblem(ofBlock, query({ blockHash: ofBlock[0]!.blockHash }))).toBeUndefined();
});

test("accepts what a filter of contracts and events selects, in any case", () => {
  const { address, topics } = recorded[0]!;
  const filter = {
    ...all,
    address: [address.toUpperCase().replace("0X", "0x")],
    topics: [[topics[0]!], null],
  };
  const selected = recorded.filter((log) => log.address === address && log.topics[0] === topics[0]);
  expect(selected.length).toBeGreaterThan(1);
  expect(logsProblem(selected, query(filter))).toBeUndefined();
  expect(logsProblem(recorded, query(filter))).toMatch(/does not match the filter/);
});

const [first] = recorded as [RpcLog];
test.each([
  ["no list", null, "the answer is not a list"],
  ["an error object", { message: "limit" }, "the answer is not a list"],
  ["null", [null], "entry 0 is not a log"],
  ["an address cut off", [{ ...first, address: "0x12" }], "entry 0 is not a log"],
  ["half a byte of data", [{ ...first, data: "0x1" }], "entry 0 is not a log"],
  ["no topics", [{ ...first, topics: undefined }], "entry 0 is not a log"],
  ["a log that a reorganisation removed", [{ ...first, removed: true }], "entry 0 is not a log"],
  ["no number", [{ ...first, logIndex: "0xzz" }], "block .* comes after block -1"],
])("refuses %s", (_, answer, problem) => {
  expect(logsProblem(answer, query(all))).toMatch(new RegExp(problem));
});

test.each([
  ["duplicate", /repeated or out of order/],
  ["disorder", /out of order|comes after/],
  ["outside", /0x7fffffff was not asked for/],
] as const)("refuses the lie %s", (kind, problem) => {
  expect(logsProblem(lies[kind](recorded, { random: createRandom(3), limit: 5 }), query(all))).toMatch(
    problem,
  );
});

test("refuses logs of another block than the one asked for by hash, and one block with two hashes", () => {
  const other = recorded.find(({ blockHash }) => blockHash !== first.blockHash)!;
  expect(logsProblem([other], query({ blockHash: first.blockHash }))).toMatch(/not asked for/);
  const ofBlock = [...recordings[0]!.byBlock.values()].find((logs) => logs.length > 1)!;
  const foreign = { ...ofBlock[1]!, blockHash: `0x${"7".repeat(64)}` };
  expect(logsProblem([ofBlock[0], foreign], query(all))).toMatch(/two block hashes/);
});

test("has no query for a range between tags; an anonymous log does not match a filter of events", () => {
  expect(parseLogsFilter({ fromBlock: "latest", toBlock: "latest" })).toBeUndefined();
  expect(matches({ ...first, topics: [] }, query({ ...all, topics: [first.topics[0]!] }))).toBe(false);
});

// Limits of hosted providers: 1,000 to 20,000 logs, depending on the provider and the plan.
test("logs may be cut off where their number is a limit", () => {
  const counts = [0, 1, 999, 1_000, 1_001, 2_000, 5_000, 10_000, 10_500, 20_000, 50_000];
  expect(counts.filter(mayBeCutOff)).toEqual([1_000, 2_000, 5_000, 10_000, 20_000, 50_000]);
});

test.each(recordings)("the blooms of recording $name are those of its headers", ({ blocks, byBlock }) => {
  for (const block of blocks) {
    const logs = byBlock.get(block["number"] as string) ?? [];
    const bloom = block["logsBloom"] as string;
    expect(computeBloom(logs)).toBe(bloom);
    for (const { address, topics } of logs)
      expect([address, ...topics].every((item) => mayContain(bloom, item))).toBe(true);
  }
  expect(mayContain(computeBloom([]), first.address)).toBe(false);
});

test("names the blocks in which two answers differ", () => {
  const changed = recorded.map((log, i) => (i === 7 ? { ...log, data: `${log.data}00` } : log)).slice(1);
  const expected = [...new Set([Number(first.blockNumber), Number(recorded[7]!.blockNumber)])];
  expect(differingBlocks(recorded, changed)).toEqual(expected);
  expect(differingBlocks(recorded, recorded)).toEqual([]);
});
