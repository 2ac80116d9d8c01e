import type { SubgraphLimits } from "../../../config/limits.ts";
import { type BlockRef, parseHead } from "../../../ponder/checkpoints.ts";
import type { Database } from "../../database/client.ts";
import { danglingMark } from "../compile/compile.ts";
import type { CompiledRequest, RootField } from "../compile/compile-request.ts";
import { type BlockHashes, checkConstraint } from "../request/block-constraint.ts";
import { type ErrorEntry, QueryError } from "../schema/errors.ts";
import { metaJson } from "./meta.ts";

/** Response to one request: the body's text, and the block that it was read at. */
export type Answer = { body: string; head: BlockRef | undefined };

/** What a request runs with. */
export type ExecuteOptions = {
  /** Runs a statement of one row, for `limits.timeoutMs` at most. */
  row: Database["row"];
  limits: SubgraphLimits;
  /** Shown as `_meta.deployment`. */
  deployment: string;
  /** SQL expression that reads the root chain's head. */
  headSql: string;
  hashes: (head: BlockRef) => Promise<BlockHashes | undefined>;
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
  // Equal fields under several keys are read once.
  const places = new Map([...new Set(texts.map(({ sql }) => sql))].map((sql, place) => [sql, place + 1]));
  const columns = [options.headSql, ...places.keys(), ...extensions.map(({ sql }) => sql)];
  const columnTexts = await readRow(options, statement.finish(`SELECT ${columns.join(", ")}`), signal);
  const head = parseHead(columnTexts[0] ?? null);
  await checkGroups(fields, failed, { ...options, head });
  const values = new Map<RootField, string>(
    texts.map((field) => [field, columnTexts[places.get(field.sql) ?? 0] ?? "null"]),
  );
  for (const [field, text] of values) {
    const dangling = findDangling(text);
    if (dangling !== undefined && !failed.has(field.group)) failed.set(field.group, dangling);
  }
  const parts: string[] = [];
  for (const field of fields) {
    if (failed.has(field.group)) continue;
    const text = await fieldText(request, field, values, { ...options, head });
    if (text !== undefined) parts.push(`"${field.selected.key}":${text}`);
  }
  const hints = extensions.map((extension, place) => ({
    ...extension,
    text: columnTexts[places.size + 1 + place] ?? "null",
  }));
  return { body: bodyText(parts, [...failed.values()], hints, options.limits), head };
}

async function readRow(
  { row, limits }: ExecuteOptions,
  { sql, values }: { sql: string; values: string[] },
  signal: AbortSignal,
): Promise<(string | null)[]> {
  try {
    return await row(sql, values, signal);
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
}

// From the signal, or from Postgres for a statement that was cancelled.
function isTimeout(error: unknown): boolean {
  return (error instanceof DOMException && error.name === "TimeoutError") || stateOf(error) === "57014";
}

function stateOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

async function checkGroups(
  fields: readonly RootField[],
  failed: Map<number, QueryError>,
  source: ExecuteOptions & { head: BlockRef | undefined },
): Promise<void> {
  const checked = new Set<number>();
  for (const { group, constraint } of fields) {
    if (failed.has(group) || checked.has(group)) continue;
    checked.add(group);
    try {
      await checkConstraint(constraint, source);
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      failed.set(group, error);
    }
  }
}

function findDangling(text: string): QueryError | undefined {
  const start = text.indexOf(danglingMark);
  if (start < 0) return undefined;
  const field = text.slice(start + 1, text.indexOf(danglingMark, start + 1));
  return new QueryError(`Null value resolved for non-null field \`${field}\``);
}

async function fieldText(
  request: CompiledRequest,
  field: RootField,
  values: ReadonlyMap<RootField, string>,
  source: ExecuteOptions & { head: BlockRef | undefined },
): Promise<string | undefined> {
  if (field.kind === "sql") return values.get(field);
  if (field.kind === "meta") return metaJson(request.context, field.selected, field.constraint, source);
  return field.text;
}

function bodyText(
  parts: string[],
  errors: QueryError[],
  hints: { member: string; key: string; text: string }[],
  { responseBytes }: SubgraphLimits,
): string {
  // Counted before they are joined: a long part may be there under many keys.
  checkLength(parts, responseBytes);
  const entries: ErrorEntry[] = errors.map(({ entry }) => entry);
  const body: string[] = [];
  if (parts.length > 0 || entries.length === 0) body.push(`"data":{${parts.join(",")}}`);
  if (entries.length > 0) body.push(`"errors":${JSON.stringify(entries)}`);
  if (hints.length > 0) body.push(`"extensions":${hintsText(hints)}`);
  const text = `{${body.join(",")}}`;
  checkLength([text], responseBytes);
  return text;
}

function checkLength(parts: readonly string[], most: number): void {
  if (parts.reduce((sum, part) => sum + part.length, 0) <= most) return;
  throw new QueryError(
    `The response has more than ${most} bytes. Ask for fewer entities with \`first\`, or for fewer fields.`,
  );
}

function hintsText(hints: { member: string; key: string; text: string }[]): string {
  const members = [...new Set(hints.map(({ member }) => member))].map((member) => {
    const entries = hints.filter((hint) => hint.member === member).map(({ key, text }) => `"${key}":${text}`);
    return `"${member}":{${entries.join(",")}}`;
  });
  return `{${members.join(",")}}`;
}
