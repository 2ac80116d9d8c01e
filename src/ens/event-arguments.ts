import type { AbiEvent, Hex } from "viem";

/** Decoded arguments of an event by name. */
export type Args = Readonly<Record<string, unknown>>;

const byteOrderMark = "efbbbf";

/**
 * Returns the arguments with their strings as emitted. `strings` has each one's name and its index among the
 * non-indexed arguments. Decoders drop a leading byte order mark, and the string then no longer hashes to its
 * labelhash.
 */
export function withEmittedStrings(data: Hex, args: Args, strings: readonly [string, number][]): Args {
  if (strings.length === 0 || !data.includes(byteOrderMark)) return args;
  const emitted = strings.map(([name, index]): [string, unknown] => {
    const bytes = decodeDynamicValue("string", data.slice(2 + index * 64, 66 + index * 64), data);
    // Buffer keeps the mark and replaces invalid UTF-8 by U+FFFD.
    return [
      name,
      typeof bytes === "string" ? Buffer.from(bytes.slice(2), "hex").toString("utf8") : args[name],
    ];
  });
  return { ...args, ...Object.fromEntries(emitted) };
}

/** An emitted value. Strings and bytes are hex; in a topic they are their hash. */
type Emitted = Hex | bigint | readonly bigint[];

/** Reads a log's arguments by name. Undefined unless topics and data are exactly those of the event. */
export type ArgumentReader = (
  topics: readonly (Hex | null | undefined)[],
  data: Hex,
) => Record<string, Emitted> | undefined;

/**
 * Strict reader of an event, which rejects what no contract can emit for its declaration. Libraries truncate values
 * that are too long for their type, and accept other numbers of topics. Types: uint, address, bytes, string, uint256[].
 */
export function argumentReader({ inputs }: AbiEvent): ArgumentReader {
  const inTopics = inputs.filter(({ indexed }) => indexed);
  const inData = inputs.filter(({ indexed }) => !indexed);
  return (topics, data) => {
    const args: Record<string, Emitted> = {};
    if (topics.filter((topic) => topic !== null && topic !== undefined).length !== 1 + inTopics.length) {
      return undefined;
    }
    if (data.length % 64 !== 2 || data.length < 2 + inData.length * 64) return undefined;
    for (const [index, { name = "", type }] of inTopics.entries()) {
      const word = topics[index + 1]?.slice(2) ?? "";
      const value = isDynamic(type) ? (`0x${word}` as const) : decodeStaticValue(type, word);
      if (value === undefined) return undefined;
      args[name] = value;
    }
    for (const [index, { name = "", type }] of inData.entries()) {
      const word = data.slice(2 + index * 64, 66 + index * 64);
      const value = isDynamic(type) ? decodeDynamicValue(type, word, data) : decodeStaticValue(type, word);
      if (value === undefined) return undefined;
      args[name] = value;
    }
    return args;
  };
}

const isDynamic = (type: string) => type === "string" || type === "bytes" || type.endsWith("[]");

function decodeStaticValue(type: string, word: string): Hex | bigint | undefined {
  if (word.length !== 64) return undefined;
  if (type === "address") return word.startsWith("0".repeat(24)) ? `0x${word.slice(24)}` : undefined;
  if (type.startsWith("bytes")) {
    const digits = Number(type.slice("bytes".length)) * 2;
    return /^0*$/.test(word.slice(digits)) ? `0x${word.slice(0, digits)}` : undefined;
  }
  const value = BigInt(`0x${word}`);
  return value >> BigInt(type.slice("uint".length)) === 0n ? value : undefined;
}

function decodeDynamicValue(type: string, word: string, data: Hex): Hex | bigint[] | undefined {
  const start = readSizeAt(`0x${word}`, 0);
  const length = start === undefined ? undefined : readSizeAt(data, start);
  if (start === undefined || length === undefined) return undefined;
  const digits = length * (type.endsWith("[]") ? 64 : 2);
  const values = data.slice(2 + (start + 32) * 2, 2 + (start + 32) * 2 + digits);
  if (values.length !== digits) return undefined;
  if (!type.endsWith("[]")) return `0x${values}`;
  return Array.from({ length }, (_, index) => BigInt(`0x${values.slice(index * 64, index * 64 + 64)}`));
}

// Limits offsets and lengths to 4 GB: longer data does not fit into a block.
function readSizeAt(data: Hex, byteOffset: number): number | undefined {
  const word = data.slice(2 + byteOffset * 2, 66 + byteOffset * 2);
  return word.length === 64 && word.startsWith("0".repeat(56)) ? Number(`0x${word.slice(56)}`) : undefined;
}
