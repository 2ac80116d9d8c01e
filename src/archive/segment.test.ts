import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { recordedBlocks } from "../../test/support/archive/recorded.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { packLines, unpackLines } from "./folder.ts";
import { proofOf } from "./proofs.ts";
import { type ArchivedBlock, blockOf, keptHeader, linesOf } from "./segment.ts";

const blocks = recordedBlocks(recordingOf("linea"));
const packed = (some: readonly ArchivedBlock[]) => packLines(linesOf(some));
type Packed = ReturnType<typeof packed>;
const unpacked = ({ content, listed }: Packed) => unpackLines(content, listed.unpacked, blockOf);

test("a segment gives back its blocks, in a tenth of their space", () => {
  const file = packed(blocks);
  expect(unpacked(file)).toEqual(blocks);
  expect(file.content.length).toBeLessThan(JSON.stringify(blocks).length / 8);
});

test("of a header only known fields with hexadecimal text are kept", () => {
  const [block] = blocks as [ArchivedBlock];
  const { header, ...rest } = block;
  // As nodes give them.
  const more = { uncles: [], withdrawals: [{ index: "0x1", amount: "0x2" }], note: "odd", constructor: "0x" };
  expect(keptHeader({ ...header, ...more, extraData: "~" })).toEqual({ ...header, extraData: undefined });
  expect(unpacked(packed([{ ...rest, header: { ...header, ...more } } as never]))).toEqual([block]);
});

const file = packed(blocks.slice(0, 3));
const as = (text: string | Buffer, length = text.length): Packed => {
  return { content: zstdCompressSync(text), listed: { hash: "", bytes: 0, unpacked: length } };
};
const [noBlock, tooLarge] = ["has another form in line 1", "cannot be decompressed to"];

test.each([
  ["is cut off", { ...file, content: file.content.subarray(0, 100) }, tooLarge],
  ["is larger than it says", as("xy", 1), tooLarge],
  ["would fill memory", as(Buffer.alloc(64_000_000), 1_000), `${tooLarge} 1000`],
  ["has a line that is no JSON", as("{"), noBlock],
  ["has other texts than hexadecimal ones", changed({ data: "0xzz" }), noBlock],
  ["has addresses of another length", changed({ address: "0x77" }), noBlock],
  ["is a header of lists", bomb(`"x":[${"[],".repeat(1_000_000)}0]`), noBlock],
  ["is a header of objects", bomb(`"x":[${"{},".repeat(1_000_000)}0]`), noBlock],
  ["is a header of names", bomb(keysOf(100_000)), noBlock],
  ["is a header in a header", bomb('"a":{'.repeat(200_000)), noBlock],
  ["has lists for logs", as(`[{},[],[${"[],".repeat(1_000_000)}[]]]`), noBlock],
  ["is lines without text", as("\n".repeat(5_000_000)), noBlock],
  ["has a line that is no block", as('[{"number":"0x1"},[],[]]'), noBlock],
  ["has a line of 32 MiB", as(`"${"x".repeat(32 * 1024 * 1024)}"`), noBlock],
])("a segment that %s is refused", (_, segment, problem) => {
  expect(() => unpacked(segment)).toThrow(problem);
});

function bomb(fields: string) {
  const text = JSON.stringify(blocks[0]?.header).slice(0, -1);
  return as(`[${text},${fields}},[],[]]`);
}

function keysOf(count: number) {
  return Array.from({ length: count }, (_, i) => `"a${i}":"0x"`).join();
}

function changed({ address, data }: { address?: string; data?: string }) {
  const block = blocks.find(({ logs }) => logs.length > 0) as ArchivedBlock;
  const [[index, sender, of, topics, bytes]] = block.logs as [ArchivedBlock["logs"][number]];
  return packed([{ ...block, logs: [[index, sender, address ?? of, topics, data ?? bytes]] }]);
}

const [whole] = blocks.filter(({ logs }) => logs.length > 3 && logs.at(-1)?.[1] !== 0) as [ArchivedBlock];
const [log] = whole.logs as [ArchivedBlock["logs"][number]];

test.each([
  ["a log is missing", { ...whole, logs: whole.logs.slice(1) }, "do not have the root"],
  [
    "a log is missing and its receipt says so",
    {
      ...whole,
      logs: whole.logs.slice(1),
      receipts: whole.receipts?.map((one, i) => (i === log[1] ? [one[0], one[1], one[2], one[3] - 1] : one)),
    },
    "do not have the root",
  ],
  [
    "a log has other data",
    { ...whole, logs: [[...log.slice(0, 4), "0x00"], ...whole.logs.slice(1)] },
    "do not have the root",
  ],
  [
    "two logs changed places",
    { ...whole, logs: [whole.logs[1], log, ...whole.logs.slice(2)] },
    "out of order",
  ],
  [
    "a log is of another transaction",
    {
      ...whole,
      logs: [
        ...whole.logs.slice(0, -1),
        [...whole.logs.at(-1)!.slice(0, 1), 0, ...whole.logs.at(-1)!.slice(2)],
      ],
    },
    "do not have the root",
  ],
  [
    "logs have other indexes",
    { ...whole, logs: whole.logs.map(([index, ...rest]) => [index + 1, ...rest]) },
    "do not have the root",
  ],
  [
    "a log is of another contract",
    { ...whole, logs: [[log[0], log[1], `0x${"77".repeat(20)}`, log[3], log[4]], ...whole.logs.slice(1)] },
    "not in the block's bloom",
  ],
])("that %s is found", (_, block, problem) => {
  expect(proofOf(block as ArchivedBlock)).toEqual({ problem: expect.stringContaining(problem) });
});

test("a block with another header than its hash is of is proven by its bloom alone", () => {
  const header = { ...whole.header, timestamp: "0x1" };
  expect(proofOf({ ...whole, header, receipts: undefined })).toEqual({ proof: "bloom" });
  expect(proofOf({ ...whole, receipts: undefined })).toEqual({ proof: "header" });
});
