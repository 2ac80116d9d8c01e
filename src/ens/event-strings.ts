import type { Hex } from "viem";

const byteOrderMark = "efbbbf";

/** Decoded arguments of an event by name. */
export type Args = Readonly<Record<string, unknown>>;

/** A string argument: its name, and its index among the arguments that are not indexed. */
export type StringParameter = { name: string; index: number };

/**
 * The arguments with their strings as emitted.
 * @example withEmittedStrings("0x", { name: "eth" }, [{ name: "name", index: 0 }]) // { name: "eth" }
 */
export function withEmittedStrings(data: Hex, args: Args, strings: readonly StringParameter[]): Args {
  let result = args;
  for (const { name, index } of strings) {
    const decoded = args[name] as string;
    const emitted = emittedString(data, index, decoded);
    if (emitted !== decoded) result = { ...result, [name]: emitted };
  }
  return result;
}

/**
 * A string argument of an event as it was emitted. Decoders drop a leading byte order mark, and the string then no longer
 * hashes to its labelhash; where the log data may contain one, the argument is read from the data. `decoded` is the
 * decoder's value, `index` its position among the arguments that are not indexed.
 * @example emittedString("0x", 0, "eth") // "eth"
 * @example emittedString(encodeAbiParameters([{ type: "bytes" }], ["0xefbbbf657468"]), 0, "eth") // "\ufeffeth"
 */
export function emittedString(data: Hex, index: number, decoded: string): string {
  if (!data.includes(byteOrderMark)) return decoded;
  const offset = wordAt(data, index * 32);
  const length = offset === undefined ? undefined : wordAt(data, offset);
  if (offset === undefined || length === undefined) return decoded;
  const start = 2 + (offset + 32) * 2;
  // Buffer keeps the mark and turns bad UTF-8 into U+FFFD.
  return Buffer.from(data.slice(start, start + length * 2), "hex").toString("utf8");
}

function wordAt(data: Hex, byteOffset: number): number | undefined {
  const word = data.slice(2 + byteOffset * 2, 2 + byteOffset * 2 + 64);
  return word.length === 64 ? Number(`0x${word}`) : undefined;
}
