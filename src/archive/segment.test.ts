import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { recordedBlocks } from "../../test/support/archive/recorded.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { packLines, unpackLines } from "./folder.ts";
import { type ArchivedBlock, buildProof, keptHeader, parseArchivedBlock } from "./segment.ts";

const blocks = recordedBlocks(recordingOf("linea"));
type Packed = Awaited<ReturnType<typeof packLines>>;
const unpacked = ({ content, listed }: Packed) => unpackLines(content, listed.unpacked, parseArchivedBlock);

test("a segment gives back its blocks, in a tenth of their space", async () => {
  const file = await packLines(blocks);
  expect(unpacked(file)).toEqual(blocks);
  expect(file.content.length).toBeLessThan(JSON.stringify(blocks).length / 8);
});

test("of a header only known fields with hexadecimal text are kept", async () => {
  const [block] = blocks as [ArchivedBlock];
  const { header, ...rest } = block;
  // As nodes give them.
  const more = { uncles: [], withdrawals: [{ index: "0x1", amount: "0x2" }], note: "odd", constructor: "0x" };
  expect(keptHeader({ ...header, ...more, extraData: "~" })).toEqual({ ...header, extraData: undefined });
  expect(unpacked(await packLines([{ ...rest, header: { ...header, ...more } } as never]))).toEqual([block]);
});

const file = await packLines(blocks.slice(0, 3));
const as = (text: string | Buffer, length = text.length): Packed => {
  return { content: zstdCompressSync(text), listed: { hash: "", bytes: 0, unpacked: length } };
};
const [noBlock, tooLarge] = ["has another form in line 1", "cannot be decompressed to"];

test.each([
  ["is cut off", { ...file, content: file.content.subarray(0, 100) }, tooLarge],
  ["is larger than it says", as("xy", 1), tooLarge],
  ["would fill memory", as(Buffer.alloc(64_000_000), 1_000), `${tooLarge} 1000`],
  ["has a line that is no JSON", as("{"), noBlock],
  ["has other texts than hexadecimal ones", await changed({ data: "0xzz" }), noBlock],
  ["has addresses of another length", await changed({ address: "0x77" }), noBlock],
  ["is a header of lists", bomb(`"x":[${"[],".repeat(1_000_000)}0]`), noBlock],
  ["is a header of objects", bomb(`"x":[${"{},".repeat(1_000_000)}0]`), noBlock],
  ["is a header of names", bomb(keysOf(100_000)), noBlock],
  ["is a header in a header", bomb('"a":{'.repeat(200_000)), noBlock],
  [
    "has lists for logs",
    as(`{"header":{},"transactions":[],"logs":[${"[],".repeat(1_000_000)}[]]}`),
    noBlock,
  ],
  ["is lines without text", as("\n".repeat(5_000_000)), noBlock],
  ["has a line that is no block", as('{"header":{"number":"0x1"},"transactions":[],"logs":[]}'), noBlock],
  ["has a line of 32 MiB", as(`"${"x".repeat(32 * 1024 * 1024)}"`), noBlock],
])("a segment that %s is refused", (_, segment, problem) => {
  expect(() => unpacked(segment)).toThrow(problem);
});

function bomb(fields: string) {
  const text = JSON.stringify(blocks[0]?.header).slice(0, -1);
  return as(`{"header":${text},${fields}},"transactions":[],"logs":[]}`);
}

function keysOf(count: number) {
  return Array.from({ length: count }, (_, i) => `"a${i}":"0x"`).join();
}

function changed({ address, data }: { address?: string; data?: string }) {
  const block = blocks.find(({ logs }) => logs.length > 0) as ArchivedBlock;
  const [log] = block.logs as [ArchivedBlock["logs"][number]];
  return packLines([
    { ...block, logs: [{ ...log, address: address ?? log.address, data: data ?? log.data }] },
  ]);
}

const isLarge = ({ transactions, logs }: ArchivedBlock) => logs.length > 3 && transactions.length > 1;
const whole = blocks.find(isLarge)!;
const [first, second, ...rest] = whole.logs as [ArchivedBlock["logs"][number], ArchivedBlock["logs"][number]];
const last = whole.transactions.at(-1)!;
const withFirst = (change: Partial<typeof first>) => ({
  ...whole,
  logs: [{ ...first, ...change }, second, ...rest],
});

function withNextIndex(log: typeof first) {
  return { ...log, logIndex: `0x${(Number(log.logIndex) + 1).toString(16)}` };
}

test.each([
  ["a log is missing", { ...whole, logs: [second, ...rest] }, "do not have the root"],
  ["the last log is missing", { ...whole, logs: whole.logs.slice(0, -1) }, "do not have the root"],
  ["a log has other data", withFirst({ data: "0x00" }), "do not have the root"],
  ["two logs changed places", { ...whole, logs: [second, first, ...rest] }, "out of order"],
  [
    "a log is of another transaction",
    withFirst({ transactionIndex: last.transactionIndex, transactionHash: last.hash }),
    "do not have the root",
  ],
  ["logs have other indexes", { ...whole, logs: whole.logs.map(withNextIndex) }, "do not have the root"],
  [
    "a log is of another contract",
    withFirst({ address: `0x${"77".repeat(20)}` }),
    "not in the block's bloom",
  ],
])("that %s is found", (_, block, problem) => {
  expect(buildProof(block as ArchivedBlock)).toEqual({ problem: expect.stringContaining(problem) });
});

test("a block with another header than its hash is of is proven by its bloom alone", () => {
  const header = { ...whole.header, timestamp: "0x1" };
  expect(buildProof({ ...whole, header, receipts: undefined })).toEqual({ proof: "bloom" });
  expect(buildProof({ ...whole, receipts: undefined })).toEqual({ proof: "header" });
});
