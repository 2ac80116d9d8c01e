// Writes the index to a file: `npm run export -- --what names|registrations|events --format parquet|csv|ndjson`.

import { existsSync } from "node:fs";
import { rename, rm, writeFile as writeText } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { placesOf } from "../src/api/names/places.ts";
import { type Config, ConfigurationError, readConfig } from "../src/config/environment.ts";
import { namespaces } from "../src/deployments/namespaces.ts";
import { escapeControls, seeOperations } from "../src/log/json-log.ts";
import { headSql, parseHead } from "../src/ponder/checkpoints.ts";
import { hasTable, isDatabaseAway, quoted, type Statement } from "../src/ponder/sql-client.ts";
import { type Format, formats, writeFile } from "./export/files.ts";
import { type FileRow, type Subject, sourceOf, subjects } from "./export/rows.ts";
import { holdEmbeddedDatabase, openDatabase, PreflightError } from "./preflight.ts";

const usage = `Usage: npm run export -- --what names|registrations|events --format parquet|csv|ndjson [--output <file>] [--force]

Writes all names, all leases with their dates, or all events to a file (<what>.<format> unless --output is given), as they were at one
block of each chain. The blocks are in the metadata of a Parquet file, and in <file>.meta.json beside the others. Columns are the
members of the rows under /v1. The file appears when it is complete; an existing one is replaced only with --force. On Postgres the
indexer may run meanwhile; the embedded database belongs to one process: stop it first.`;

/** What the arguments ask for. */
type Asked = { what: Subject; format: Format; output: string; isForced: boolean };

/** Reads the arguments. Throws a PreflightError that lists every fault of them. */
export function parseExport(args: string[]): Asked {
  const strings = {
    what: { type: "string" },
    format: { type: "string" },
    output: { type: "string" },
  } as const;
  const options = { ...strings, force: { type: "boolean" } } as const;
  const { values, tokens } = parseArgs({ args, options, strict: false, tokens: true });
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind === "positional") faults.push(`Unexpected argument ${JSON.stringify(token.value)}.`);
    if (token.kind !== "option") continue;
    if (!(token.name in options)) faults.push(`Unknown option ${token.rawName}.`);
    else if (seen.has(token.name)) faults.push(`--${token.name} is given twice.`);
    seen.add(token.name);
  }
  const one = <T extends string>(name: "what" | "format", known: readonly T[]): T | undefined => {
    const found = known.find((other) => other === values[name]);
    const given = values[name] === undefined ? "is missing" : `is ${JSON.stringify(values[name])}`;
    if (found === undefined) faults.push(`--${name} ${given}; expected ${known.join(", ")}.`);
    return found;
  };
  const [what, format] = [one("what", subjects), one("format", formats)];
  const output = values.output ?? `${what}.${format}`;
  if (typeof output !== "string" || output === "") faults.push("--output needs a file.");
  if (faults.length > 0 || what === undefined || format === undefined)
    throw new PreflightError(`${faults.join("\n")}\n\n${usage}`);
  return { what, format, output: String(output), isForced: values.force === true };
}

type Settings = Pick<Config, "chains" | "databaseSchema" | "namespace" | "plugins">;

/** The last indexed block of each chain. */
type Blocks = Readonly<Record<string, { block_number: number; timestamp: string }>>;

/** What an export gives: `rows` have to be read to their end before the database is closed. */
export type Export = { blocks: Blocks; rows: AsyncIterable<FileRow>; source: ReturnType<typeof sourceOf> };

/** Opens a snapshot of the index and reads it row by row. Throws a PreflightError if the index is not complete. */
export async function openExport(run: Statement, config: Settings, what: Subject): Promise<Export> {
  const schema = quoted(config.databaseSchema);
  if (!(await hasTable(run, `${schema}.domain`)))
    throw new PreflightError(`Schema ${schema} has no index of names.`);
  await run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  await run(`SET LOCAL search_path TO ${schema}`);
  const { rows } = await run("SELECT value ->> 'is_ready' AS ready FROM _ponder_meta WHERE key = 'app'");
  if (rows[0]?.["ready"] !== "1")
    throw new PreflightError(
      `The index in schema ${schema} is not complete yet. Wait until its backfill has ended.`,
    );
  const heads = new Map<number, { number: number; timestamp: number }>();
  for (const { id } of config.chains) {
    const [row] = (await run(`SELECT ${headSql(id)} AS head`)).rows;
    const head = parseHead((row?.["head"] ?? null) as string | null);
    if (head !== undefined) heads.set(id, head);
  }
  const places = placesOf(namespaces[config.namespace], config.plugins);
  const source = sourceOf(what, places);
  const times = `{${places.map(({ chainId }) => heads.get(chainId)?.timestamp ?? 0).join(",")}}`;
  const blocks = Object.fromEntries(
    [...heads].map(([id, { number, timestamp }]) => [
      id,
      { block_number: number, timestamp: String(timestamp) },
    ]),
  );
  async function* all() {
    for (const statement of source.statements)
      for await (const found of rowsOf(run, statement, times)) yield source.rowOf(found as never, places);
    await run("COMMIT");
  }
  return { blocks, rows: all(), source };
}

const rowsAtOnce = 2_000;

// A cursor takes no bound value in a declaration that PGlite would describe first: the times are digits and commas.
async function* rowsOf(run: Statement, statement: string, times: string) {
  await run(
    `DECLARE exported NO SCROLL CURSOR FOR ${statement.replaceAll("$1::bigint[]", `'${times}'::bigint[]`)}`,
  );
  for (;;) {
    const { rows } = await run(`FETCH ${rowsAtOnce} FROM exported`);
    for (const row of rows) yield row["found"];
    if (rows.length < rowsAtOnce) break;
  }
  await run("CLOSE exported");
}

/** Writes an export to its file, which appears when it is complete. Returns the number of rows. */
export async function writeExport(
  { blocks, rows, source }: Export,
  { what, format, output }: Omit<Asked, "isForced">,
): Promise<number> {
  let count = 0;
  async function* counted() {
    for await (const row of rows) {
      count += 1;
      yield row;
    }
  }
  const part = `${output}.part`;
  const metadata = { what, blocks: JSON.stringify(blocks) };
  try {
    await writeFile(part, format, { columns: source.columns, rows: counted(), metadata });
    if (format !== "parquet")
      await writeText(`${output}.meta.json`, `${JSON.stringify({ what, rows: count, blocks }, null, 2)}\n`);
    await rename(part, output);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return count;
}

/** Refuses an output that is there already. */
export function requireFree({ output, format, isForced }: Pick<Asked, "output" | "format" | "isForced">) {
  const files = [output, ...(format === "parquet" ? [] : [`${output}.meta.json`])];
  const taken = files.find((file) => existsSync(file));
  if (taken !== undefined && !isForced)
    throw new PreflightError(`${taken} exists already. Choose another --output, or add --force.`);
}

async function main(args: string[]): Promise<string> {
  if (args.includes("--help")) return usage;
  const asked = parseExport(args);
  requireFree(asked);
  const envFile = join(process.cwd(), ".env.local");
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const config = readConfig();
  if (config.databaseUrl === undefined && existsSync(config.pgliteDirectory))
    holdEmbeddedDatabase(config.pgliteDirectory);
  const database = await openDatabase(config);
  if (database === undefined) throw new PreflightError(`There is no database in ${config.pgliteDirectory}.`);
  try {
    const opened = await openExport(database.run, config, asked.what);
    const count = await writeExport(opened, asked);
    const blocks = Object.entries(opened.blocks).map(
      ([id, { block_number }]) => `${block_number} of chain ${id}`,
    );
    return `Wrote ${count} ${asked.what} to ${escapeControls(asked.output)}, as of block ${blocks.join(", ")}.`;
  } finally {
    await database.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await main(process.argv.slice(2)));
  } catch (error) {
    const isExpected = error instanceof ConfigurationError || error instanceof PreflightError;
    const { code } = error as { code?: string };
    const isOfFile = /^(ENOENT|EACCES|EISDIR|ENOSPC|EROFS|ENOTDIR)$/.test(String(code));
    const away = `The database does not respond. ${seeOperations("While something is away")}`;
    console.error(isExpected || isOfFile ? (error as Error).message : isDatabaseAway(error) ? away : error);
    process.exitCode = 1;
  }
}
