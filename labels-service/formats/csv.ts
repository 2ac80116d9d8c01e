import { type CsvError, parse } from "csv-parse";
import {
  byteOrderMark,
  type Checkpoint,
  type LabelFormat,
  type LabelParser,
  longestRow,
  type RowSink,
} from "./parser.ts";

/** CSV with one column and no header (RFC 4180), so that labels may contain commas, quotes and line breaks. */
export const csv: LabelFormat = {
  title: "CSV",
  recognisedBy: "a file name that ends in .csv or .csv.gz",
  detects: (_head, fileName) => /\.csv(?:\.gz)?$/i.test(fileName),
  createParser: createCsvParser,
};

/** Skips empty rows, so that CSV cannot express the empty label. */
function createCsvParser(sink: RowSink, from: Checkpoint): LabelParser {
  let line = from.rows;
  let offset = from.offset;
  let isBroken = false;
  let isFirst = from.offset === 0;
  let start = from.offset;

  const parser = parse({
    encoding: false,
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: longestRow,
    on_record: (record: unknown, info) => {
      line = from.rows + info.lines;
      offset = start + info.bytes;
      // Without an encoding, fields are buffers.
      const [label, ...others] = record as Buffer[];
      if (others.length > 0) sink.invalid(`it has ${others.length + 1} columns; expected one`);
      else if (label !== undefined && label.length > 0) sink.label(label, 0, label.length, undefined);
      return null;
    },
    on_skip: (error) => {
      line = from.rows + parser.info.lines;
      sink.invalid(reasonOf(error));
    },
  });
  parser.on("error", (error: CsvError) => {
    isBroken = true;
    sink.invalid(reasonOf(error));
  });
  parser.resume();

  return {
    push: (chunk) => {
      if (isBroken) return;
      // csv-parse would switch to UTF-16 at its mark; a label file is UTF-8, with or without a mark.
      const marked = isFirst ? markLength(chunk) : 0;
      isFirst = false;
      start += marked;
      parser.write(chunk.subarray(marked));
    },
    end: () =>
      new Promise<void>((resolve) => {
        if (isBroken) resolve();
        else parser.once("close", resolve).end();
      }),
    position: () => `line ${line}`,
    checkpoint: () => ({ offset, rows: line, isInside: false }),
  };
}

function markLength(bytes: Buffer): number {
  return bytes.subarray(0, 3).equals(byteOrderMark) ? byteOrderMark.length : 0;
}

const reasons: Record<string, string> = {
  INVALID_OPENING_QUOTE: "an unquoted label contains a quote",
  CSV_INVALID_CLOSING_QUOTE: "text follows a closing quote",
  CSV_QUOTE_NOT_CLOSED: "a quote is never closed",
  CSV_MAX_RECORD_SIZE: `it is longer than ${longestRow} bytes`,
};

function reasonOf(error: CsvError | undefined): string {
  return reasons[error?.code ?? ""] ?? "it is not CSV";
}
