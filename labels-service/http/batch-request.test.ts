import fc from "fast-check";
import { bytesToHex } from "viem";
import { describe, expect, test } from "vitest";
import { digestsOf } from "../../test/support/digests.ts";
import { parseBatchBody } from "./batch-request.ts";

const eth = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const parse = (text: string) => parseBatchBody(Buffer.from(text));

describe("a batch's body", () => {
  test.each([
    `{"labelhashes":["${eth}","${eth}"]}`,
    `{"labelhashes": ["${eth}", "${eth}"]}`,
    `{"label_set_id":"[\\"0x","labelhashes":["${eth}","${eth}"],"label_set_version":0}`,
  ])("is read as bytes: %s", (text) => {
    expect(parse(text).digests).toEqual(digestsOf(["eth", "eth"]));
    expect({ ...(parse(text).json as object), labelhashes: [] }).toEqual({
      ...JSON.parse(text),
      labelhashes: [],
    });
  });

  test.each([
    '{"labelhashes":[]}',
    `{"labelhashes":["${eth}","${eth.slice(2)}"]}`,
    `{"labelhashes":["${eth}",null]}`,
    `{"labelhashes":["${eth.toUpperCase()}"]}`,
    `{"labelhashes":["${eth}","0x\\u0034f5b"]}`,
    `{"labelhashes":"${eth}"}`,
    `{"other":["${eth}"],"labelhashes":[]}`,
    `{"deep":{"labelhashes":["${eth}"]},"labelhashes":["${eth}"]}`,
    `{"labelhashes":["${eth}"],"labelhashes":["x"]}`,
    `["${eth}"]`,
    `[["${eth}"]]`,
    `{"labelhashes":["${eth}"`,
    `{"labelhashes":["${eth}",]}`,
    `{"labelhashes":["${eth}"]`,
    "",
  ])("is read as JSON only: %s", (text) => {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {}
    expect(parse(text)).toEqual({ json, digests: undefined });
  });

  test("has the same meaning either way", () => {
    const labelhash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytesToHex(bytes));
    const item = fc.oneof({ weight: 20, arbitrary: labelhash }, fc.string());
    const body = fc.record(
      { label_set_id: fc.string(), labelhashes: fc.array(item), other: fc.array(labelhash) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(body, fc.constantFrom(undefined, 1), (value, indent) => {
        const { json, digests } = parse(JSON.stringify(value, null, indent));
        const given = value.labelhashes ?? [];
        const read = digests === undefined ? json : { ...(json as object), labelhashes: given };
        expect(read).toEqual(value);
        if (digests) expect(bytesToHex(digests)).toBe(`0x${given.map((text) => text.slice(2)).join("")}`);
      }),
    );
  });

  test("of any bytes throws nothing", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (before, after) => {
        parseBatchBody(Buffer.concat([before, Buffer.from(`["${eth}"`), after]));
      }),
    );
  });
});
