import { createLineSplitter } from "./line-splitter.ts";
import {
  byteOrderMark,
  type Checkpoint,
  InputError,
  type LabelFormat,
  type LabelParser,
  longestRow,
  type RowSink,
} from "./parser.ts";

/** Plain text: one label per line, taken literally. An empty line is the empty label; the last LF is optional. */
export const text: LabelFormat = {
  title: "plain text",
  recognisedBy: "a file name that ends in .txt or .txt.gz, or no line that begins with a quote",
  detects: (head, fileName) => /\.txt(?:\.gz)?$/i.test(fileName) || !/^"/m.test(head.toString("latin1")),
  createParser: createTextParser,
  keepsCarriageReturns: true,
};

function createTextParser(sink: RowSink, from: Checkpoint): LabelParser {
  let rows = from.rows;
  let isFirst = from.offset === 0;

  const onLine = (bytes: Buffer, start: number, end: number) => {
    rows++;
    const hasMark = isFirst && bytes.subarray(start, start + 3).equals(byteOrderMark);
    isFirst = false;
    sink.label(bytes, hasMark ? start + 3 : start, end, undefined);
  };
  const lines = createLineSplitter(from.offset, onLine);

  return {
    push: (chunk) => {
      lines.push(chunk);
      if (lines.isTooLong()) throw new InputError(`Line ${rows + 1} is longer than ${longestRow} bytes.`);
    },
    end: () => {
      const rest = lines.rest();
      if (rest.length > 0) onLine(rest, 0, rest.length);
    },
    position: () => `line ${rows}`,
    checkpoint: () => ({ offset: lines.offset(), rows, isInside: false }),
  };
}
