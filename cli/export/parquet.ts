import { fileWriter, parquetWriteRows } from "hyparquet-writer";

/** Parquet types of a file's columns. Times are dates, seconds and other 64-bit numbers bigint. */
export type Columns = Readonly<
  Record<string, "STRING" | "INT32" | "INT64" | "BOOLEAN" | "TIMESTAMP" | "JSON">
>;

/** A row of a file; absent values are null. */
export type FileRow = Readonly<Record<string, unknown>>;

/** Writes a Parquet file row by row. `metadata` is that of the file. */
export const writeParquet = async (
  path: string,
  columns: Columns,
  rows: AsyncIterable<FileRow>,
  metadata: Readonly<Record<string, string>>,
): Promise<void> =>
  await parquetWriteRows({
    writer: fileWriter(path),
    rows,
    columns: Object.entries(columns).map(([name, type]) => ({ name, type })),
    // A row group is held in memory.
    rowGroupSize: 20_000,
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: "nsindex",
  });
