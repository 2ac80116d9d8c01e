import { parse } from "csv-parse";
import { type Checkpoint, type LabelParser, longestRow, type RowSink } from "./parser.ts";

/**
 * CSV with one column and no header (RFC 4180), so that labels may hold commas, quotes and line breaks.
 * Empty rows are skipped.
 */
export function createCsvParser(sink: RowSink, from: Checkpoint): LabelParser {
  let line = from.rows;
  let offset = from.offset;
  let isBroken = false;

  const parser = parse({
    bom: from.offset === 0,
    encoding: false,
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: longestRow,
    on_record: (record: unknown, info) => {
      line = from.rows + info.lines;
      offset = from.offset + info.bytes;
      // Without an encoding, fields are buffers.
      const [label, ...others] = record as Buffer[];
      if (others.length > 0) sink.invalid(`it has ${others.length + 1} columns; expected one`);
      else if (label !== undefined && label.length > 0) sink.label(label, 0, label.length, undefined);
      return null;
    },
    on_skip: (error) => {
      line = from.rows + parser.info.lines;
      sink.invalid(error?.message ?? "it is not CSV");
    },
  });
  parser.on("error", (error) => {
    isBroken = true;
    sink.invalid(error.message);
  });
  parser.resume();

  return {
    push: (chunk) => {
      if (!isBroken) parser.write(chunk);
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
