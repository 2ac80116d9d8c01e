import fc from "fast-check";
import type { Hex } from "viem";
import { expect, test } from "vitest";
import { dnsTextRecord } from "./dns-records.ts";
import { dnsLabels } from "./names.ts";

const text = (wire: Hex) => dnsLabels(wire)?.map((label) => label.toString("utf8"));

test.each<[Hex, string[]]>([
  ["0x00", []],
  ["0x0365746800", ["eth"]],
  ["0x0474657374036574680000", ["test", "eth"]],
  ["0x03612e620365746800", ["a.b", "eth"]],
])("reads %s", (wire, labels) => {
  expect(text(wire)).toEqual(labels);
});

test("returns any labels that were written", () => {
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

test("reads any bytes of a name without throwing", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      dnsLabels(`0x${Buffer.from(bytes).toString("hex")}`);
    }),
  );
});

const hex = (...parts: (string | number[])[]): Hex =>
  `0x${Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part)))).toString("hex")}`;

// avatar.ens in wire format
const name = hex([6], "avatar", [3], "ens", [0]);
const fixed = (type: number, length: number) => [0, type, 0, 1, 0, 0, 14, 16, 0, length];
const txt = (...strings: string[]) => {
  const data = strings.flatMap((value) => [value.length, ...Buffer.from(value)]);
  return [6, ...Buffer.from("avatar"), 3, ...Buffer.from("ens"), 0, ...fixed(16, data.length), ...data];
};

test("takes the first string of the first TXT record", () => {
  const record = hex(txt("first", "second"), txt("third"));
  expect(dnsTextRecord({ name, resource: 16, record })).toEqual({ key: "avatar", value: "first" });
});

test("skips records of other types", () => {
  const address = [0, ...fixed(1, 4), 127, 0, 0, 1];
  expect(dnsTextRecord({ name, resource: 16, record: hex(address, txt("value")) })).toEqual({
    key: "avatar",
    value: "value",
  });
  expect(dnsTextRecord({ name, resource: 16, record: hex(address) })).toEqual({
    key: "avatar",
    value: undefined,
  });
});

test("an event without record is a deletion", () => {
  expect(dnsTextRecord({ name, resource: 16 })).toEqual({ key: "avatar", value: undefined });
});

test.each<[string, { name: Hex; resource: number; record?: Hex }]>([
  ["another resource", { name, resource: 1, record: hex(txt("value")) }],
  ["a name that does not end in .ens", { name: hex([6], "avatar", [3], "eth", [0]), resource: 16 }],
  ["a malformed name", { name: "0x06", resource: 16 }],
  ["a cut record", { name, resource: 16, record: hex(txt("value").slice(0, -2)) }],
])("is not a text record: %s", (_, event) => {
  expect(dnsTextRecord(event)).toBeUndefined();
});

test("reads any bytes of a record without throwing", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      dnsTextRecord({ name, resource: 16, record: `0x${Buffer.from(bytes).toString("hex")}` });
    }),
  );
});
