import { createWriteStream, existsSync } from "node:fs";
import { rename, rm, writeFile as writeText } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Option } from "@commander-js/extra-typings";
import { stringify } from "csv-stringify";
import { escapeControls } from "../src/log/json-log.ts";
import { type SqlView, sqlViews } from "../src/operations/sql-views.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { loadConfig, print, program, runProgram } from "./command.ts";
import { withDatabase } from "./database.ts";
import { keepFolder, type Since, sinceOf } from "./export/folder.ts";
import { type Columns, type FileRow, writeParquet } from "./export/parquet.ts";
import { fileColumns, rowsOfView } from "./export/rows.ts";
import { openSnapshot, type Settings } from "./export/snapshot.ts";
import { PreflightError } from "./refusal.ts";

const formats = ["parquet", "csv", "ndjson"] as const;
/** A format of exported files. */
export type Format = (typeof formats)[number];

/** `npm run export`. */
export const exportProgram = program(
  "export",
  `Writes a view of docs/sql.md to a file, as it is at one block of each chain. The blocks are in the metadata of a Parquet file, and in <file>.meta.json beside the others. The file appears when it is complete. The indexer may keep running.`,
)
  .addOption(new Option("--what <view>", "which view").choices(sqlViews))
  .addOption(new Option("--format <format>", "of the file").choices(formats))
  .option("--output <file>", "default: <view>.<format>; with --since a folder, default: warehouse")
  .option("--force", "replaces an existing file")
  .addOption(
    new Option(
      "--since <when>",
      "keeps a folder of Parquet files of all views current: adds the events since the folder's last ones, and replaces the others. In an empty folder events begin with the first (last), or at a date or block of the root chain",
    )
      .argParser(sinceOf)
      .conflicts(["what", "format", "force"]),
  )
  .action((asked) => print(writeIndex(asked)));

type Target = { what?: SqlView; format?: Format; output?: string; force?: true; since?: Since };

async function writeIndex({ since, what, format, ...options }: Target): Promise<string> {
  if (since !== undefined) {
    const config = loadConfig();
    const target = { since, folder: options.output ?? "warehouse" };
    return withDatabase(config, (run) => keepFolder(run, config, target));
  }
  if (what === undefined || format === undefined)
    throw new PreflightError("Add --what and --format, or --since for a folder that is kept current.");
  const { force, output = `${what}.${format}` } = options;
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

/** An export, with the last indexed block of each chain. `rows` must be read to the end before the database closes. */
export type Export = {
  what: SqlView;
  blocks: Readonly<Record<string, { block_number: number; timestamp: string }>>;
  columns: Columns;
  rows: AsyncIterable<FileRow>;
};

/** Opens a snapshot of the index, to be read row by row. Throws a PreflightError if the index is not complete. */
export async function openExport(run: Statement, config: Settings, what: SqlView): Promise<Export> {
  const blocks = await openSnapshot(run, config);
  async function* all() {
    yield* rowsOfView(run, { view: what, schema: config.databaseSchema });
    await run("COMMIT");
  }
  return { what, blocks, columns: fileColumns(what), rows: all() };
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
    return writeParquet(path, columns, rows, { what, blocks: JSON.stringify(blocks) });
  const csv = stringify({
    header: true,
    columns: Object.keys(columns),
    cast: { boolean: String, bigint: String, date: (time) => time.toISOString() },
    // Anyone can choose a name: a spreadsheet would evaluate one that begins with "=".
    escape_formulas: true,
  });
  const output = createWriteStream(path);
  if (format === "csv") return pipeline(Readable.from(rows), csv, output);
  return pipeline(lines(rows), output);
}

// Large numbers are strings: not every JSON parser reads them exactly.
async function* lines(rows: AsyncIterable<FileRow>) {
  for await (const row of rows)
    yield `${JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n`;
}

await runProgram(exportProgram, import.meta.url);
