import { z } from "zod/v4";
import { hintMark, timeParameter } from "../../ens/parameters.ts";
import { HttpError } from "../../http/error.ts";
import { refuse } from "../../read/refusal.ts";
import type { SortType } from "../../read/sql/keyset.ts";
import type { CurrentStatus } from "../../status/types.ts";
import { bodyOfRest } from "../kit/endpoint.ts";
import { type Envelope, isGateRefusal } from "../kit/errors.ts";
import { type CursorQuery, openCursorPage } from "../kit/paging.ts";
import { atParameter, minBlockParameter } from "../kit/position.ts";

// The wire format of the REST API that ENS's own applications read (docs/lookup.md): field names, codes, cursors,
// limits.

const codes = ["invalid_input", "not_found", "unsupported", "stale", "overloaded", "internal_error"] as const;

const buildError = (code = "invalid_input", message: string, details: unknown = {}) => ({
  error: { code, message, details },
});

/** The schema of an error under `/v1`. */
export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.enum(codes),
    message: z.string(),
    details: z.record(z.string(), z.unknown()),
  }),
});

/** The body of a 413. */
export const tooLarge = buildError("invalid_input", bodyOfRest.refusal.message);

/** The response to an unknown path under `/v1`. */
export const unknownPath = buildError("not_found", "There is no such path");

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
  schema: errorSchema,
  body: (error) =>
    isGateRefusal(error)
      ? buildError(ofReason[error.code], `${error.message} ${error.details}`)
      : buildError(error.code, error.message, error.details),
  failure: buildError("internal_error", "Internal Server Error"),
  invalid: {
    schema: errorSchema,
    error: ({ issues }) => {
      // A misspelt parameter may also show up as a missing one.
      const first = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
      const field = first === undefined ? "" : first.path.join(".");
      const [message = "Invalid input", hint] = first?.message.split(hintMark) ?? [];
      return new HttpError(400, message, {
        code: "invalid_input",
        details: { field: field || undefined, hint },
      });
    },
  },
};

/** One end of a window of whole seconds, described by `end`. */
export const windowEnd = (name: string, end: string) =>
  timeParameter(name).transform(Math.ceil).optional().describe(`Unix seconds or RFC 3339, ${end}`);

/** Parameters of lists. No cursor depends on them: a list is paged at one position by giving `at` with each page. */
export const listPosition = {
  at: atParameter,
  min_block: minBlockParameter,
  finality: z
    .enum(["latest"], { error: "finality must be latest because collection routes read latest state" })
    .optional()
    .describe("Lists are read at the newest indexed block"),
};

/** Parameters of reads of one thing; `requireLatest` checks the finality. */
export const snapshotParameters = {
  at: atParameter,
  min_block: minBlockParameter,
  finality: z
    .enum(["latest", "safe", "finalized"], { error: "finality must be one of latest, safe, finalized" })
    .default("latest")
    .describe("`safe` and `finalized` are refused unless the last indexed block is final"),
};

/**
 * Opens a page of a list under `/v1`. `list`: the list with its filters and order. Refuses the cursor of another one.
 */
export const openPage = (query: CursorQuery, list: readonly unknown[], types: readonly SortType[]) =>
  openCursorPage(query, { list, types, refuse: (message) => refuse("invalid_input", message) });

/** How final a position has to be. */
export type FinalityWord = "latest" | "safe" | "finalized";

/**
 * Refuses a position of less than the newest finality, unless the chain's last block is final. `what`: what is read, in
 * words.
 */
export function requireLatest(
  finality: FinalityWord,
  { current, chainId, what }: { current: CurrentStatus; chainId: number; what: string },
): void {
  const { chainStatus } = current.snapshot.omnichainSnapshot.chains[String(chainId)] ?? {};
  if (finality !== "latest" && chainStatus !== "chain-completed")
    refuse("stale", `requested snapshot is not available for ${what}`);
}
