import { type Hex, isAddress } from "viem";
import { z } from "zod/v4";
import { isEncodedLabel, nodeOfName, normalizedName } from "../../ens/names.ts";

// Schemas of the values that requests carry and responses hold.

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

/** A normalized name (ENSIP-15). The error for another one gives its normalized form, or the node if it has `[labelhash]`. */
export function nameParameter(name: string) {
  return text(name).superRefine((value, context) => {
    const problem = problemOf(name, value);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  });
}

function problemOf(field: string, name: string): string | undefined {
  const result = normalizedName(name);
  if ("name" in result) {
    if (result.name === name) return undefined;
    return `${field} must be normalized (ENSIP-15): write ${JSON.stringify(result.name)} instead`;
  }
  if (name.split(".").some(isEncodedLabel)) {
    return `${field} must not hold labels in the form [labelhash]; the node of this name is ${nodeOfName(name)}`;
  }
  return `${field} cannot be normalized (ENSIP-15): ${result.fault}`;
}

/** Hex of a fixed number of digits, lower case. */
export const hexSchema = (digits: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${digits}}$`));

/** An address. */
export const addressSchema = hexSchema(40).meta({ description: "Address, lower case" });

/** A hash, node or token id. */
export const hashSchema = hexSchema(64).meta({ description: "32 bytes of hex, lower case" });

/** A point in time. */
export const secondsSchema = z.int().meta({ description: "Unix seconds" });

/** An integer of at least 0. */
export const countSchema = z.int().min(0);

/** The id of a chain. */
export const chainIdSchema = z.int().min(1);

/** A block of one chain. */
export const blockSchema = z.strictObject({ timestamp: secondsSchema, number: countSchema });

/** An amount of money in the smallest unit of its currency. */
export const amountSchema = z.string().regex(/^\d+$/);
