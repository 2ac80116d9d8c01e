import fc from "fast-check";
import type { Hex } from "viem";
import { expect, test } from "vitest";
import { dnsLabels } from "./dns-names.ts";

const text = (wire: Hex) => dnsLabels(wire)?.map((label) => label.toString("utf8"));

test.each<[Hex, string[]]>([
  ["0x00", []],
  ["0x0365746800", ["eth"]],
  ["0x0474657374036574680000", ["test", "eth"]],
  ["0x03612e620365746800", ["a.b", "eth"]],
])("reads %s", (wire, labels) => {
  expect(text(wire)).toEqual(labels);
});

test.each<[string, Hex]>([
  ["no bytes", "0x"],
  ["no final zero", "0x03657468"],
  ["a length beyond the end", "0x0a65746800"],
])("knows no name in %s", (_, wire) => {
  expect(dnsLabels(wire)).toBeUndefined();
});

test("gives back any labels that were written", () => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 255 });
  fc.assert(
    fc.property(fc.array(label, { maxLength: 10 }), (labels) => {
      const wire = Buffer.concat([
        ...labels.map((bytes) => Buffer.from([bytes.length, ...bytes])),
        Buffer.from([0]),
      ]);
      expect(dnsLabels(`0x${wire.toString("hex")}`)).toEqual(labels.map((bytes) => Buffer.from(bytes)));
    }),
  );
});

test("never throws, whatever the bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      dnsLabels(`0x${Buffer.from(bytes).toString("hex")}`);
    }),
  );
});
