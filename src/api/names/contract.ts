import { z } from "zod/v4";
import { nearestOf } from "../../config/nearest.ts";
import { namehash } from "../../ens/names.ts";
import { isEncodedLabel, normalizedName } from "../../ens/normalization.ts";
import { bodyOfRest } from "../rest/endpoint.ts";
import { ApiError, type CodedError, type Envelope, envelope } from "../rest/errors.ts";
import { addressSchema, type CursorQuery, oneText, openCursorPage, type SortType } from "../rest/values.ts";
import { type Block, type CurrentStatus, headHash, indexedBlockOf } from "../status/status.ts";

// The wire format of the REST API that ENS's own applications read (docs/lookup.md): field names, codes, cursors, limits.

const codes = {
  invalid_input: 400,
  not_found: 404,
  unsupported: 422,
  stale: 409,
  overloaded: 503,
  internal_error: 500,
} as const;

const coded = (code: keyof typeof codes, message: string, details: object = {}): CodedError => ({
  error: { code, message, details },
});

/** The schema of an error under `/v1`. */
export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.enum(Object.keys(codes) as [keyof typeof codes]),
    message: z.string(),
    details: z.record(z.string(), z.unknown()),
  }),
});

/** The response to an unknown path under `/v1`. */
export const unknownPath: CodedError = coded("not_found", "There is no such path");

/** Ends a request under `/v1` with an error code and its status. */
export function refuse(code: keyof typeof codes, message: string): never {
  throw new ApiError(codes[code], coded(code, message), code === "overloaded" ? { "retry-after": "1" } : {});
}

const ofReason = {
  plugin: "unsupported",
  status: "stale",
  backfill: "stale",
  past: "stale",
  busy: "overloaded",
  long: "invalid_input",
} as const;

/** Refusals, invalid input and internal errors in the form of `/v1`. */
export const lookupEnvelope: Envelope = {
  ...envelope(errorSchema, ({ reason, message, details }) => {
    const { error } = coded(ofReason[reason], `${message} ${details}`);
    return { error: { ...error, code: ofReason[reason], details: {} } };
  }),
  failure: coded("internal_error", "Internal Server Error"),
  tooLarge: coded("invalid_input", bodyOfRest.refusal.message),
  invalid: {
    schema: errorSchema,
    body: ({ issues }) => {
      // A misspelt parameter may also show up as a missing one.
      const first = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
      const field = first === undefined ? "" : first.path.join(".");
      const [message = "Invalid input", hint] = first?.message.split(hintMark) ?? [];
      return coded("invalid_input", message, { field: field || undefined, hint });
    },
  },
};

// Clients of this format compare whole messages, so hints go into the details.
const hintMark = "\u0000hint:";

const trimmed = (value: unknown) => (typeof value === "string" ? value.trim() || undefined : value);

/** The schema of a closed set of query parameters. Values are trimmed; an empty one counts as absent. */
export function closedQuery<T extends z.core.$ZodLooseShape>(shape: T) {
  const known = Object.keys(shape);
  const optional = Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [name, z.preprocess(trimmed, schema as z.ZodType)]),
  ) as unknown as T;
  return z.strictObject(optional, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      if (known.length === 0) return "query parameters are not supported on this route";
      const [name = ""] = issue.keys as string[];
      const given = name.slice(0, 60);
      const near = nearestOf(given, known) ?? known.find((other) => other.startsWith(given.slice(0, 3)));
      const hint = near === undefined ? `known are ${known.join(", ")}` : `did you mean ${near}?`;
      return `unknown query parameter: ${given}${hintMark}${hint}`;
    },
  });
}

/** A point in time: Unix seconds, or RFC 3339 with up to nine fractional digits. Parsed to seconds, possibly fractional. */
export const timeParameter = (name: string) =>
  oneText(name)
    .transform((text) => readTime(text) ?? Number.NaN)
    .refine((time) => Number.isFinite(time), {
      error: `${name} must be Unix seconds or a time of RFC 3339, such as 2026-01-31T12:00:00Z`,
    });

/** One end of a window of whole seconds, described by `end`. */
export const windowEnd = (name: string, end: string) =>
  timeParameter(name).transform(Math.ceil).optional().describe(`Unix seconds or RFC 3339, ${end}`);

const blockForm = /^\d{1,15}:\d{1,15}$/;

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

/** The parameter by which an index is read as it was. Its value becomes a time in Unix seconds. */
export const atParameter = oneText("at")
  .refine((text) => readTime(text) !== undefined || tokenTime(text) !== undefined || blockForm.test(text), {
    error: "at must be Unix seconds, a time of RFC 3339, <chain id>:<block> or a value of meta.as_of_token",
  })
  .optional()
  .meta({
    description:
      "Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token`",
    example: "1:19000000",
  });

/** The parameter by which a client never goes back in time from one reader to another; parsed to blocks. */
export const minBlockParameter = oneText("min_block")
  .transform((text) => minBlocks(text) ?? [])
  .refine((blocks) => blocks.length > 0, {
    error:
      "min_block must be <chain id>:<block>, several of them separated by commas, or a value of meta.as_of_token",
  })
  .optional()
  .meta({
    description:
      "Blocks that the index must have reached, as comma-separated `<chain id>:<block>` or `meta.as_of_token`: waits up to two seconds, then 503",
    example: "1:19000000",
  });

function minBlocks(text: string): Block[] | undefined {
  const token = Object.entries(readToken(text) ?? {});
  if (token.length > 0) return token.map(([chainId, { block_number: number }]) => ({ chainId, number }));
  const all = text.split(",").map((one) => one.trim());
  if (all.length > 50 || !all.every((one) => blockForm.test(one))) return undefined;
  return all.map((one) => {
    const [chainId, number] = one.split(":").map(Number);
    return { chainId: String(chainId), number: number ?? 0 };
  });
}

/** Parameters of lists. No cursor depends on them: a list is paged at one position by giving `at` with each page. */
export const listPosition = {
  at: atParameter,
  min_block: minBlockParameter,
  finality: z
    .enum(["latest"], { error: "finality must be latest because collection routes read latest state" })
    .optional(),
};

/** Parameters of reads of one thing; `requireLatest` checks the finality. */
export const snapshotParameters = {
  at: atParameter,
  min_block: minBlockParameter,
  finality: z
    .enum(["latest", "safe", "finalized"], { error: "finality must be one of latest, safe, finalized" })
    .default("latest"),
};

/** Opens a page of a list under `/v1`. `list`: the list with its filters and order. Refuses the cursor of another one. */
export const openPage = (query: CursorQuery, list: readonly unknown[], types: readonly SortType[]) =>
  openCursorPage(query, { list, types, refuse: (message) => refuse("invalid_input", message) });

/** A contract on a chain. */
export const located = z.strictObject({ chain_id: z.int(), address: addressSchema });

const block = z.strictObject({
  block_number: z.int(),
  block_hash: z.string().nullable(),
  timestamp: z.string(),
});

const completeness = z.enum(["full", "partial", "unsupported"]);
const blocks = z.record(z.string(), block);

export const metaSchema = z.strictObject({
  as_of: blocks.optional(),
  as_of_completeness: z
    .record(z.string(), z.strictObject({ completeness, unsupported_reason: z.string() }))
    .optional()
    .describe("Chains without an indexed block"),
  as_of_token: z.string().optional().describe("`as_of` as one opaque token"),
  source: z.enum(["indexed", "verified"]).optional(),
  completeness: completeness.optional(),
  unsupported_fields: z.array(z.string()).optional(),
  unsupported_reason: z.string().optional(),
  unlisted_permission_surfaces: z.array(z.string()).optional(),
});

/** What `meta` says of a response. */
export type Meta = z.output<typeof metaSchema>;

/** `meta` with what `more` leaves out beside what it leaves out already. */
export function withGaps(meta: Meta, more: Meta): Meta {
  const fields = [...(meta.unsupported_fields ?? []), ...(more.unsupported_fields ?? [])];
  return { ...meta, ...more, unsupported_fields: fields.length > 0 ? fields : undefined };
}

/** The hash of a chain's final block, if known. */
export type HashOf = (chainId: number, block: { number: number; timestamp: number }) => string | undefined;

/** The last indexed block of each chain. */
export function asOf(current: CurrentStatus, hashOf: HashOf): Meta {
  const as_of: z.output<typeof blocks> = {};
  const missing: NonNullable<Meta["as_of_completeness"]> = {};
  for (const [id, chain] of Object.entries(current.snapshot.omnichainSnapshot.chains)) {
    const indexed = indexedBlockOf(chain);
    if (indexed === undefined) {
      missing[id] = { completeness: "unsupported", unsupported_reason: "temporarily_unavailable" };
      continue;
    }
    const { number, timestamp } = indexed;
    const block_hash =
      headHash(current.blocks?.[id], indexed) ?? hashOf(Number(id), { number, timestamp }) ?? null;
    as_of[id] = { block_number: number, block_hash, timestamp: String(timestamp) };
  }
  return { as_of, ...(Object.keys(missing).length > 0 ? { as_of_completeness: missing } : {}) };
}

/** The last indexed block of each chain, and a token that changes with them. For responses about one thing, not for lists. */
export function asOfWithToken(current: CurrentStatus, hashOf: HashOf): Meta {
  const meta = asOf(current, hashOf);
  return { ...meta, as_of_token: Buffer.from(JSON.stringify(meta.as_of)).toString("hex") };
}

/** The blocks of a value of `as_of_token`, by chain id; undefined for anything else. */
export function readToken(text: string): z.output<typeof blocks> | undefined {
  if (!/^([0-9a-f]{2})+$/.test(text)) return undefined;
  try {
    return blocks.safeParse(JSON.parse(Buffer.from(text, "hex").toString())).data;
  } catch {
    return undefined;
  }
}

/** The newest time (Unix seconds) of a value of `as_of_token`; undefined for anything else. */
export function tokenTime(text: string): number | undefined {
  const times = Object.values(readToken(text) ?? {}).map(({ timestamp }) => Number(timestamp));
  return times.length > 0 ? Math.max(...times) : undefined;
}

/** Whether a value of `as_of_token` names the blocks of a status. A hash that is not known yet does not count. */
export function isTokenOf(text: string, current: CurrentStatus): boolean {
  const named = Object.entries(readToken(text) ?? {}).map(([id, block]) => {
    const known = { number: block.block_number, timestamp: Number(block.timestamp) };
    const hash = headHash(current.blocks?.[id], known);
    const isOther = block.block_hash !== null && hash !== undefined && block.block_hash !== hash;
    return [id, block.block_number, isOther ? undefined : block.timestamp];
  });
  const { chains } = current.snapshot.omnichainSnapshot;
  const indexed = Object.entries(chains).flatMap(([id, chain]) => {
    const block = indexedBlockOf(chain);
    return block === undefined ? [] : [[id, block.number, String(block.timestamp)]];
  });
  return named.length > 0 && JSON.stringify(named) === JSON.stringify(indexed);
}

/** How final a position has to be. */
export type Finality = "latest" | "safe" | "finalized";

/** Refuses a position of less than the newest finality, unless the chain's last block is final. `what`: what is read, in words. */
export function requireLatest(
  finality: Finality,
  { current, chainId, what }: { current: CurrentStatus; chainId: number; what: string },
): void {
  const { chainStatus } = current.snapshot.omnichainSnapshot.chains[String(chainId)] ?? {};
  if (finality !== "latest" && chainStatus !== "chain-completed")
    refuse("stale", `requested snapshot is not available for ${what}`);
}

/** A requested name, normalized; `fault` says why it is invalid. */
export type GivenName = { name: string; node: `0x${string}` } | { fault: string };

/** Whether a text is a node, which requests may give instead of a name. */
export const isNode = (text: string) => /^0x[0-9a-f]{64}$/i.test(text);

/** Reads a name label by label: each is normalized (ENSIP-15) or `[labelhash]`. A node stands for its name. */
export function readName(given: string): GivenName {
  if (isNode(given)) return { name: given, node: given.toLowerCase() as `0x${string}` };
  if (given === "") return { fault: "the name is empty" };
  if (Buffer.byteLength(given) > 2_000) return { fault: "it has more than 2,000 bytes" };
  const labels: string[] = [];
  for (const label of given.split(".")) {
    if (isEncodedLabel(label)) {
      labels.push(label);
      continue;
    }
    const result = label === "" ? { fault: "it has an empty label" } : normalizedName(label);
    if ("fault" in result) return result;
    if (result.name.includes(".")) return { fault: "a label becomes several" };
    labels.push(result.name);
  }
  const name = labels.join(".");
  return { name, node: namehash(name) };
}
