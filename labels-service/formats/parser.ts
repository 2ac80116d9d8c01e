import type { LabelSetPin } from "../../src/labels/label-set.ts";

/** How labels are written in a file. The formats are listed in formats.ts. */
export type LabelFormat = {
  /** What people call the format, and how `detects` recognises it: for the help and the documentation. */
  title: string;
  recognisedBy: string;
  /** Whether an input that begins with `head` and is called `fileName` has this format. */
  detects(head: Buffer, fileName: string): boolean;
  /** Creates a parser that passes what it finds to `sink`. */
  createParser(sink: RowSink): LabelParser;
  /** The label set in the header of a file that begins with `head`; absent where files have none. Throws `InputError`. */
  labelSetOf?(head: Buffer): LabelSetPin;
  /** Whether a carriage return at the end of a line is part of the label, which surprises users of Windows. */
  keepsCarriageReturns?: true;
};

/** Receives what a parser finds. Positions are for people: "line 7", "record 3 at byte 120". */
export type RowSink = {
  /**
   * A label: the bytes of `bytes` from `start` to `end`, which may be overwritten after the call. `given` is the labelhash
   * that the input claims for it: 32 bytes, or absent.
   */
  label(bytes: Buffer, start: number, end: number, given?: Uint8Array): void;
  /** A row that should be a label and cannot be read. */
  invalid(reason: string): void;
  /** A row that is known not to be a label and does no harm. */
  ignored(reason: string): void;
};

/** Reads labels from the bytes of one file, in pieces of any size. */
export type LabelParser = {
  push(chunk: Buffer): void;
  /** The input has ended. */
  end(): void;
  /** Where in the input the row is that the sink received last. */
  position(): string;
};

/** Bytes of the longest row that is accepted: a contract can make a label of some megabytes, damage is noticed before it fills the memory. */
export const longestRow = 16 * 1024 * 1024;

// What some programs put before UTF-8 text.
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const lineFeed = 0x0a;

/** What a format makes of its lines. */
type LineFormat = {
  /** Takes the row in `bytes` from `start` to `end`, without its LF. */
  onRow(bytes: Buffer, start: number, end: number): void;
  /** Whether the row goes on after the line in `bytes` from `start` to `end`. */
  goesOn?(bytes: Buffer, start: number, end: number): boolean;
  /** Takes what follows the last row, which may be empty. */
  onEnd(rest: Buffer): void;
};

/** A parser of rows that end with LF alone, since CR, U+2028 and the like may be part of a label. */
export function createLineParser({ onRow, goesOn = () => false, onEnd }: LineFormat): LabelParser {
  let rest: Buffer = Buffer.alloc(0);
  // Where the unfinished line begins in it.
  let lineStart = 0;
  // Complete lines before the unfinished row, and of it; the first line of the row that was taken last.
  let [rows, lines, line] = [0, 0, 0];
  let isAtStart = true;

  const take = (bytes: Buffer, start: number, end: number) => {
    line = rows + 1;
    rows += lines;
    lines = 0;
    onRow(bytes, start, end);
  };
  const isMarked = (bytes: Buffer) => isAtStart && bytes.subarray(0, 3).equals(byteOrderMark);

  return {
    push: (chunk) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = isMarked(bytes) ? byteOrderMark.length : 0;
      lineStart = Math.max(start, lineStart);
      // Only the new bytes can contain the end of an unfinished line.
      for (
        let end = bytes.indexOf(lineFeed, rest.length);
        end >= 0;
        end = bytes.indexOf(lineFeed, lineStart)
      ) {
        lines++;
        if (!goesOn(bytes, lineStart, end)) {
          take(bytes, start, end);
          start = end + 1;
        }
        lineStart = end + 1;
      }
      isAtStart &&= start === 0;
      lineStart -= start;
      rest = bytes.subarray(start);
      if (rest.length > longestRow) {
        throw new InputError(`The row at line ${rows + 1} is longer than ${longestRow} bytes.`);
      }
    },
    end: () => {
      line = rows + 1;
      onEnd(rest);
    },
    position: () => `line ${line}`,
  };
}

/** The input is not what it is said to be; none of it is used. */
export class InputError extends Error {
  override name = "InputError";
}
