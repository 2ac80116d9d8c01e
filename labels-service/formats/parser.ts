/** Receives what a parser finds. Positions are for people: "line 7", "record 3 at byte 120". */
export type RowSink = {
  /**
   * A label, the bytes of `bytes` from `start` to `end`; they may be overwritten after the call. `given` is the
   * labelhash that the input claims for it: 32 bytes, or absent.
   */
  label(bytes: Buffer, start: number, end: number, given: Uint8Array | undefined): void;
  /** Something that should be a label and cannot be read. */
  invalid(reason: string): void;
  /** Something that is known not to be a label and does no harm. */
  ignored(reason: string): void;
};

/** Reads labels out of the bytes of one file, in pieces of any size. */
export type LabelParser = {
  push(chunk: Buffer): void;
  /** The input has ended. */
  end(): void | Promise<void>;
  /** Where in the input the row is that was given to the sink last. */
  position(): string;
  /** From where a new parser could go on. */
  checkpoint(): Checkpoint;
};

/** A place between two rows of the (uncompressed) input, and what a parser must know to go on there. */
export type Checkpoint = { offset: number; rows: number; isInside: boolean };

export const startOfInput: Checkpoint = { offset: 0, rows: 0, isInside: false };

/** No row is longer: damage is noticed before it fills the memory. */
export const longestRow = 16 * 1024 * 1024;

/** What some programs put before UTF-8 text. */
export const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** The input cannot be what it is said to be; none of it is used. */
export class InputError extends Error {
  override name = "InputError";
}
