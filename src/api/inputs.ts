import { type Hex, isAddress } from "viem";
import { z } from "zod/v4";
import { isEncodedLabel, nodeOfName, normalizedName } from "../ens/names.ts";

// Forms of path and query parameters that several endpoints share. What they refuse, they refuse with the way out.

/** A node: 0x and 64 hex digits, read in lower case. `field` is the parameter's name in messages. */
export function nodeInput(field: string) {
  return z
    .string({ error: `${field} must be given once` })
    .regex(/^0x[0-9a-fA-F]{64}$/, `${field} must be a node: 0x and 64 hex digits`)
    .transform((text) => text.toLowerCase() as Hex)
    .meta({ example: "0x18770adb54fb7af86b6740f0e43e0e4ca5bd33cf0cf28a5cd047ae8690a84c0f" });
}

/** An address: lower-case hex, or mixed case with the right checksum (EIP-55); read in lower case. */
export function addressInput(field: string) {
  return z
    .string({ error: `${field} must be given once` })
    .refine(
      (text) => isAddress(text, { strict: true }),
      `${field} must be an address: 0x and 40 hex digits, in lower case or with the right checksum (EIP-55)`,
    )
    .transform((text) => text.toLowerCase() as Hex)
    .meta({ example: "0x2c7d9e1f4b6a8035d7c9e1f3a5b7092846c8eaf0" });
}

/** A normalised name (ENSIP-15). The refusal of another one tells its normalised form, or the node of one with `[labelhash]`. */
export function nameInput(field: string) {
  return z
    .string({ error: `${field} must be given once` })
    .superRefine((name, context) => {
      const fault = nameFault(field, name);
      if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    })
    .meta({ example: "moonlamp.eth" });
}

/** `true` or `false`, false if absent. */
export function booleanInput(field: string) {
  return z
    .enum(["true", "false"], { error: `${field} must be true or false` })
    .default("false")
    .transform((text) => text === "true");
}

/** A whole number from `min` to `max` in decimal digits; an empty text counts as absent. */
export function numberInput(
  field: string,
  { min, max, fallback }: { min: number; max: number; fallback?: number },
) {
  const range =
    max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`;
  const digits = z
    .string({ error: `${field} must be given once` })
    .refine((text) => {
      const value = Number(text);
      return text === "" || (/^\d+$/.test(text) && value >= min && value <= max);
    }, `${field} must be ${range}`)
    .transform((text) => (text === "" ? fallback : Number(text)));
  return digits.optional().transform((value) => value ?? fallback);
}

function nameFault(field: string, name: string): string | undefined {
  const result = normalizedName(name);
  if ("name" in result) {
    if (result.name === name) return undefined;
    return `${field} must be normalized (ENSIP-15): write ${JSON.stringify(result.name)} instead`;
  }
  if (name.split(".").some(isEncodedLabel)) {
    return `${field} must not hold labels in the form [labelhash]; the node of this name is ${nodeOfName(name)}`;
  }
  return `${field} is no name that can be normalized (ENSIP-15): ${result.fault}`;
}
