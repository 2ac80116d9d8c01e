import { describe, expect, test } from "vitest";
import { collect } from "../../test/support/labels/collect.ts";
import { ensrainbow } from "./ensrainbow.ts";

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ""), "hex");
const framed = (...fields: Buffer[]) => {
  const message = Buffer.concat(fields);
  return Buffer.concat([
    Buffer.from(
      message.length < 128 ? [message.length] : [(message.length & 127) | 128, message.length >> 7],
    ),
    message,
  ]);
};

// Format identifier, file format version 1, label set id, label set version 0.
const header = hex("1e 0a0a656e737261696e626f77 1001 1a0c656e732d746573742d656e76 2000");
const ethHash = hex("4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0");
const eth = Buffer.concat([hex("27 0a20"), ethHash, hex("1203 657468")]);
const emptyHash = hex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
const empty = Buffer.concat([hex("22 0a20"), emptyHash]);

const parse = (...pieces: Buffer[]) => collect(ensrainbow.createParser, pieces);

describe(".ensrainbow file", () => {
  test.each([
    ["1e 0a0a656e737261696e626f77 1001 1a0c656e732d746573742d656e76 2000", 0],
    ["1f 0a0a656e737261696e626f77 1001 1a0c656e732d746573742d656e76 20ac02", 300],
    // Version 0 may be omitted.
    ["1c 0a0a656e737261696e626f77 1001 1a0c656e732d746573742d656e76", 0],
  ])("has a header with the label set's id and version: %s", (header, labelSetVersion) => {
    expect(ensrainbow.labelSetOf?.(hex(header))).toEqual({ labelSetId: "ens-test-env", labelSetVersion });
  });

  test.each([
    ["another identifier", "0e 0a0a656e737261696e626f78 1001", "This is not an .ensrainbow file."],
    [
      "another format version",
      "0e 0a0a656e737261696e626f77 1002",
      "The file's format version is 2; expected 1.",
    ],
    ["a malformed id", "12 0a0a656e737261696e626f77 1001 1a024131", "The file's label set id is malformed."],
    ["no whole header", "1e 0a0a656e", "The file ends within its header."],
    ["a broken header", "03 0a0a65", "The file's header is broken."],
    ["nothing", "", "This is not an .ensrainbow file."],
  ])("is refused with %s", (_, text, message) => {
    expect(() => ensrainbow.labelSetOf?.(hex(text))).toThrow(message);
  });

  test("has a record of labelhash and label for each label; a missing label is the empty one", async () => {
    const { labels, given, invalid } = await parse(Buffer.concat([header, eth, empty]));
    expect({ labels, given, invalid }).toEqual({
      labels: ["eth", ""],
      given: [ethHash.toString("hex"), emptyHash.toString("hex")],
      invalid: [],
    });
  });

  test("may contain labels of more than 64 kB", async () => {
    const long = Buffer.alloc(120_000, "x");
    const record = Buffer.concat([hex("e6a907 0a20"), ethHash, hex("12 c0a907"), long]);
    expect((await parse(Buffer.concat([header, record, eth]))).labels).toEqual([long.toString(), "eth"]);
  });

  const swapped = framed(hex("1203 657468 0a20"), ethHash, hex("1805"));
  const short = framed(hex("0a1f"), ethHash.subarray(1), hex("1203 657468"));
  const broken = framed(hex("0a20"), ethHash, hex("120a 657468"));
  test.each<[string, Buffer[], string[], string[]]>([
    ["fields in another order, and unknown ones", [swapped], ["eth"], []],
    [
      "a hash of the wrong length, and goes on after it",
      [short, eth],
      ["eth"],
      ["record 1 at byte 31: the labelhash has 31 bytes; expected 32"],
    ],
    [
      "a broken record, and goes on after it",
      [broken, eth],
      ["eth"],
      ["record 1 at byte 31: the record is broken"],
    ],
    ...[1, 10, 39].map((missing): [string, Buffer[], string[], string[]] => [
      `an end that lacks ${missing} bytes`,
      [eth, eth.subarray(0, eth.length - missing)],
      ["eth"],
      ["record 2 at byte 71: the file ends within this record"],
    ]),
    [
      "an impossible length, and stops there",
      [eth, hex("ffffffffff01"), eth],
      ["eth"],
      ["record 2 at byte 71: its length is broken, so nothing after it can be read"],
    ],
  ])("knows %s", async (_, records, labels, invalid) => {
    expect(await parse(header, ...records)).toMatchObject({ labels, invalid });
  });
});
