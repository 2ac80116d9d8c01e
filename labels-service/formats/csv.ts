import { type CsvError, parse } from "csv-parse";
import { byteOrderMark, type Checkpoint, type LabelParser, longestRow, type RowSink } from "./parser.ts";

/**
 * CSV with one column and no header (RFC 4180), so that labels may hold commas, quotes and line breaks.
 * Empty rows are skipped.
 */
export function createCsvParser(sink: RowSink, from: Checkpoint): LabelParser {
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
      // csv-parse would take UTF-16 for what its mark says; a label file is UTF-8, with or without a mark.
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
  INVALID_OPENING_QUOTE: "a quote stands within a label that is not quoted",
  CSV_INVALID_CLOSING_QUOTE: "text stands behind a closing quote",
  CSV_QUOTE_NOT_CLOSED: "a quote is never closed",
  CSV_MAX_RECORD_SIZE: `it is longer than ${longestRow} bytes`,
};

function reasonOf(error: CsvError | undefined): string {
  return reasons[error?.code ?? ""] ?? "it is not CSV";
}
