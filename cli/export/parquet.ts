import { fileWriter, parquetWriteRows, schemaFromColumnData } from "hyparquet-writer";

/** Parquet types of a file's columns. Times are dates, amounts (DECIMAL) and other 64-bit numbers bigint. */
export type Columns = Readonly<
  Record<string, "STRING" | "INT32" | "INT64" | "BOOLEAN" | "TIMESTAMP" | "JSON" | "DECIMAL">
>;

/** A row of a file; absent values are null. */
export type FileRow = Readonly<Record<string, unknown>>;

/** Digits of the longest integer that a column of type DECIMAL holds. */
export const decimalDigits = 38;

// The widest that readers such as DuckDB add up.
const decimal = (name: string) => ({
  ...({ name, type: "FIXED_LEN_BYTE_ARRAY", type_length: 16, repetition_type: "OPTIONAL" } as const),
  ...({ converted_type: "DECIMAL", precision: decimalDigits, scale: 0 } as const),
});

function schemaOf(columns: Columns) {
  const all = Object.entries(columns);
  const decimals = all.flatMap(([name, type]) =>
    type === "DECIMAL" ? [[name, decimal(name)] as const] : [],
  );
  const columnData = all.map(([name, type]) =>
    type === "DECIMAL" ? { name, data: [] } : { name, type, data: [] },
  );
  return schemaFromColumnData({ columnData, schemaOverrides: Object.fromEntries(decimals) });
}

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
    columns: Object.keys(columns).map((name) => ({ name })),
    schema: schemaOf(columns),
    // A row group is held in memory.
    rowGroupSize: 20_000,
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: "nsindex",
  });
