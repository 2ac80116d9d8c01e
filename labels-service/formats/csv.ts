import {
  byteOrderMark,
  type Checkpoint,
  InputError,
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

const [lineFeed, carriageReturn, quote, comma] = [0x0a, 0x0d, 0x22, 0x2c];

/** Where in a row the next byte is: `quoteSeen` is right after a quote within quotes, `returnSeen` after a CR after that. */
type Place = "start" | "plain" | "quoted" | "quoteSeen" | "returnSeen";

/** What is known of a row before its end. */
type Row = { place: Place; columns: number; isQuoted: boolean; doubled: number; problem: string | undefined };

const newRow = (): Row => ({
  place: "start",
  columns: 1,
  isQuoted: false,
  doubled: 0,
  problem: undefined,
});

/**
 * Skips empty rows, so that CSV cannot express the empty label. One pass over the bytes; those of a row are kept only as
 * long as it may be a label.
 * Not a library's parser: csv-parse takes quadratic time on stray quotes and 2.9 GB for a row of 10 million commas.
 */
function createCsvParser(sink: RowSink, from: Checkpoint): LabelParser {
  let held: Buffer = Buffer.alloc(0);
  let rowOffset = from.offset;
  let [firstLine, lines] = [from.rows, from.rows];
  let [row, rowLength] = [newRow(), 0];

  const endRow = (bytes: Buffer) => {
    firstLine++;
    if (row.place === "quoted") row.problem ??= "a quote is never closed";
    if (row.problem === undefined && row.columns > 1) {
      row.problem = `it has ${row.columns} columns; expected one`;
    }
    if (row.problem === undefined) passLabel(sink, row, bytes);
    else sink.invalid(row.problem);
    firstLine = lines;
    [row, rowLength] = [newRow(), 0];
  };

  const scan = (bytes: Buffer, from: number) => {
    let start = 0;
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      rowLength++;
      if (byte === lineFeed) lines++;
      if (byte !== lineFeed || row.place === "quoted") {
        row.place = step(row, byte);
        continue;
      }
      rowOffset += rowLength;
      const hasReturn = at > start && bytes[at - 1] === carriageReturn;
      endRow(bytes.subarray(start, hasReturn ? at - 1 : at));
      start = at + 1;
    }
    if (rowLength > longestRow) {
      throw new InputError(`The row at line ${firstLine + 1} is longer than ${longestRow} bytes.`);
    }
    held = row.problem === undefined && row.columns === 1 ? bytes.subarray(start) : bytes.subarray(0, 0);
  };

  return {
    push: (chunk) => {
      const isFirst = rowOffset === 0 && rowLength === 0;
      const marked = isFirst && chunk.subarray(0, 3).equals(byteOrderMark) ? byteOrderMark.length : 0;
      rowOffset += marked;
      if (held.length === 0) scan(marked === 0 ? chunk : chunk.subarray(marked), 0);
      else scan(Buffer.concat([held, chunk]), held.length);
    },
    end: () => {
      if (rowLength === 0) return;
      if (row.place === "returnSeen") row.problem ??= textAfterQuote;
      lines++;
      endRow(held);
    },
    position: () => `line ${firstLine}`,
    checkpoint: () => ({ offset: rowOffset, rows: firstLine, isInside: false }),
  };
}

const textAfterQuote = "text follows a closing quote";

/** Takes a byte of a row that does not end it. */
function step(row: Row, byte: number): Place {
  switch (row.place) {
    case "quoted":
      return byte === quote ? "quoteSeen" : "quoted";
    case "quoteSeen":
      if (byte === quote) {
        row.doubled++;
        return "quoted";
      }
      if (byte === carriageReturn) return "returnSeen";
      if (byte !== comma) row.problem ??= textAfterQuote;
      break;
    case "returnSeen":
      row.problem ??= textAfterQuote;
      break;
    case "start":
      if (byte === quote) {
        row.isQuoted = true;
        return "quoted";
      }
      break;
    default:
      if (byte === quote) row.problem ??= "an unquoted label contains a quote";
  }
  if (byte !== comma) return "plain";
  row.columns++;
  return "start";
}

/** Passes the label of a good row, given without its line break. */
function passLabel(sink: RowSink, { isQuoted, doubled }: Row, bytes: Buffer): void {
  const quoted = isQuoted ? bytes.subarray(1, -1) : bytes;
  const label = doubled === 0 ? quoted : withoutDoubled(quoted);
  if (label.length > 0) sink.label(label, 0, label.length, undefined);
}

function withoutDoubled(bytes: Buffer): Buffer {
  const text = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    text[length++] = byte;
    if (byte === quote) at++;
  }
  return text.subarray(0, length);
}
