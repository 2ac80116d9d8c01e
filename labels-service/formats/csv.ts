import { createLineParser, type LabelFormat, type RowSink } from "./parser.ts";

/**
 * CSV with one column and no header (RFC 4180), so that labels may contain commas, quotes and line breaks. Empty rows
 * are skipped, so CSV cannot express the empty label. Own parser: csv-parse takes quadratic time on stray quotes, and
 * 2.9 GB for a row of 10 million commas.
 */
export const csv: LabelFormat = {
  title: "CSV",
  recognisedBy: "a file name that ends in .csv or .csv.gz",
  detects: (_head, fileName) => /\.csv(?:\.gz)?$/i.test(fileName),
  createParser: (sink) => {
    // Whether a line begins within quotes.
    let isOpen = false;
    return createLineParser({
      goesOn: (bytes, start, end) => {
        if (!isOpen && !bytes.subarray(start, end).includes(quote)) return false;
        isOpen = scan((isOpen ? '"' : "") + bytes.toString("latin1", start, end)).isOpen;
        return isOpen;
      },
      onRow: (bytes, start, end) => {
        const hasReturn = end > start && bytes[end - 1] === carriageReturn;
        takeRow(sink, bytes, start, hasReturn ? end - 1 : end);
      },
      onEnd: (rest) => {
        if (rest.length > 0) takeRow(sink, rest, 0, rest.length);
      },
    });
  },
};

const [carriageReturn, quote] = [0x0d, 0x22];

/** Reads a row or line, whose bytes are one character each. `isOpen`: whether it ends within quotes. */
function scan(text: string) {
  let [columns, label, problem, isOpen] = [0, "", undefined as string | undefined, false];
  for (let start = 0; start <= text.length; columns++) {
    const isQuoted = text[start] === '"';
    const close = isQuoted ? findClosingQuote(text, start + 1) : start;
    isOpen = close < 0;
    const comma = isOpen ? -1 : text.indexOf(",", close);
    const end = comma < 0 ? text.length : comma;
    const plain = text.slice(start, end);
    if (columns === 0) label = isQuoted ? text.slice(start + 1, close).replaceAll('""', '"') : plain;
    if (isOpen) problem ??= "a quote is never closed";
    else if (isQuoted && end > close + 1) problem ??= "text follows a closing quote";
    else if (!isQuoted && plain.includes('"')) problem ??= "an unquoted label contains a quote";
    start = end + 1;
  }
  if (columns > 1) problem ??= `it has ${columns} columns; expected one`;
  return { label, problem, isOpen };
}

// Two quotes stand for one. A regular expression would need a stack for millions of them.
function findClosingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

function takeRow(sink: RowSink, bytes: Buffer, start: number, end: number): void {
  const { label, problem } = scan(bytes.toString("latin1", start, end));
  if (problem !== undefined) sink.invalid(problem);
  else if (label !== "") sink.label(Buffer.from(label, "latin1"), 0, label.length);
}
