import type { SubgraphLimits } from "../../../config/limits.ts";
import { parseBranch } from "../../../ponder/branch.ts";
import { type Head, headUpTo, parseHead } from "../../../ponder/checkpoints.ts";
import { BusyError, type Database } from "../../../read/sql/client.ts";
import { atMoment, MomentGoneError } from "../../../read/sql/moment.ts";
import { prepareOften } from "../../../read/sql/prepared.ts";
import { isLate } from "../../kit/errors.ts";
import { type CompiledRequest, danglingMark } from "../compile/compile.ts";
import {
  type BlockConstraint,
  type MetaSource,
  type PastSource,
  pinnedPosition,
  type ReadPosition,
  unservedBlock,
} from "../request/block.ts";
import { type ErrorEntry, QueryError } from "../schema/errors.ts";

/**
 * The response to a request: the body, in one piece unless it is long, and the block that it was read at. `holds`:
 * until the next block, or, as all of it is of former blocks, longer; undefined if it has errors.
 */
export type SubgraphAnswer = {
  body: string | readonly string[];
  head: Head | undefined;
  holds?: "for the block" | "as past" | undefined;
};

type ExecuteOptions = Omit<MetaSource, "head"> & {
  /** Runs a statement of one row, for `limits.timeoutMs` at most. */
  row: Database["row"];
  limits: SubgraphLimits;
  /** SQL expression that reads the root chain's head. */
  headSql: string;
  /** Where former blocks are read; undefined if only the latest one can be. */
  past: () => PastSource | undefined;
  /** End of the root chain's block range, if it has one. */
  endBlock: () => Head | undefined;
  /** Waits shortly for a block of the root chain; resolves with whether it is indexed. */
  reach?: ((block: number, signal: AbortSignal) => Promise<boolean>) | undefined;
};

/**
 * Runs a compiled request. One statement reads all root fields, so that the response and its `_meta` are of one moment.
 */
export async function executeRequest(
  request: CompiledRequest,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<SubgraphAnswer> {
  const { context, fields, extensions, failed } = request;
  const columns = [
    ...fields.filter((field) => field.kind === "sql").filter(({ group }) => !failed.has(group)),
    ...extensions,
  ];
  const positions = await findPositions(fields, options, signal);
  if (positions instanceof QueryError)
    return { body: JSON.stringify({ errors: [positions.entry] }), head: undefined };
  const texts = new Map<unknown, string>();
  let latest: Head | undefined;
  for (const [text, position] of positions) {
    const own = columns.filter(({ constraint }) => formatConstraint(constraint, options) === text);
    const sql = [options.headSql, ...own.map((column) => column.sql)];
    const statement = context.statement.finish(buildUpToBytesSql(sql, options.limits));
    const row = await atMoment(position.moment, () => readRow(options, statement, signal));
    own.forEach((column, index) => {
      texts.set(column, row[index + 1] ?? "null");
    });
    if (position.moment === undefined)
      position.head = headUpTo(options.endBlock(), parseHead(row[0] ?? null));
    if (latest === undefined || (position.head?.number ?? 0) > latest.number) latest = position.head;
  }
  const sourceOf = (constraint: BlockConstraint): MetaSource => ({
    ...options,
    head: positions.get(formatConstraint(constraint, options))?.head,
  });
  // subgraph: a block that cannot be served fails the whole request.
  for (const { constraint } of fields) {
    if (isPinned(constraint, options)) continue;
    const unserved = await unservedBlock(constraint, sourceOf(constraint));
    if (unserved === undefined) continue;
    if (constraint.kind === "atLeast" && (await options.reach?.(constraint.number, signal)))
      return executeRequest(request, { ...options, reach: undefined }, signal);
    return { body: JSON.stringify({ errors: [unserved.entry] }), head: latest };
  }
  const read = columns.filter((column) => "group" in column);
  for (const field of read) {
    const dangling = findDangling(texts.get(field) ?? "");
    if (dangling !== undefined && !failed.has(field.group)) failed.set(field.group, dangling);
  }
  const data: string[] = [];
  for (const field of fields) {
    if (failed.has(field.group)) continue;
    const value = field.kind === "sql" ? texts.get(field) : await field.read(sourceOf(field.constraint));
    if (value !== undefined) data.push(`${data.length === 0 ? "" : ","}"${field.key}":`, value);
  }
  const hints = Map.groupBy(extensions, ({ member }) => member);
  const shown = Array.from(hints, ([member, entries]) => {
    const values = entries.map((entry) => [entry.key, JSON.parse(texts.get(entry) ?? "null")]);
    return [member, Object.fromEntries(values)];
  });
  const rest = {
    ...(failed.size > 0 && { errors: Array.from(failed.values(), ({ entry }) => entry) }),
    ...(shown.length > 0 && { extensions: Object.fromEntries(shown) }),
  };
  const holds = positions.has("latest") ? "for the block" : "as past";
  return {
    body: writeBody(data, rest, options.limits),
    head: latest,
    holds: failed.size > 0 ? undefined : holds,
  };
}

const isPinned = (
  constraint: BlockConstraint,
  { past }: ExecuteOptions,
): constraint is BlockConstraint & { kind: "number" | "hash" } =>
  past() !== undefined && (constraint.kind === "number" || constraint.kind === "hash");

// Each block is a statement of its own.
const maxBlocks = 20;

// The latest block for all fields that no other is pinned to.
const formatConstraint = (constraint: BlockConstraint, options: ExecuteOptions) =>
  isPinned(constraint, options) ? JSON.stringify(constraint) : "latest";

// The positions that the fields are read at, by the text of their constraints; the error of the request if one of them
// cannot be.
async function findPositions(
  fields: CompiledRequest["fields"],
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<Map<string, ReadPosition> | QueryError> {
  const positions = new Map<string, ReadPosition>();
  const past = options.past();
  const pinned = new Map(
    fields.flatMap(({ constraint }) =>
      isPinned(constraint, options) ? [[formatConstraint(constraint, options), constraint]] : [],
    ),
  );
  if (fields.some(({ constraint }) => !isPinned(constraint, options)) || pinned.size === 0)
    positions.set("latest", { head: undefined });
  if (past === undefined || pinned.size === 0) return positions;
  if (pinned.size > maxBlocks)
    return new QueryError(
      `The document reads ${pinned.size} blocks, more than ${maxBlocks}. Split it into several requests.`,
    );
  const [text = null, from, branchText] = await options.row(
    `SELECT ${options.headSql}, ${past.fromSql}::text, ${past.branchSql}`,
    [],
    signal,
  );
  const branch = parseBranch(branchText);
  const head = headUpTo(options.endBlock(), parseHead(text));
  for (const [key, constraint] of pinned) {
    const position = await pinnedPosition(constraint, past, { ...options, head, from: Number(from), branch });
    if (position instanceof QueryError) return position;
    positions.set(key, position);
  }
  return positions;
}

// Selects no row if its columns are longer together than a response may be, so that Postgres does not send them.
function buildUpToBytesSql(columns: readonly string[], { responseBytes }: SubgraphLimits): string {
  const named = columns.map((sql, index) => `${sql} AS c${index}`);
  const bytes = columns.map((_, index) => `coalesce(octet_length(r.c${index})::bigint, 0)`);
  return `SELECT r.* FROM (SELECT ${named.join(", ")} OFFSET 0) r WHERE ${bytes.join(" + ")} <= ${responseBytes}`;
}

async function readRow(
  { row, limits }: ExecuteOptions,
  { sql, values, isPlannedOnce }: { sql: string; values: string[]; isPlannedOnce: boolean },
  signal: AbortSignal,
): Promise<(string | null)[]> {
  let found: (string | null)[];
  try {
    found = await row(prepareOften(sql, { isPlannedOnce }), values, signal);
  } catch (error) {
    if (isLate(error)) {
      throw new QueryError(
        `Query timed out after ${limits.timeoutMs} ms. Narrow it with \`where\`, or page by \`id_gt\` instead of \`skip\`.`,
      );
    }
    if (error instanceof MomentGoneError)
      throw new QueryError("The index changed during the block lookup. Try again in a moment.");
    // SQLSTATE classes 22 and 54: the values or the size of the query are at fault, not the database.
    if (error instanceof Error && "code" in error && /^(22|54)/.test(String(error.code)))
      throw new QueryError(`Store error: ${error.message}`);
    throw error;
  }
  if (found.length === 0) throw createTooLongError(limits);
  return found;
}

function findDangling(text: string): QueryError | undefined {
  const start = text.indexOf(danglingMark);
  if (start < 0) return undefined;
  const field = text.slice(start + 1, text.indexOf(danglingMark, start + 1));
  return new QueryError(`Null value resolved for non-null field \`${field}\``);
}

// The response as JSON. It has no `data` if errors left none.
function writeBody(
  data: string[],
  rest: { errors?: ErrorEntry[] },
  { responseBytes }: SubgraphLimits,
): SubgraphAnswer["body"] {
  const others = JSON.stringify(rest).slice(1);
  const hasData = data.length > 0 || rest.errors === undefined;
  const parts = hasData ? ['{"data":{', ...data, others === "}" ? "}}" : `},${others}`] : [`{${others}`];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length > responseBytes) throw createTooLongError({ responseBytes });
  return length >= longBody ? parts : parts.join("");
}

// Characters from which a body stays in parts.
const longBody = 262_144;

function createTooLongError({ responseBytes }: Pick<SubgraphLimits, "responseBytes">): QueryError {
  return new QueryError(
    `The response has more than ${responseBytes} bytes. Ask for fewer entities with \`first\`, or for fewer fields.`,
  );
}

// A request that joins another may see data this much older than its own, at most.
const joinableMs = 50;

type Flight<Value> = { value: Promise<Value>; since: number; waiting: number; stop: AbortController };

// In place of the value of a run that nobody can join any more.
const landed = new Promise<never>(() => undefined);

/**
 * Runs equal requests of the same 50 ms once. A run stops when all who wait for it have gone. If it ends with
 * BusyError, which may concern its first client alone, each other request runs alone.
 */
export function joinEqual<Value>(now: () => number = () => performance.now()) {
  const flights = new Map<string, Flight<Value>>();

  function begin(key: string, run: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const stop = new AbortController();
    const value = run(stop.signal);
    const flight: Flight<Value> = { value, since: now(), waiting: 0, stop };
    flights.set(key, flight);
    // A map that grows keeps its former entries in memory until the next collection of the whole heap.
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
      flight.value = landed;
    };
    stop.signal.addEventListener("abort", land);
    value.then(land, land);
    return flight;
  }

  /** The value of `run` or of an equal run. Rejects with the reason of `signal` once that aborts. */
  return async (key: string, signal: AbortSignal, run: (signal: AbortSignal) => Promise<Value>) => {
    signal.throwIfAborted();
    const found = flights.get(key);
    const joined = found !== undefined && now() - found.since < joinableMs ? found : undefined;
    const flight = joined ?? begin(key, run);
    flight.waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const leave = () => {
      flight.waiting -= 1;
      if (flight.waiting === 0) flight.stop.abort(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    flight.value.then(resolve, reject);
    try {
      return await promise;
    } catch (error) {
      if (joined === undefined || !(error instanceof BusyError)) throw error;
      return await run(signal);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
