import {
  type AbiParameter,
  concat,
  encodeAbiParameters,
  type Hex,
  keccak256,
  numberToHex,
  padHex,
  size,
  toEventSelector,
} from "viem";
import type { Recording } from "../../../devnet/recording.ts";

// A chain of emitted logs: what the models of the contracts in this folder write to. Blocks have a time; there is no gas.

/** 32 bytes of an address, a number or a hash, as a topic. */
function topic(value: Hex | bigint): Hex {
  return typeof value === "bigint" ? numberToHex(value, { size: 32 }) : padHex(value, { size: 32 });
}

/** A name of labels as bytes in DNS wire form. */
export function wireName(labels: readonly Hex[]): Hex {
  return concat([
    ...labels.flatMap((label): Hex[] => [numberToHex(size(label), { size: 1 }), label]),
    "0x00",
  ]);
}

/** Node of a name of labels as bytes. */
export function nodeOf(labels: readonly Hex[]): Hex {
  return labels.reduceRight<Hex>(
    (parent, label) => keccak256(concat([parent, keccak256(label)])),
    padHex("0x", { size: 32 }),
  );
}

const selectors = new Map<string, Hex>();
const account: Hex = `0x${"b2".repeat(20)}`;

/** An empty chain. */
export function createPlayedChain({ chainId, start }: { chainId: number; start: number }) {
  const blocks: { number: number; timestamp: number; logs: Record<string, unknown>[] }[] = [];
  let time = start;
  blocks.push({ number: 0, timestamp: time, logs: [] });
  const current = () => blocks.at(-1) as (typeof blocks)[number];

  return {
    time: () => BigInt(time),
    block: () => current().number,

    /** Begins the next block. */
    mine(seconds: number) {
      time += seconds;
      blocks.push({ number: blocks.length, timestamp: time, logs: [] });
    },

    /** A log of an event by its signature; `types` and `values` are those of the data, strings as `bytes`. */
    emit(
      address: Hex,
      signature: string,
      topics: readonly (Hex | bigint)[],
      types: readonly string[] = [],
      values: readonly unknown[] = [],
    ) {
      const selector = selectors.get(signature) ?? toEventSelector(signature);
      selectors.set(signature, selector);
      const parameters: AbiParameter[] = types.map((type) => ({ type }));
      current().logs.push({
        address,
        topics: [selector, ...topics.map(topic)],
        data: types.length === 0 ? "0x" : encodeAbiParameters(parameters, values),
      });
    },

    /** What was emitted so far, as a recording. */
    recording(): Pick<Recording, "chainId" | "blocks" | "receipts"> {
      const hex = (value: number) => numberToHex(value);
      return {
        chainId,
        blocks: blocks.map(({ number, timestamp }) => ({ number: hex(number), timestamp: hex(timestamp) })),
        receipts: blocks.map(({ number, logs }) => ({
          from: account,
          logs: logs.map((log, place) => ({
            ...log,
            blockNumber: hex(number),
            transactionHash: numberToHex(number, { size: 32 }),
            logIndex: hex(place),
          })),
        })),
      } as Pick<Recording, "chainId" | "blocks" | "receipts">;
    },
  };
}

/** A chain of emitted logs. */
export type PlayedChain = ReturnType<typeof createPlayedChain>;
