import { encodeAbiParameters, type Hex, parseAbi } from "viem";
import { describe, expect, test } from "vitest";
import { argumentReader, withEmittedStrings } from "./event-arguments.ts";

const bytesOf = (...values: Hex[]) =>
  encodeAbiParameters([...values.map(() => ({ type: "bytes" }) as const)], values as never);

const strings: [string, number][] = [
  ["key", 0],
  ["value", 1],
];

// Bad UTF-8 becomes the replacement character.
test.each<[string, Hex, string[]]>([
  ["keep a leading byte order mark", bytesOf("0xefbbbf6b", "0xefbbbfff"), ["\ufeffk", "\ufeff\ufffd"]],
  ["are the decoder's if there can be no mark", bytesOf("0x6b", "0x76"), ["?", "?"]],
  ["are the decoder's if the data is too short", "0xefbbbf", ["?", "?"]],
])("strings %s", (_, data, [key, value]) => {
  expect(withEmittedStrings(data, { key: "?", value: "?" }, strings)).toEqual({ key, value });
});

describe("strict reading", () => {
  const abi = parseAbi([
    "event Registered(uint256 indexed id, address indexed sender, string label, uint64 expiry)",
    "event Batch(uint256[] ids, bytes4 interfaceId)",
  ]);
  const [registered, batch] = abi;
  const word = (digits: string) => digits.padStart(64, "0");
  const topics: Hex[] = [`0x${"ee".repeat(32)}`, `0x${word("7")}`, `0x${word("a1".repeat(20))}`];
  const data = (...words: string[]): Hex => `0x${words.join("")}`;
  const eth = `657468${"0".repeat(58)}`;
  const sound = data(word("40"), word("9"), word("3"), eth);

  test("gives strings as bytes, numbers and addresses", () => {
    expect(argumentReader(registered)([...topics, null as unknown as Hex], sound)).toEqual({
      id: 7n,
      sender: `0x${"a1".repeat(20)}`,
      label: "0x657468",
      expiry: 9n,
    });
    const listed = data(word("40"), `01ffc9a7${"0".repeat(56)}`, word("2"), word("5"), word("6"));
    expect(argumentReader(batch)([topics[0]], listed)).toEqual({ ids: [5n, 6n], interfaceId: "0x01ffc9a7" });
  });

  test.each<[string, Hex[], Hex]>([
    ["no topics", [], sound],
    ["a topic too few", topics.slice(0, 2), sound],
    ["a topic too many", [...topics, `0x${word("1")}`], sound],
    [
      "an address with dirty upper bytes",
      [...topics.slice(0, 2), `0x01${"0".repeat(22)}${"a1".repeat(20)}`],
      sound,
    ],
    ["a topic that is too short", [...topics.slice(0, 2), "0x12"], sound],
    ["a number beyond its type", topics, data(word("40"), word(`1${"0".repeat(16)}`), word("3"), eth)],
    ["cut data", topics, sound.slice(0, -64) as Hex],
    ["data that are not whole words", topics, sound.slice(0, -2) as Hex],
    ["no data", topics, "0x"],
    ["an offset near 2^255", topics, data(`7${"f".repeat(63)}`, word("9"), word("3"), eth)],
    ["an offset past the end", topics, data(word("400"), word("9"), word("3"), eth)],
    ["a length past the end", topics, data(word("40"), word("9"), word("ffffffff"), eth)],
  ])("refuses %s", (_, given, bytes) => {
    expect(argumentReader(registered)(given, bytes)).toBeUndefined();
  });

  test("refuses a list that is longer than the data", () => {
    expect(
      argumentReader(batch)([topics[0]], data(word("40"), word("0"), word("9"), word("5"))),
    ).toBeUndefined();
  });
});
