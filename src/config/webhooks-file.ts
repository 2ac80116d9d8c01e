import { z } from "zod/v4";
import { findNearest } from "../log/nearest.ts";
import { readJsonFile } from "./json-file.ts";

const maxHooks = 50;

// Standard Webhooks: keys are base64 behind a prefix; HMAC secrets have 24 to 64 bytes. An ed25519 seed may have the
// public key behind it.
const key = (prefix: string, isLength: (bytes: number) => boolean, rule: string) => {
  const isKey = (text: string) => {
    const bytes = Buffer.from(text.slice(prefix.length), "base64");
    return isLength(bytes.length) && text === prefix + bytes.toString("base64");
  };
  const error = `must be ${prefix} and ${rule} in base64`;
  return z.string({ error }).refine(isKey, { error });
};

const ends = ["grace_begins", "grace_ends", "premium_ends"];
const maxHours = 87_600;

/** How many seconds before an expiry a reminder such as `7d` or `12h` is due; undefined for other words. */
export function reminderSpan(word: string): number | undefined {
  const [, count = "", unit] = /^([1-9]\d{0,4})([dh])$/.exec(word) ?? [];
  const hours = Number(count) * (unit === "d" ? 24 : 1);
  return count !== "" && hours <= maxHours ? hours * 3_600 : undefined;
}

const reminder = z.string().refine((word) => ends.includes(word) || reminderSpan(word) !== undefined, {
  error: ({ input }) => {
    const near = findNearest(String(input), ends);
    const known = `must be <n>d or <n>h from 1h to ${maxHours}h, ${ends.join(", ")}`;
    return near === undefined ? known : `${known}; did you mean ${near}?`;
  },
});

const isOnce = (words: readonly string[]) =>
  new Set(words.map((word) => reminderSpan(word) ?? word)).size === words.length;

const hookShape = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,49}$/, "must be 1 to 50 characters: a to z, digits, and - within"),
  url: z.url({ protocol: /^https?$/, error: "must be an http(s):// URL" }),
  secret: key("whsec_", (bytes) => bytes >= 24 && bytes <= 64, "24 to 64 bytes"),
  privateKey: key("whsk_", (bytes) => bytes === 32 || bytes === 64, "32 or 64 bytes").optional(),
  filter: z.record(z.string(), z.string()).default({}),
  events: z.boolean().default(true),
  reminders: z
    .array(reminder)
    .max(10, "must have at most 10")
    .refine(isOnce, "must name each once")
    .default([]),
  finality: z.enum(["latest", "finalized"], "must be latest or finalized").default("latest"),
  from: z.enum(["latest", "start"], "must be latest or start").default("latest"),
  allowPrivate: z.boolean().default(false),
});
const hook = hookShape.refine(({ events, reminders }) => events || reminders.length > 0, {
  path: ["events"],
  error: "cannot be false without reminders",
});

/** A webhook of the configuration. */
export type Hook = z.infer<typeof hook>;

const webhooksFile = z.array(hook).max(maxHooks, `must have at most ${maxHooks} hooks`);

/** The hooks of WEBHOOKS_FILE, if it is set. Adds every fault of the file to `faults`, without secrets. */
export function webhooksFrom(
  path: string | undefined,
  readTextFile: (path: string) => string,
  faults: string[],
): Hook[] {
  if (path === undefined) return [];
  const read = readJsonFile({ variable: "WEBHOOKS_FILE", path }, readTextFile, faults);
  if (read === undefined) return [];
  const { value } = read;
  const { data = [], error } = webhooksFile.safeParse(value);
  const found = (error?.issues ?? []).map(({ path, message }) => [path.join(".") || "the file", message]);
  const names = Array.isArray(value) ? value.map((one) => Object(one).name) : [];
  const repeated = names.flatMap((name, index) => (name && names.indexOf(name) < index ? [index] : []));
  found.push(...repeated.map((index) => [`${index}.name`, "another hook has it"]));
  faults.push(...found.map(([place, fault]) => `WEBHOOKS_FILE: ${place}: ${fault}. See docs/webhooks.md.`));
  return data;
}
