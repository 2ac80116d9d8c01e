import type { SubgraphLimits } from "../../../config/limits.ts";
import { type Head, headUpTo, parseHead } from "../../../ponder/checkpoints.ts";
import type { Database } from "../../database/client.ts";
import type { CompiledRequest, RootField } from "../compile/compile.ts";
import { danglingMark } from "../compile/compile.ts";
import type { BlockHashes } from "../request/block.ts";
import { metaJson, unservedBlock } from "../request/block.ts";
import { type ErrorEntry, QueryError } from "../schema/errors.ts";

/** Response to one request: the body, one text unless it is long, and the block that it was read at. */
export type Answer = { body: string | readonly string[]; head: Head | undefined };

/** What a request runs with. */
export type ExecuteOptions = {
  /** Runs a statement of one row, for `limits.timeoutMs` at most. */
  row: Database["row"];
  limits: SubgraphLimits;
  /** Shown as `_meta.deployment`. */
  deployment: string;
  /** SQL expression that reads the root chain's head. */
  headSql: string;
  /** The last block of the root chain that is indexed, if its range has an end. */
  endBlock: () => Head | undefined;
  hashes: (head: Head) => Promise<BlockHashes | undefined>;
  /** Shown as `_meta.hasIndexingErrors`. */
  hasErrors: () => boolean;
};

/**
 * Runs a compiled request. All root fields are read by one statement, so that a response is of one moment,
 * that of its `_meta`.
 */
export async function executeRequest(
  request: CompiledRequest,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<Answer> {
  const { fields, statement, extensions } = request;
  const failed = new Map(request.failed);
  const texts = fields.filter((field) => field.kind === "sql").filter(({ group }) => !failed.has(group));
  const columns = [options.headSql, ...texts.map(({ sql }) => sql), ...extensions.map(({ sql }) => sql)];
  const sql = withShared(request, upToBytes(columns, options.limits));
  const row = await readRow(options, statement.finish(sql), signal);
  const head = headUpTo(options.endBlock(), parseHead(row[0] ?? null));
  const unserved = await findUnservedBlock(fields, { ...options, head });
  if (unserved !== undefined) return { body: JSON.stringify({ errors: [unserved.entry] }), head };
  const values = new Map<RootField, string>(texts.map((field, index) => [field, row[index + 1] ?? "null"]));
  for (const [field, text] of values) {
    const dangling = findDangling(text);
    if (dangling !== undefined && !failed.has(field.group)) failed.set(field.group, dangling);
  }
  const data: string[] = [];
  for (const field of fields) {
    if (failed.has(field.group)) continue;
    const value = await fieldValue(request, field, values, { ...options, head });
    if (value === undefined) continue;
    data.push(`${data.length === 0 ? "" : ","}"${field.selected.key}":`, value);
  }
  const hints = extensions.map((extension, place) => ({
    ...extension,
    text: row[texts.length + 1 + place] ?? "null",
  }));
  return { body: bodyOf(data, [...failed.values()], hints, options.limits), head };
}

// With the rows that the statement's fields share, and the time that both generations are read at.
function withShared({ context, statement }: CompiledRequest, selected: string): string {
  const tables = [...context.shared.values()].map(
    ({ table, ids, rowsOf }) => `${table} AS MATERIALIZED (${rowsOf(statement.bindList(ids, "text[]"))})`,
  );
  const sql = [...tables, selected].join(", ");
  const all = [...(context.v2 && sql.includes("v2_at") ? [context.v2.at] : []), ...tables];
  return all.length === 0 ? selected : `WITH ${all.join(", ")} ${selected}`;
}

// Without a row where the columns are longer together than a response may be: Postgres does not send them.
function upToBytes(columns: readonly string[], { responseBytes }: SubgraphLimits): string {
  const named = columns.map((sql, place) => `${sql} AS c${place}`);
  const bytes = columns.map((_, place) => `coalesce(octet_length(r.c${place})::bigint, 0)`);
  return `SELECT r.* FROM (SELECT ${named.join(", ")} OFFSET 0) r WHERE ${bytes.join(" + ")} <= ${responseBytes}`;
}

async function readRow(
  { row, limits }: ExecuteOptions,
  { sql, values }: { sql: string; values: string[] },
  signal: AbortSignal,
): Promise<(string | null)[]> {
  let found: (string | null)[];
  try {
    found = await row(sql, values, signal);
  } catch (error) {
    if (isTimeout(error)) {
      throw new QueryError(
        `Query timed out after ${limits.timeoutMs} ms. Narrow it with \`where\`, or page by \`id_gt\` instead of \`skip\`.`,
      );
    }
    // Classes 22 and 54: the error is in the values or the size of the query, not in the database.
    if (/^(22|54)/.test(stateOf(error)))
      throw new QueryError(`Store error: ${error instanceof Error ? error.message : error}`);
    throw error;
  }
  if (found.length === 0) throw tooLong(limits);
  return found;
}

// From the signal, or from Postgres for a statement that was cancelled.
function isTimeout(error: unknown): boolean {
  return (error instanceof DOMException && error.name === "TimeoutError") || stateOf(error) === "57014";
}

function stateOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

// subgraph: a block that cannot be served fails the request as a whole, whatever its other root fields ask for.
async function findUnservedBlock(
  fields: readonly RootField[],
  source: ExecuteOptions & { head: Head | undefined },
): Promise<QueryError | undefined> {
  let checked: number | undefined;
  for (const { group, constraint } of fields) {
    const error = group === checked ? undefined : await unservedBlock(constraint, source);
    if (error !== undefined) return error;
    checked = group;
  }
  return undefined;
}

function findDangling(text: string): QueryError | undefined {
  const start = text.indexOf(danglingMark);
  if (start < 0) return undefined;
  const field = text.slice(start + 1, text.indexOf(danglingMark, start + 1));
  return new QueryError(`Null value resolved for non-null field \`${field}\``);
}

async function fieldValue(
  request: CompiledRequest,
  field: RootField,
  values: ReadonlyMap<RootField, string>,
  source: ExecuteOptions & { head: Head | undefined },
): Promise<string | undefined> {
  if (field.kind === "sql") return values.get(field);
  if (field.kind === "meta") return metaJson(request.context, field.selected, field.constraint, source);
  return field.text;
}

function bodyOf(
  data: string[],
  errors: QueryError[],
  hints: { member: string; key: string; text: string }[],
  limits: SubgraphLimits,
): Answer["body"] {
  const entries: ErrorEntry[] = errors.map(({ entry }) => entry);
  const hasData = data.length > 0 || entries.length === 0;
  const others: string[] = [];
  if (entries.length > 0) others.push(`"errors":${JSON.stringify(entries)}`);
  if (hints.length > 0) others.push(`"extensions":${hintsText(hints)}`);
  const rest = others.join(",");
  const parts = hasData ? ['{"data":{', ...data, others.length === 0 ? "}}" : `},${rest}}`] : [`{${rest}}`];
  let length = 0;
  for (const part of parts) length += part.length;
  if (length > limits.responseBytes) throw tooLong(limits);
  return length >= longBody ? parts : parts.join("");
}

// Up to this length a body is in one piece.
const longBody = 262_144;

function tooLong({ responseBytes }: SubgraphLimits): QueryError {
  return new QueryError(
    `The response has more than ${responseBytes} bytes. Ask for fewer entities with \`first\`, or for fewer fields.`,
  );
}

function hintsText(hints: { member: string; key: string; text: string }[]): string {
  const members = [...new Set(hints.map(({ member }) => member))].map((member) => {
    const entries = hints.filter((hint) => hint.member === member).map(({ key, text }) => `"${key}":${text}`);
    return `"${member}":{${entries.join(",")}}`;
  });
  return `{${members.join(",")}}`;
}
