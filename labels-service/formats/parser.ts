import type { LabelSetPin } from "../../src/labels/label-set.ts";

/** A format of label files. formats.ts lists them. */
export type LabelFormat = {
  /** Title and means of detection, for the help and the documentation. */
  title: string;
  recognisedBy: string;
  /** Whether an input that begins with `head` and is called `fileName` has this format. */
  detects(head: Buffer, fileName: string): boolean;
  createParser(sink: RowSink): LabelParser;
  /** Label set in the header of a file that begins with `head`; absent without headers. Throws an `InputError`. */
  labelSetOf?(head: Buffer): LabelSetPin;
  /** Whether a carriage return at the end of a line belongs to the label, which surprises Windows users. */
  keepsCarriageReturns?: true;
};

/** Receives what a parser finds. */
export type RowSink = {
  /**
   * Takes a label, the bytes from `start` to `end`, which may be overwritten after the call. `given` is the labelhash
   * that the input claims for it: 32 bytes, or absent.
   */
  label(bytes: Buffer, start: number, end: number, given?: Uint8Array): void;
  /** Takes the reason why a row cannot be read. */
  invalid(reason: string): void;
  /** Takes the reason why a row is harmless and no label. */
  ignored(reason: string): void;
};

/** Reads labels from the bytes of one file, in chunks of any size. */
export type LabelParser = {
  push(chunk: Buffer): void;
  end(): void;
  /** Position of the row that the sink received last, for people: "line 7", "record 3 at byte 120". */
  position(): string;
};

/**
 * Bytes of the longest accepted row. A contract can emit a label of some megabytes; damage is noticed before it fills
 * the memory.
 */
export const longestRow = 16 * 1024 * 1024;

// Some programs write it before UTF-8 text.
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const lineFeed = 0x0a;

/** A format of lines. */
type LineFormat = {
  /** Takes the row from `start` to `end`, without its LF. */
  onRow(bytes: Buffer, start: number, end: number): void;
  /** Whether the row goes on after the line from `start` to `end`. */
  goesOn?(bytes: Buffer, start: number, end: number): boolean;
  /** Takes what follows the last row, which may be empty. */
  onEnd(rest: Buffer): void;
};

/** Creates a parser of rows that end with LF alone, since labels may contain CR, U+2028 and the like. */
export function createLineParser({ onRow, goesOn = () => false, onEnd }: LineFormat): LabelParser {
  let rest: Buffer = Buffer.alloc(0);
  // Start of the unfinished line in `rest`.
  let lineStart = 0;
  // Complete lines before the unfinished row, complete lines of it, and the first line of the row that was taken last.
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

/** The input is not what it should be; none of it is used. */
export class InputError extends Error {
  override name = "InputError";
}
