import { encodeAbiParameters, type Hex, parseAbi, stringToHex } from "viem";
import { describe, expect, test } from "vitest";
import { argumentReader } from "./event-arguments.ts";
import { emittedString } from "./event-strings.ts";

const bytesOf = (...values: Hex[]) =>
  encodeAbiParameters([...values.map(() => ({ type: "bytes" }) as const)], values as never);

test("keeps a leading byte order mark, which decoders drop", () => {
  const data = bytesOf(stringToHex("\ufeffbom"));
  expect(emittedString(data, 0, "bom")).toBe("\ufeffbom");
});

test("reads the argument at its position", () => {
  const data = bytesOf(stringToHex("key"), stringToHex("\ufeffvalue"));
  expect(emittedString(data, 0, "key")).toBe("key");
  expect(emittedString(data, 1, "value")).toBe("\ufeffvalue");
});

test("turns bad UTF-8 into the replacement character", () => {
  expect(emittedString(bytesOf("0xefbbbfff"), 0, "?")).toBe("\ufeff\ufffd");
});

test("trusts the decoder if there can be no mark, and if the data is too short", () => {
  expect(emittedString(bytesOf(stringToHex("plain")), 0, "plain")).toBe("plain");
  expect(emittedString("0xefbbbf", 0, "short")).toBe("short");
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
