import { createWriteStream } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { stringify } from "csv-stringify";
import { fileWriter, parquetWriteRows, schemaFromColumnData } from "hyparquet-writer";
import { type SqlView, sqlViewsSchema } from "../../src/operations/sql-views.ts";

/** Formats of exported files. */
export const formats = ["parquet", "csv", "ndjson"] as const;
/** A format of exported files. */
export type Format = (typeof formats)[number];

/** Parquet types of a file's columns. Times are dates, amounts (DECIMAL) and other 64-bit numbers bigint. */
export type Columns = Readonly<
  Record<string, "STRING" | "INT32" | "INT64" | "BOOLEAN" | "TIMESTAMP" | "JSON" | "DECIMAL">
>;

/** A row of a file; absent values are null. */
type FileRow = Readonly<Record<string, unknown>>;

/** Digits of the longest integer that a column of type DECIMAL holds. */
export const decimalDigits = 38;

/** What a file has: rows of a view, and the last indexed block of each chain. */
export type ViewFile = {
  what: SqlView;
  blocks: Readonly<Record<string, { block_number: number; timestamp: string }>>;
  columns: Columns;
  rows: AsyncIterable<FileRow>;
};

/**
 * Writes a file row by row, and returns the number of rows. The file appears when it is complete. What it has is in the
 * metadata of a Parquet file, else in `<path>.meta.json`.
 */
export async function writeViewFile(
  path: string,
  format: Format,
  { what, blocks, columns, rows }: ViewFile,
): Promise<number> {
  let count = 0;
  async function* counted() {
    for await (const row of rows) {
      count += 1;
      yield row;
    }
  }
  const part = `${path}.part`;
  const about = { contract: sqlViewsSchema, what };
  try {
    if (format === "parquet")
      await writeParquet(part, columns, counted(), { ...about, blocks: JSON.stringify(blocks) });
    else {
      await pipeline(counted(), format === "csv" ? createCsv(columns) : toLines, createWriteStream(part));
      const metadata = { ...about, rows: count, blocks };
      await writeFile(`${path}.meta.json`, `${JSON.stringify(metadata, null, 2)}\n`);
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return count;
}

const createCsv = (columns: Columns) =>
  stringify({
    header: true,
    columns: Object.keys(columns),
    cast: { boolean: String, bigint: String, date: (time) => time.toISOString() },
    // Anyone can choose a name: a spreadsheet would evaluate one that begins with "=".
    escape_formulas: true,
  });

// Large numbers are strings: not every JSON parser reads them exactly.
async function* toLines(rows: AsyncIterable<FileRow>) {
  for await (const row of rows)
    yield `${JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n`;
}

// The widest that readers such as DuckDB add up.
const decimal = (name: string) => ({
  ...({ name, type: "FIXED_LEN_BYTE_ARRAY", type_length: 16, repetition_type: "OPTIONAL" } as const),
  ...({ converted_type: "DECIMAL", precision: decimalDigits, scale: 0 } as const),
});

function buildSchema(columns: Columns) {
  const decimals = Object.keys(columns).filter((name) => columns[name] === "DECIMAL");
  return schemaFromColumnData({
    columnData: Object.entries(columns).map(([name, type]) =>
      type === "DECIMAL" ? { name, data: [] } : { name, type, data: [] },
    ),
    schemaOverrides: Object.fromEntries(decimals.map((name) => [name, decimal(name)])),
  });
}

const writeParquet = async (
  path: string,
  columns: Columns,
  rows: AsyncIterable<FileRow>,
  metadata: Readonly<Record<string, string>>,
) =>
  await parquetWriteRows({
    writer: fileWriter(path),
    rows,
    columns: Object.keys(columns).map((name) => ({ name })),
    schema: buildSchema(columns),
    // A row group is held in memory.
    rowGroupSize: 20_000,
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: "nsindex",
  });
