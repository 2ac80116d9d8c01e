import { type Hex, isAddress } from "viem";
import { z } from "zod/v4";
import { parsedJson } from "../log/json-log.ts";
import { findNearest } from "../log/nearest.ts";
import { namehash } from "./names.ts";
import { isEncodedLabel, normalizedName } from "./normalization.ts";

// Schemas that parse the texts of requests, settings of hooks and files: each says in its error what the text must be.

/** A parameter with one text. */
export const oneText = (name: string) => z.string({ error: `${name} must be given once` });

/** An address, all lower case or with a correct checksum (EIP-55). Parsed to lower case. */
export const addressParameter = (name: string) =>
  oneText(name)
    .refine((value) => isAddress(value), { error: `${name} must be an address` })
    .transform((value) => value.toLowerCase() as Hex);

/** An address in any case, with any checksum and surrounding blanks. Parsed to lower case. */
export const anyCaseAddress = (name: string) =>
  oneText(name)
    .trim()
    .regex(/^0x[0-9a-f]{40}$/i, { error: `${name} must be a 0x-prefixed 20-byte hex string` })
    .transform((value) => value.toLowerCase() as Hex);

/** 32 bytes in hex, in any case. Parsed to lower case. */
export const bytes32Parameter = (name: string) =>
  oneText(name)
    .regex(/^0x[0-9a-fA-F]{64}$/, { error: `${name} must be 0x and 64 hex digits` })
    .transform((value) => value.toLowerCase() as Hex);

/** The value of a JSON text. */
export const jsonText = (error: string) =>
  z.string().transform((text, context): unknown => {
    const value = parsedJson(text);
    if (value === undefined) context.addIssue(error);
    return value;
  });

/** `true` or `false`. */
export const booleanParameter = (name: string) =>
  z
    .enum(["true", "false"], { error: `${name} must be true or false` })
    .transform((value) => value === "true");

/** Unix seconds, possibly negative. */
export const timestampParameter = (name: string) =>
  oneText(name)
    .regex(/^-?[0-9]+$/, { error: `${name} must be an integer`, abort: true })
    .transform(Number)
    .refine(Number.isSafeInteger, { error: `${name} is out of range` });

/** A positive integer in decimal digits. */
export const chainIdParameter = (name: string) =>
  oneText(name)
    .regex(/^[1-9][0-9]{0,14}$/, { error: `${name} must be a positive integer` })
    .transform(Number);

/**
 * A normalized name (ENSIP-15). The error for another one gives its normalized form, or the node if it has
 * `[labelhash]`.
 */
export const nameParameter = (field: string) =>
  oneText(field).superRefine((name, { addIssue }) => {
    const result = normalizedName(name);
    if ("fault" in result)
      addIssue(
        name.split(".").some(isEncodedLabel)
          ? `${field} must not hold labels in the form [labelhash]; the node of this name is ${namehash(name)}`
          : `${field} cannot be normalized (ENSIP-15): ${result.fault}`,
      );
    else if (result.name !== name)
      addIssue(`${field} must be normalized (ENSIP-15): write ${JSON.stringify(result.name)} instead`);
  });

/** A parameter with a few values. */
export const choice = <const T extends readonly [string, ...string[]]>(name: string, values: T) =>
  z.enum(values, { error: `${name} must be one of ${values.join(", ")}` });

/** A parameter with any text. */
export const textParameter = (name: string, max: number) =>
  z
    .string({
      error: ({ input }) => (input === undefined ? `${name} is missing` : `${name} must be given once`),
    })
    .max(max, { error: `${name} has more than ${max} characters` })
    .refine((text) => !text.includes("\0"), { error: `${name} must not hold NUL` });

/** A contract on a chain: `<chain id>:<address>`, in any case. */
export const contractParameter = (name: string) =>
  textParameter(name, 80)
    .regex(/^[1-9]\d{0,14}:0x[0-9a-f]{40}$/i, { error: `${name} must be <chain id>:<address>` })
    .transform((text) => {
      const [chain = "", address = ""] = text.toLowerCase().split(":");
      return { chainId: Number(chain), address: address as Hex };
    });

/** The distinct words of a comma-separated text. */
export const splitWords = (text: string) =>
  [...new Set(text.split(",").map((word) => word.trim()))].filter(Boolean);

/** A comma-separated parameter with a few values. */
export const wordsParameter = <const T extends readonly [string, ...string[]]>(
  name: string,
  values: T,
  error = `${name} must be some of ${values.join(", ")} with commas between`,
) =>
  textParameter(name, 1_000)
    .transform(splitWords)
    .pipe(z.array(z.enum(values, { error })));

/** Behind it an error has a hint. Clients compare whole messages, so hints go into the details. */
export const hintMark = "\u0000hint:";

const trimValue = (value: unknown) => (typeof value === "string" ? value.trim() || undefined : value);

/** The schema of a closed set of query parameters. Values are trimmed; an empty one counts as absent. */
export function closedQuery<T extends z.core.$ZodLooseShape>(shape: T) {
  const known = Object.keys(shape);
  const optional = Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [name, z.preprocess(trimValue, schema as z.ZodType)]),
  ) as unknown as T;
  return z.strictObject(optional, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      if (known.length === 0) return "query parameters are not supported on this route";
      const [name = ""] = issue.keys as string[];
      const given = name.slice(0, 60);
      const near = findNearest(given, known) ?? known.find((other) => other.startsWith(given.slice(0, 3)));
      const hint = near === undefined ? `known are ${known.join(", ")}` : `did you mean ${near}?`;
      return `unknown query parameter: ${given}${hintMark}${hint}`;
    },
  });
}

/**
 * A point in time: Unix seconds, or RFC 3339 with up to nine fractional digits. Parsed to seconds, possibly fractional.
 */
export const timeParameter = (name: string) =>
  oneText(name)
    .transform((text) => readTime(text) ?? Number.NaN)
    .refine((time) => Number.isFinite(time), {
      error: `${name} must be Unix seconds or a time of RFC 3339, such as 2026-01-31T12:00:00Z`,
    });

// The day is checked: JavaScript parses 30 February as 2 March.
const rfc3339 = /^(\d{4}-\d\d-(\d\d))T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i;

/** Seconds of a time in the forms of `timeParameter`; undefined for anything else. */
export function readTime(text: string): number | undefined {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  const [, date, day, fraction = ""] = rfc3339.exec(text) ?? [];
  if (date === undefined || new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  const seconds = Date.parse(text.replace(fraction, "").toUpperCase()) / 1_000;
  return Number.isFinite(seconds) ? seconds + Number(`0${fraction}`) : undefined;
}
