import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { recordedBlocks } from "../../test/support/archive/recorded.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { proofOf } from "./proofs.ts";
import { type ArchivedBlock, decodeSegment, encodeSegment, keptHeader, linesOf } from "./segment.ts";

const blocks = recordedBlocks(recordingOf("linea"));

test("a segment gives back its blocks, in a tenth of their space", () => {
  const { bytes, size } = encodeSegment(blocks);
  expect(decodeSegment(bytes, size)).toEqual(blocks);
  expect(bytes.length).toBeLessThan(JSON.stringify(blocks).length / 8);
});

test("of a header only known fields with hexadecimal text are kept", () => {
  const [block] = blocks as [ArchivedBlock];
  const { header, ...rest } = block;
  // As nodes give them, and as archives of former releases have them.
  const more = { uncles: [], withdrawals: [{ index: "0x1", amount: "0x2" }], note: "odd", constructor: "0x" };
  expect(keptHeader({ ...header, ...more, extraData: "~" })).toEqual({ ...header, extraData: undefined });
  const { bytes, size } = encodeSegment([{ ...rest, header: { ...header, ...more } } as never]);
  expect(decodeSegment(bytes, size)).toEqual([block]);
});

const packed = (words: number, text: string) => {
  const counts = Buffer.alloc(8);
  counts.writeUInt32LE(words, 0);
  const bytes = Buffer.concat([counts, Buffer.alloc(words * 32, 7), Buffer.from(text)]);
  return { bytes: zstdCompressSync(bytes), size: bytes.length };
};
const { bytes, size } = encodeSegment(blocks.slice(0, 3));
const flipped = Buffer.from(bytes);
flipped[20] = (flipped[20] ?? 0) ^ 1;

test.each([
  ["is cut off", { bytes: bytes.subarray(0, 100), size }, "cannot be decompressed"],
  ["is larger than it says", { bytes, size: size - 1 }, "cannot be decompressed"],
  ["would fill memory", { bytes: zstdCompressSync(Buffer.alloc(64_000_000)), size: 1_000 }, "to 1000 bytes"],
  ["ends within its words", cutWords(), "within its words"],
  ["names a word that is not there", packed(1, "#5;"), "names no word"],
  ["has a line that is no JSON", packed(0, "{"), "line 1 is not JSON"],
  ["has other texts than hexadecimal ones", changed({ data: "0xzz" }), "line 1 is not a block"],
  ["has addresses of another length", changed({ address: "0x77" }), "line 1 is not a block"],
  ["is a header of lists", bomb(`"x":[${"[],".repeat(1_000_000)}0]`), "line 1 is not a block"],
  ["is a header of objects", bomb(`"x":[${"{},".repeat(1_000_000)}0]`), "line 1 is not a block"],
  ["is a header of names", bomb(keysOf(100_000)), "line 1 is not a block"],
  ["is a header in a header", bomb('"a":{'.repeat(200_000)), "line 1 is not a block"],
  ["has lists for logs", packed(0, `[{},[],[${"[],".repeat(1_000_000)}[]]]`), "line 1 is not a block"],
  ["is lines without text", packed(0, "\n".repeat(5_000_000)), "line 1 is not JSON"],
  ["has a line that is no block", packed(0, '[{"number":"0x1"},[],[]]'), "line 1 is not a block"],
])("a segment that %s is refused", (_, segment, problem) => {
  expect(() => decodeSegment(segment.bytes, segment.size)).toThrow(problem);
});

function bomb(fields: string) {
  const text = JSON.stringify(blocks[0]?.header).slice(0, -1);
  return packed(0, `[${text},${fields}},[],[]]`);
}

function keysOf(count: number) {
  return Array.from({ length: count }, (_, i) => `"a${i}":"0x"`).join();
}

function changed({ address, data }: { address?: string; data?: string }) {
  const block = blocks.find(({ logs }) => logs.length > 0) as ArchivedBlock;
  const [[index, place, of, topics, bytes]] = block.logs as [ArchivedBlock["logs"][number]];
  return encodeSegment([{ ...block, logs: [[index, place, address ?? of, topics, data ?? bytes]] }]);
}

function cutWords() {
  const counts = Buffer.alloc(8);
  counts.writeUInt32LE(0xffff_ffff, 0);
  return { bytes: zstdCompressSync(counts), size: 8 };
}

test("a text of nothing but places of words cannot grow beyond a limit", () => {
  const { bytes, size } = packed(1, "#0;".repeat(1_100_000));
  expect(() => decodeSegment(bytes, size)).toThrow("names no word");
});

test("lines are read one by one, none longer than allowed", () => {
  expect([...linesOf("a\nbc\n\nd", 2)]).toEqual(["a", "bc", "", "d"]);
  expect(() => [...linesOf("a\nbcd", 2)]).toThrow("a line has more than 2 characters");
});

test("headers and receipts of the recording prove themselves", () => {
  expect(new Set(blocks.map((block) => JSON.stringify(proofOf(block))))).toEqual(
    new Set(['{"proof":"receipts"}']),
  );
});

const [whole] = blocks.filter(({ logs }) => logs.length > 3) as [ArchivedBlock];
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
