import { type Hex, namehash } from "viem";

/** Node of the name that each block changes. */
export const clock: Hex = namehash("clock.eth");

/** The owner that `clock.eth` gets in a block. */
export const ownerAt = (number: number, timestamp: number): Hex =>
  `0x${number.toString(16).padStart(20, "0")}${timestamp.toString(16).padStart(20, "0")}`;

/** The block that a part of an answer is of, as far as the part tells. */
export type Fact = { number?: number; timestamp?: number };

/** The block in which `clock.eth` got an owner. */
export const decodeFact = (owner: string): Fact => ({
  number: Number.parseInt(owner.slice(2, 22), 16),
  timestamp: Number.parseInt(owner.slice(22), 16),
});
