import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { stringify } from "csv-stringify";
import { fileWriter, parquetWriteRows } from "hyparquet-writer";
import type { FileRow, Source } from "./rows.ts";

/** Forms of files. */
export const formats = ["parquet", "csv", "ndjson"] as const;
export type Format = (typeof formats)[number];

/** A file to write: its rows, in the order of the columns, and what is said of it. */
export type Content = {
  columns: Source["columns"];
  rows: AsyncIterable<FileRow>;
  /** In the file's own metadata, where its form has any. */
  metadata: Readonly<Record<string, string>>;
};

// Rows that are held in memory.
const rowsAtOnce = 20_000;

/** Writes a file row by row. */
export async function writeFile(path: string, format: Format, content: Content): Promise<void> {
  if (format === "parquet") return writeParquet(path, content);
  const { columns, rows } = content;
  const output = createWriteStream(path);
  if (format === "csv")
    return pipeline(
      Readable.from(rows),
      stringify({
        header: true,
        columns: Object.keys(columns),
        cast: { boolean: String, bigint: String },
        // Names are anyone's: a spreadsheet would calculate one that begins with "=".
        escape_formulas: true,
      }),
      output,
    );
  return pipeline(Readable.from(lines(rows)), output);
}

// Seconds are texts, as in responses: 64 bits are more than a number of JSON carries everywhere.
async function* lines(rows: AsyncIterable<FileRow>) {
  for await (const row of rows)
    yield `${JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n`;
}

async function writeParquet(path: string, { columns, rows, metadata }: Content): Promise<void> {
  await parquetWriteRows({
    writer: fileWriter(path),
    rows,
    columns: Object.entries(columns).map(([name, [type]]) => ({ name, type })),
    rowGroupSize: rowsAtOnce,
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: "nsindex",
  });
}
