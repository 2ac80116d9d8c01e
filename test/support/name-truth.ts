import { type Hex, numberToHex } from "viem";
import type { Recording } from "../../devnet/recording.ts";
import { readFixture } from "./recordings.ts";

// What ENS' own contracts emitted and returned on a real EVM node, through 40 histories of names. The program that
// plays the histories and records them is in the commit c14f87b7, test/support/name-truth/record.ts.

export const chainId = 15_658_750;

/** Addresses of the contracts. */
type Contracts = Record<
  | "oldRegistry"
  | "registry"
  | "registrar"
  | "wrapper"
  | "controller"
  | "resolver"
  | "reverseRegistrar"
  | "universalResolver",
  Hex
>;

export type RecordedLog = {
  address: Hex;
  topics: Hex[];
  data: Hex;
  block: number;
  index: number;
  transaction: Hex;
  sender: Hex;
};

/** What calls return for a name; null where they fail. */
export type NameCalls = {
  registry: { owner: string | null; resolver: string | null; isMigrated: boolean };
  /** Of names under .eth that were leased. `lastOwner`: the holder at the last second of the lease. */
  registrar?: { expires: number; isAvailable: boolean; owner: string | null; lastOwner: string | null };
  /** `lastOwner`: the holder at the last second of the wrapper's expiry. */
  wrapper: {
    isWrapped: boolean;
    /** Whether it keeps the name's bytes: from the first wrapping on. */
    isKnown: boolean;
    owner: Hex;
    fuses: number;
    expires: string;
    lastOwner: Hex | null;
  };
  /** `0x` and the empty text where there is none. */
  records: { addr: string | null; bitcoin: string; url: string; contenthash: string; name: string };
};

/**
 * What an account calls itself, empty for nothing, and to which address the universal resolver resolves that; null if
 * it cannot.
 */
type Claim = { name: string; resolvesTo: string | null };

/** What calls returned at a block, by name and, of reverse names, by account. */
export type Moment = {
  title: string;
  block: number;
  time: number;
  names: Record<string, NameCalls>;
  claims: Record<Hex, Claim>;
};

export type Truth = {
  contracts: Contracts;
  blocks: { number: number; timestamp: number }[];
  logs: RecordedLog[];
  moments: Moment[];
  /** The labels of all names. */
  labels: string[];
};

/** The recording. */
export const readNameTruth = (): Truth => readFixture("name-truth.json.gz");

/** The recording as blocks and receipts. */
export function recordingOf({ blocks, logs }: Truth): Pick<Recording, "chainId" | "blocks" | "receipts"> {
  const receipts = Map.groupBy(logs, ({ transaction }) => transaction);
  return {
    chainId,
    blocks: blocks.map(({ number, timestamp }) => ({
      number: numberToHex(number),
      timestamp: numberToHex(timestamp),
    })),
    receipts: Array.from(receipts.values(), (own) => ({
      from: own[0]?.sender,
      logs: own.map(({ block, index, transaction, sender: _, ...log }) => ({
        ...log,
        blockNumber: numberToHex(block),
        logIndex: numberToHex(index),
        transactionHash: transaction,
      })),
    })),
  } as Pick<Recording, "chainId" | "blocks" | "receipts">;
}
