import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { folderForEach } from "../test/support/folders.ts";
import { readAddresses, readLabels, readRecording } from "./recording.ts";

const folder = folderForEach("recording-");
const write = (name: string, content: string | Buffer) => writeFileSync(join(folder(), name), content);

test("files may be plain, gzipped or compressed with Brotli", () => {
  write("meta.json", '{"chainId":5,"more":1}');
  write("blocks.jsonl", '{"number":"0x1"}\n{"number":"0x2"}\n');
  write("transactions.jsonl.gz", gzipSync('{"hash":"0x01"}\n'));
  write("receipts.jsonl.br", brotliCompressSync(Buffer.from('{"logs":[]}')));
  expect(readRecording(folder())).toEqual({
    chainId: 5,
    blocks: [{ number: "0x1" }, { number: "0x2" }],
    transactions: [{ hash: "0x01" }],
    receipts: [{ logs: [] }],
    calls: [],
    traces: [],
  });
});

test("a folder without blocks is refused by name", () => {
  write("meta.json", '{"chainId":5}');
  expect(() => readRecording(folder())).toThrow(`The recording ${folder()} has no blocks.`);
});

test("a folder without a chain id is refused", () => {
  write("meta.json", "{}");
  expect(() => readRecording(folder())).toThrow("chainId");
});

test("labels are optional and keep every character", () => {
  expect(readLabels(folder())).toEqual([]);
  write("labels.json", '["eth","\\u0000\\u0000"," leading"]');
  expect(readLabels(folder())).toEqual(["eth", "\0\0", " leading"]);
});

test("addresses are read by contract name", () => {
  write("addresses.json", `{"contracts":{"NameWrapper":"0x${"ab".repeat(20)}"}}`);
  expect(readAddresses(folder())).toEqual({ NameWrapper: `0x${"ab".repeat(20)}` });
});
