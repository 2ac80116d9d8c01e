import type { LabelSetPin } from "../../src/labels/label-set.ts";

/** How labels are written in a file. The formats are listed in formats.ts. */
export type LabelFormat = {
  /** What people call the format, and how `detects` recognises it: for the help and the documentation. */
  title: string;
  recognisedBy: string;
  /** Whether an input that begins with `head` and is called `fileName` has this format. */
  detects(head: Buffer, fileName: string): boolean;
  createParser: ParserFactory;
  /** The label set in the header of a file that begins with `head`; absent where files have none. Throws `InputError`. */
  labelSetOf?(head: Buffer): LabelSetPin;
  /** Whether a carriage return at the end of a line is part of the label, which surprises users of Windows. */
  keepsCarriageReturns?: true;
};

/** Creates a parser that starts or resumes at `from` and passes what it finds to `sink`. */
type ParserFactory = (sink: RowSink, from: Checkpoint) => LabelParser;

/** Receives what a parser finds. Positions are for people: "line 7", "record 3 at byte 120". */
export type RowSink = {
  /**
   * A label: the bytes of `bytes` from `start` to `end`, which may be overwritten after the call. `given` is the labelhash
   * that the input claims for it: 32 bytes, or absent.
   */
  label(bytes: Buffer, start: number, end: number, given: Uint8Array | undefined): void;
  /** A row that should be a label and cannot be read. */
  invalid(reason: string): void;
  /** A row that is known not to be a label and does no harm. */
  ignored(reason: string): void;
};

/** Reads labels from the bytes of one file, in pieces of any size. */
export type LabelParser = {
  push(chunk: Buffer): void;
  /** The input has ended. */
  end(): void | Promise<void>;
  /** Where in the input the row is that the sink received last. */
  position(): string;
  /** Where a new parser can resume. */
  checkpoint(): Checkpoint;
};

/** A place between two rows of the (uncompressed) input, and what a parser must know to resume there. */
export type Checkpoint = { offset: number; rows: number; isInside: boolean };

/** Before the first row. */
export const startOfInput: Checkpoint = { offset: 0, rows: 0, isInside: false };

/** Bytes of the longest row that is accepted: damage is noticed before it fills the memory. */
export const longestRow = 16 * 1024 * 1024;

/** What some programs put before UTF-8 text. */
export const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** The input is not what it is said to be; none of it is used. */
export class InputError extends Error {
  override name = "InputError";
}
