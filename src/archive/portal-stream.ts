import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod/v4";
import { escapeControls, parsedJson } from "../log/json-log.ts";
import type { BlockRange } from "../rpc/nodes.ts";
import { readRetryAfter } from "../rpc/retry-after.ts";
import { ArchiveError } from "./manifest.ts";
import { isLean } from "./segment.ts";

// A client of SQD's Portal protocol: a stream of JSON lines, one for each block, for a range of blocks.

/**
 * A dataset of a portal. `tries`: failures in a row until it gives up, with a pause of `pauseMs` after the first;
 * `idleMs`: the longest silence of a stream.
 */
export type Dataset = { url: string; apiKey?: string | undefined } & Partial<typeof usual>;

/** A block as a portal sends it; a header alone marks how far a stream came. */
export type PortalBlock = z.infer<typeof portalBlock>;

const record = z.record(z.string(), z.unknown());
const hash = z.string().regex(/^0x[0-9a-f]{64}$/);
const portalBlock = z.object({
  header: z.looseObject({ number: z.number().int().min(0), hash, parentHash: hash }),
  logs: z.array(record).default([]),
  transactions: z.array(record).default([]),
});

/** The fields and logs of a stream. It goes on without fields of `optional` that the dataset lacks. */
export type PortalQuery = {
  fields: Record<"block" | "log" | "transaction", readonly string[]>;
  optional: readonly string[];
  logs: readonly Record<string, unknown>[];
};

const headSchema = z.object({ number: z.number().int().min(0), hash });
const metadataSchema = z.looseObject({ start_block: z.number().int().min(0).default(0) });

/** The first and the last finalized block of a dataset. Throws an ArchiveError if the portal has no such dataset. */
export async function readDatasetRange(dataset: Dataset) {
  const { start_block: first } = await requestJson(dataset, "metadata", metadataSchema);
  const { number: last, hash } = await requestJson(dataset, "finalized-head", headSchema);
  return { first, last, hash };
}

/**
 * All blocks with logs of a range, and headers alone between them, ascending; each follows the one before if that is
 * its parent. Resumes after its last block whatever ends the stream. Throws an ArchiveError for a portal that
 * contradicts itself, refuses the request, or sends nothing new in several tries.
 */
export async function* streamBlocks(
  dataset: Dataset,
  { from, to }: BlockRange,
  query: PortalQuery,
): AsyncGenerator<PortalBlock> {
  let last: PortalBlock["header"] | undefined;
  let refused: readonly string[] = [];
  const read = async function* () {
    const next = last === undefined ? from : last.number + 1;
    const request = buildRequest(query, { from: next, to }, { refused, parentHash: last?.hash });
    for await (const line of readStream(dataset, request)) {
      const block = parseBlock(line);
      requireNext(dataset, block.header, { from: next, to }, last);
      last = block.header;
      yield block;
    }
  };
  for (let failed = 0; (last?.number ?? from - 1) < to; ) {
    const before = last;
    let problem: unknown = new TransientError("ended the stream");
    try {
      yield* read();
    } catch (error) {
      problem = error;
    }
    failed = last === before ? failed + 1 : 0;
    // Other chunks may have a field that one lacks.
    refused = last === before ? refused : [];
    const at = (last?.number ?? from - 1) + 1;
    if (!(problem instanceof UnknownFieldError)) await pause(dataset, problem, { failed, at });
    else if (query.optional.includes(problem.field) && !refused.includes(problem.field)) {
      refused = [...refused, problem.field];
      failed = 0;
    } else
      throw new ArchiveError(
        `The dataset of ${nameHost(dataset.url)} lacks the field ${problem.field} from block ${at} on. Record these blocks over RPC.`,
      );
  }
}

function buildRequest(
  { fields, logs }: PortalQuery,
  { from, to }: BlockRange,
  { refused, parentHash }: { refused: readonly string[]; parentHash: string | undefined },
) {
  const select = (names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => !refused.includes(name)).map((name) => [name, true]));
  return {
    ...{ type: "evm", fromBlock: from, toBlock: to, logs },
    ...(parentHash === undefined ? {} : { parentBlockHash: parentHash }),
    fields: Object.fromEntries(Object.entries(fields).map(([table, names]) => [table, select(names)])),
  };
}

function parseBlock(line: string): PortalBlock {
  const parsed = portalBlock.safeParse(isLean(line) ? parsedJson(line) : undefined);
  if (parsed.success) return parsed.data;
  throw new TransientError("sent a line that is not a block");
}

function requireNext(
  { url }: Dataset,
  { number, parentHash }: PortalBlock["header"],
  { from, to }: BlockRange,
  last: PortalBlock["header"] | undefined,
): void {
  const fault =
    number < Math.max(from, (last?.number ?? -1) + 1) || number > to
      ? `sent block ${number} out of order`
      : last?.number === number - 1 && last.hash !== parentHash
        ? `sent block ${number}, which does not follow the block before it`
        : undefined;
  if (fault !== undefined) throw new ArchiveError(`${nameHost(url)} ${fault}.`);
}

// --- Requests ---

const usual = { tries: 10, pauseMs: 500, idleMs: 60_000 };
const longestPauseMs = 30_000;
const maxLineCharacters = 32 * 1024 * 1024;

/** Something that the next try may not meet again. */
class TransientError extends Error {
  readonly retryAfterMs: number | undefined;
  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The dataset lacks a field, at least from this block on. */
class UnknownFieldError extends Error {
  readonly field: string;
  constructor(field: string) {
    super(`does not know the field ${field}`);
    this.field = field;
  }
}

const nameHost = (url: string) => new URL(url).host;

async function pause(
  { url, tries = usual.tries, pauseMs = usual.pauseMs }: Dataset,
  problem: unknown,
  { failed, at }: { failed: number; at: number },
): Promise<void> {
  if (problem instanceof ArchiveError) throw problem;
  const { message, cause } = problem as Error;
  const reason = escapeControls(cause instanceof Error ? cause.message : message);
  if (failed >= tries)
    throw new ArchiveError(
      `${nameHost(url)} ${reason}, ${failed} times in a row before block ${at}. Run the command again later: it resumes there.`,
    );
  const { retryAfterMs } = problem as Partial<TransientError>;
  const ms =
    retryAfterMs === undefined
      ? Math.min(longestPauseMs, pauseMs * 2 ** (failed - 1))
      : Math.min(10 * longestPauseMs, retryAfterMs);
  if (failed > 0) await wait(ms);
}

async function requestJson<Result>(
  dataset: Dataset,
  path: string,
  schema: z.ZodType<Result>,
): Promise<Result> {
  for (let failed = 1; ; failed++) {
    try {
      const response = await send(dataset, path);
      const parsed = schema.safeParse(parsedJson(await response.text()));
      if (parsed.success) return parsed.data;
      throw new TransientError(`answered ${path} with something else`);
    } catch (error) {
      await pause(dataset, error, { failed, at: 0 });
    }
  }
}

async function send({ url, apiKey, idleMs = usual.idleMs }: Dataset, path: string, body?: unknown) {
  const stopped = new AbortController();
  // Until the answer begins; `readStream` watches what follows.
  const timer = setTimeout(() => stopped.abort(new TransientError("did not respond")), idleMs);
  const headers = {
    ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const response = await fetch(`${url}/${path}`, {
      ...{ headers, ...request, signal: stopped.signal, redirect: "error" },
    });
    if (response.status !== 200) throw await explainStatus(url, response);
    return response;
  } finally {
    clearTimeout(timer);
  }
}

// A field that is unknown, or that a chunk lacks: the portal names columns in snake case.
const unknownField = /unknown field `(\w+)`|column '(\w+)' is not found in '(\w+)'/;
const toCamelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

async function explainStatus(url: string, response: Response): Promise<Error> {
  const { status } = response;
  // Without a body: the replica that answers has not got the block yet.
  if (status === 204) return new TransientError("has not got the block yet");
  const text = escapeControls((await response.text()).slice(0, 500));
  const [, known, column, table = ""] = unknownField.exec(text) ?? [];
  // Both logs and transactions have optional fields of blocks' names, none of which is requested of them.
  const field =
    known ?? (table === "blocks" ? column && toCamelCase(column) : column && `${table}.${column}`);
  if (status === 400 && field !== undefined) return new UnknownFieldError(field);
  if ([409, 429, 500, 502, 503, 504, 529].includes(status))
    return new TransientError(`responded with ${status}`, readRetryAfter(response));
  const remedy = status === 404 ? "It has no such dataset." : text;
  return new ArchiveError(`${nameHost(url)} responded with ${status}: ${remedy}`);
}

async function* readStream(dataset: Dataset, request: unknown): AsyncGenerator<string> {
  // The portal reads so many chunks ahead.
  const { body } = await send(dataset, "finalized-stream?buffer_size=100", request);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, lines] = ["", 0];
  try {
    for (;;) {
      const { done, value = "" } = (await withinIdle(dataset, reader?.read())) ?? { done: true };
      const parts = `${rest}${value}`.split("\n");
      rest = done ? "" : (parts.pop() ?? "");
      if (rest.length > maxLineCharacters)
        throw new ArchiveError(`${nameHost(dataset.url)} sends a line without end.`);
      for (const line of parts) {
        if (line === "") continue;
        lines += 1;
        yield line;
      }
      if (done) break;
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
  // "No blocks" has a line too: the header of the last block.
  if (lines === 0) throw new TransientError("sent an empty stream");
}

function withinIdle<Result>({ idleMs = usual.idleMs }: Dataset, read: Promise<Result> | undefined) {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TransientError("sent nothing for a while")), idleMs);
  });
  return Promise.race([read, silence]).finally(() => clearTimeout(timer));
}
