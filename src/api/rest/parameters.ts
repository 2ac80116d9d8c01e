import { type Hex, isAddress } from "viem";
import { z } from "zod/v4";

const text = (name: string) => z.string({ error: `${name} must be given once` });

/** An address: all lower case, or mixed case with a correct checksum (EIP-55). Read in lower case. */
export const addressParameter = (name: string) =>
  text(name)
    .refine((value) => isAddress(value), { error: `${name} must be an address` })
    .transform((value) => value.toLowerCase() as Hex);

/** 32 bytes in hex, of any case. Read in lower case. */
export const bytes32Parameter = (name: string) =>
  text(name)
    .regex(/^0x[0-9a-fA-F]{64}$/, { error: `${name} must be 0x and 64 hex digits` })
    .transform((value) => value.toLowerCase() as Hex);

/** `true` or `false`. */
export const booleanParameter = (name: string) =>
  z
    .enum(["true", "false"], { error: `${name} must be true or false` })
    .transform((value) => value === "true");

/** Unix seconds: an integer, also a negative one. */
export const timestampParameter = (name: string) =>
  text(name)
    .regex(/^-?[0-9]+$/, { error: `${name} must be an integer`, abort: true })
    .transform(Number)
    .refine(Number.isSafeInteger, { error: `${name} is out of range` });

/** A positive integer in decimal digits. */
export const chainIdParameter = (name: string) =>
  text(name)
    .regex(/^[1-9][0-9]{0,14}$/, { error: `${name} must be a positive integer` })
    .transform(Number);
