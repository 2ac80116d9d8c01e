import { z } from "zod/v4";
import { readJsonFile } from "./json-file.ts";

const budget = z.int("must be a whole number of units").min(1, "must be 1 or more").max(1_000_000_000);

const key = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,49}$/, "must be 1 to 50 characters: a to z, digits, and - within"),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the key as 64 lower-case hex digits"),
  budget,
  paths: z.array(z.string().regex(/^\/\S*$/, "must begin with /")).default(["/"]),
});

const apiKeysFile = z.strictObject({
  keys: z.array(key).max(10_000, "must have at most 10000 keys"),
  anonymous: z.strictObject({ budget }).optional(),
});

/** An API key: its name, the hash of its secret, units of work a minute, and how its paths begin. */
export type ApiKey = z.infer<typeof key>;

/** The keys of a file. `anonymous`: what a client without a key may do; nothing without it. */
export type ApiKeys = z.infer<typeof apiKeysFile>;

/** The keys of API_KEYS_FILE; undefined if it is not set or has a fault. Adds every fault to `faults`. */
export function apiKeysFrom(
  path: string | undefined,
  readTextFile: (path: string) => string,
  faults: string[],
): ApiKeys | undefined {
  if (path === undefined) return undefined;
  const read = readJsonFile({ variable: "API_KEYS_FILE", path }, readTextFile, faults);
  if (read === undefined) return undefined;
  const { data, error } = apiKeysFile.safeParse(read.value);
  const found = (error?.issues ?? []).map(
    ({ path, message }) => `${path.join(".") || "the file"}: ${message}`,
  );
  for (const member of ["name", "sha256"] as const) {
    const given = (data?.keys ?? []).map((one) => one[member]);
    for (const [index, one] of given.entries())
      if (given.indexOf(one) < index) found.push(`keys.${index}.${member}: another key has it`);
  }
  faults.push(...found.map((fault) => `API_KEYS_FILE: ${fault}. See docs/operations.md#api-keys.`));
  return found.length === 0 ? data : undefined;
}
