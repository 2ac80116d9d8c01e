import type { PoolClient } from "../../ponder/sql-client.ts";

/** A column as text; a long one as UTF-8 in pieces. */
export type Column = string | readonly Uint8Array[] | null;

// Rows up to this many bytes are left to the driver, which makes a text of each column: of a longer one that text would cost as much
// as the rest of its way through the service.
const shortRow = 16_384;
const headerBytes = 5;
const dataRow = "D".charCodeAt(0);
const nothing: Buffer = Buffer.alloc(0);
// Large enough for the memory to go back to the system afterwards (MALLOC_MMAP_THRESHOLD_ in cli/ponder.ts).
const mostOfPiece = 1_048_576;

/** A row of so many bytes that is arriving, in pieces of a megabyte. */
function createLongRow(bytes: number) {
  const pieces: Buffer[] = [];
  let left = bytes;
  let leftOfPiece = 0;
  return {
    pieces,
    left: () => left,
    /** Keeps what belongs to the row; returns how many bytes of it, at most those of one piece. */
    keep(arrived: Buffer): number {
      if (leftOfPiece === 0) {
        leftOfPiece = Math.min(left, mostOfPiece);
        pieces.push(Buffer.allocUnsafeSlow(leftOfPiece));
      }
      const last = pieces.at(-1) ?? nothing;
      const kept = arrived.copy(last, last.length - leftOfPiece);
      leftOfPiece -= kept;
      left -= kept;
      return kept;
    },
  };
}

/**
 * Takes long rows out of what a connection receives. The driver would hold each in one buffer and then as one text; here
 * they are kept in pieces, and a row longer than allowed ends the connection with its first bytes.
 */
export function takeLongRows(client: PoolClient) {
  const { stream } = client.connection;
  const driver = stream.listeners("data") as ((chunk: Buffer) => void)[];
  const forward = (chunk: Buffer) => {
    for (const listener of driver) listener.call(stream, chunk);
  };
  let [mostBytes, leftOfMessage, header, row] = [0, 0, nothing, createLongRow(0)];
  let mostOfDriver = shortRow;
  let isTooLong = false;

  function begin(most: number, keptFrom = shortRow): void {
    mostBytes = most;
    mostOfDriver = keptFrom;
    header = nothing;
    leftOfMessage = 0;
    row = createLongRow(0);
  }

  function read(arrived: Buffer): void {
    const chunk = header.length === 0 ? arrived : Buffer.concat([header, arrived]);
    header = nothing;
    let [start, at] = [0, 0];
    while (at < chunk.length && !isTooLong) {
      if (leftOfMessage > 0) {
        const size = Math.min(leftOfMessage, chunk.length - at);
        leftOfMessage -= size;
        at += size;
      } else if (row.left() > 0) {
        at += row.keep(chunk.subarray(at));
        start = at;
      } else if (chunk.length - at < headerBytes) {
        header = chunk.subarray(at);
        break;
      } else {
        const bytes = chunk.readUInt32BE(at + 1) + 1;
        if (chunk[at] !== dataRow || bytes <= mostOfDriver) leftOfMessage = bytes;
        else {
          if (at > start) forward(chunk.subarray(start, at));
          isTooLong = bytes > mostBytes;
          if (!isTooLong) row = createLongRow(bytes - headerBytes);
          at += headerBytes;
          start = at;
        }
      }
    }
    if (isTooLong) void client.end();
    else if (at > start) forward(chunk.subarray(start, at));
  }

  stream.on("data", (arrived: Buffer) => (mostBytes === 0 ? forward : read)(arrived));
  for (const listener of driver) stream.off("data", listener);

  return {
    /** Before a statement: its row may have so many bytes. */
    start: (most: number) => begin(most),
    /** Before a statement of many rows, all of which are the driver's: each may have so many bytes. */
    startMany: (most: number) => begin(most, most),
    /** The long row that the statement has given, if it has. */
    row: (): Column[] | undefined => (row.pieces.length === 0 ? undefined : columnsOf(row.pieces)),
    /** After a statement: the connection is the driver's again. */
    stop: () => begin(0),
    isTooLong: () => isTooLong,
  };
}

// A count of columns in two bytes, then each with its length in four, -1 for null.
function columnsOf(pieces: readonly Buffer[]): Column[] {
  let place = 0;
  let at = 0;
  const take = (bytes: number): Buffer[] => {
    const taken: Buffer[] = [];
    for (let left = bytes; left > 0; ) {
      const piece = pieces[place];
      if (piece === undefined) throw new Error("A row of the database ended early.");
      const part = piece.subarray(at, at + left);
      taken.push(part);
      left -= part.length;
      at += part.length;
      if (at < piece.length) continue;
      place += 1;
      at = 0;
    }
    return taken;
  };
  const number = (bytes: number) => Buffer.concat(take(bytes)).readIntBE(0, bytes);
  return Array.from({ length: number(2) }, () => {
    const bytes = number(4);
    if (bytes < 0) return null;
    return bytes <= shortRow ? Buffer.concat(take(bytes)).toString() : take(bytes);
  });
}
