import { longestRow } from "./parser.ts";

const lineFeed = 0x0a;

/** Splits bytes at LF alone, since CR, U+2028 and the like may be part of a label; `offset` is where the bytes begin. */
export function createLineSplitter(
  offset: number,
  onLine: (bytes: Buffer, start: number, end: number) => void,
) {
  let rest: Buffer = Buffer.alloc(0);
  let consumed = offset;

  return {
    push: (chunk: Buffer) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = 0;
      // Only the new bytes can contain the end of an unfinished line.
      for (let end = bytes.indexOf(lineFeed, rest.length); end >= 0; end = bytes.indexOf(lineFeed, start)) {
        onLine(bytes, start, end);
        start = end + 1;
      }
      consumed += start;
      rest = bytes.subarray(start);
    },
    /** The bytes after the last LF. */
    rest: () => rest,
    isTooLong: () => rest.length > longestRow,
    /** Bytes before the unfinished line. */
    offset: () => consumed,
  };
}
