import { createWriteStream, existsSync } from "node:fs";
import { rename, rm, writeFile as writeText } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Option } from "@commander-js/extra-typings";
import { stringify } from "csv-stringify";
import { fileWriter, parquetWriteRows } from "hyparquet-writer";
import { indexedNamespaces } from "../src/api/names/indexed-namespaces.ts";
import type { Config } from "../src/config/environment.ts";
import { namespaces } from "../src/deployments/namespaces.ts";
import { escapeControls } from "../src/log/json-log.ts";
import { quoted, type Statement } from "../src/ponder/sql-client.ts";
import { loadConfig, print, program, runProgram } from "./command.ts";
import { beginSnapshot, PreflightError, readHeads, withDatabase } from "./database.ts";
import { type Columns, type FileRow, type Subject, sourceOf, subjects } from "./export/rows.ts";

const formats = ["parquet", "csv", "ndjson"] as const;
/** A format of exported files. */
export type Format = (typeof formats)[number];

/** `npm run export`. */
export const exportProgram = program(
  "export",
  `Writes all names, all leases with their dates, or all events to a file, as they were at one block of each chain. The blocks are in the metadata of a Parquet file, and in <file>.meta.json beside the others. Columns are the members of the rows under /v1. The file appears when it is complete. On Postgres the indexer may run meanwhile; the embedded database belongs to one process: stop it first.`,
)
  .addOption(new Option("--what <what>", "which rows").choices(subjects).makeOptionMandatory())
  .addOption(new Option("--format <format>", "of the file").choices(formats).makeOptionMandatory())
  .option("--output <file>", "else <what>.<format>")
  .option("--force", "replaces an existing file")
  .action((asked) => print(writeIndex(asked)));

type Target = { what: Subject; format: Format; output?: string; force?: true };

async function writeIndex({ what, format, force, output = `${what}.${format}` }: Target): Promise<string> {
  const files = [output, ...(format === "parquet" ? [] : [`${output}.meta.json`])];
  const taken = force ? undefined : files.find((file) => existsSync(file));
  if (taken !== undefined)
    throw new PreflightError(`${taken} exists already. Choose another --output, or add --force.`);
  const config = loadConfig();
  return withDatabase(config, async (run) => {
    const opened = await openExport(run, config, what);
    const count = await writeExport(opened, format, output);
    const blocks = Object.entries(opened.blocks).map(
      ([id, { block_number }]) => `${block_number} of chain ${id}`,
    );
    return `Wrote ${count} ${what} to ${escapeControls(output)}, as of block ${blocks.join(", ")}.`;
  });
}

type Settings = Pick<Config, "chains" | "databaseSchema" | "namespace" | "plugins">;

/** An export, with the last indexed block of each chain. `rows` must be read to the end before the database closes. */
export type Export = {
  what: Subject;
  blocks: Readonly<Record<string, { block_number: number; timestamp: string }>>;
  columns: Columns;
  rows: AsyncIterable<FileRow>;
};

/** Opens a snapshot of the index, to be read row by row. Throws a PreflightError if the index is not complete. */
export async function openExport(run: Statement, config: Settings, what: Subject): Promise<Export> {
  await beginSnapshot(run, config);
  const { rows } = await run("SELECT value ->> 'is_ready' AS ready FROM _ponder_meta WHERE key = 'app'");
  if (rows[0]?.["ready"] !== "1")
    throw new PreflightError(
      `The index in schema ${quoted(config.databaseSchema)} is not complete yet. Wait until its backfill has ended.`,
    );
  const heads = await readHeads(run, config);
  const indexed = indexedNamespaces(namespaces[config.namespace], config.plugins);
  const { columns, statements, rowOf } = sourceOf(what, indexed);
  const times = `{${indexed.map(({ chainId }) => heads.get(chainId)?.timestamp ?? 0).join(",")}}`;
  const blocks = [...heads].map(
    ([id, { number, timestamp }]) => [id, { block_number: number, timestamp: String(timestamp) }] as const,
  );
  async function* all() {
    for (const statement of statements)
      for await (const found of rowsOf(run, statement, times)) yield rowOf(found);
    await run("COMMIT");
  }
  return { what, blocks: Object.fromEntries(blocks), columns, rows: all() };
}

const rowsAtOnce = 2_000;

async function* rowsOf(run: Statement, statement: string, times: string) {
  // Statements of some kinds of events do not depend on the time.
  const values = statement.includes("$1") ? [times] : [];
  await run(`DECLARE exported NO SCROLL CURSOR FOR ${statement}`, values);
  for (;;) {
    const { rows } = await run(`FETCH ${rowsAtOnce} FROM exported`);
    for (const row of rows) yield row["found"];
    if (rows.length < rowsAtOnce) break;
  }
  await run("CLOSE exported");
}

/** Writes an export to a file, which appears when it is complete, and returns the number of rows. */
export async function writeExport(
  { what, blocks, columns, rows }: Export,
  format: Format,
  output: string,
): Promise<number> {
  let count = 0;
  async function* counted() {
    for await (const row of rows) {
      count += 1;
      yield row;
    }
  }
  const part = `${output}.part`;
  try {
    await writeFile(part, format, { what, blocks, columns, rows: counted() });
    if (format !== "parquet")
      await writeText(`${output}.meta.json`, `${JSON.stringify({ what, rows: count, blocks }, null, 2)}\n`);
    await rename(part, output);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return count;
}

/** Writes a file row by row. */
export async function writeFile(
  path: string,
  format: Format,
  { what, blocks, columns, rows }: Export,
): Promise<void> {
  if (format === "parquet")
    return parquetWriteRows({
      writer: fileWriter(path),
      rows,
      columns: Object.entries(columns).map(([name, type]) => ({ name, type })),
      // A row group is held in memory.
      rowGroupSize: 20_000,
      kvMetadata: [
        { key: "what", value: what },
        { key: "blocks", value: JSON.stringify(blocks) },
      ],
      createdBy: "nsindex",
    });
  const csv = stringify({
    header: true,
    columns: Object.keys(columns),
    cast: { boolean: String, bigint: String },
    // Anyone can choose a name: a spreadsheet would evaluate one that begins with "=".
    escape_formulas: true,
  });
  const output = createWriteStream(path);
  if (format === "csv") return pipeline(Readable.from(rows), csv, output);
  return pipeline(lines(rows), output);
}

// Seconds are strings, as in responses: not every JSON parser reads 64-bit numbers exactly.
async function* lines(rows: AsyncIterable<FileRow>) {
  for await (const row of rows)
    yield `${JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n`;
}

await runProgram(exportProgram, import.meta.url);
