import { readDigest, writeDigest } from "../../src/labels/digests.ts";
import { createLineSplitter } from "./line-splitter.ts";
import {
  type Checkpoint,
  InputError,
  type LabelFormat,
  type LabelParser,
  longestRow,
  type RowSink,
} from "./parser.ts";

/** The Graph's `ens_names.sql`: rows of labelhash and label in PostgreSQL's COPY text format. */
export const sqlDump: LabelFormat = {
  title: "SQL dump",
  recognisedBy: "a line `COPY public.ens_names (hash, name) FROM stdin;`",
  detects: (head) =>
    head
      .toString("latin1")
      .split("\n")
      .some((line) => copyStatement.test(line)),
  createParser: createSqlDumpParser,
};

/** The statement before the rows of The Graph's table of names. */
const copyStatement = /^COPY (?:public\.)?ens_names\b *(?:\(([^)]*)\))? FROM stdin;\r?$/;

const [tab, backslash, dot] = [0x09, 0x5c, 0x2e];
const hashLength = 66;

// The known dump has one stray header among its rows.
const strayHeader = Buffer.from("hash\tname");

function createSqlDumpParser(sink: RowSink, from: Checkpoint): LabelParser {
  const given = new Uint8Array(32);
  const nextBackslash = createBackslashFinder();
  let rows = from.rows;
  let isInside = from.isInside;
  let hasSeenTable = isInside;

  const onLine = (bytes: Buffer, start: number, end: number) => {
    rows++;
    if (!isInside) enter(bytes, start, end);
    else if (end - start === 2 && bytes[start] === backslash && bytes[start + 1] === dot) isInside = false;
    else onRow(bytes, start, end);
  };

  const enter = (bytes: Buffer, start: number, end: number) => {
    if (bytes[start] !== 0x43) return;
    const statement = copyStatement.exec(bytes.toString("latin1", start, Math.min(end, start + 1000)));
    if (statement === null) return;
    const columns = statement[1]?.replaceAll(/[\s"]/g, "");
    if (columns !== undefined && columns !== "hash,name") {
      throw new InputError(`Line ${rows}: the table's columns are (${columns}); expected (hash,name).`);
    }
    isInside = true;
    hasSeenTable = true;
  };

  const onRow = (bytes: Buffer, start: number, end: number) => {
    const labelStart = start + hashLength + 1;
    if (labelStart > end || bytes[labelStart - 1] !== tab || !readHash(bytes, start, given)) {
      if (bytes.subarray(start, end).equals(strayHeader)) sink.ignored("a header among the rows");
      else sink.invalid("it is not a labelhash, a tab and a label");
      return;
    }
    if (nextBackslash(bytes, labelStart) >= end) {
      sink.label(bytes, labelStart, end, given);
      return;
    }
    const label = unescapeCopyText(bytes, labelStart, end);
    if (label === undefined) sink.invalid("the label is null, or its escapes are broken");
    else sink.label(label, 0, label.length, given);
  };

  const lines = createLineSplitter(from.offset, onLine);
  return {
    push: (chunk) => {
      lines.push(chunk);
      if (lines.isTooLong()) throw new InputError(`Line ${rows + 1} is longer than ${longestRow} bytes.`);
    },
    end: () => {
      if (!hasSeenTable) throw new InputError("The dump has no table ens_names.");
      if (!isInside) return;
      rows++;
      sink.invalid("the dump ends before the end of its rows");
    },
    position: () => `line ${rows}`,
    checkpoint: () => ({ offset: lines.offset(), rows, isInside }),
  };
}

/** Finds the first backslash from a place on; scans each buffer once if the places ascend. */
function createBackslashFinder() {
  let searched: Buffer | undefined;
  let found = 0;
  return (bytes: Buffer, from: number): number => {
    if (bytes === searched && found >= from) return found;
    const at = bytes.indexOf(backslash, from);
    searched = bytes;
    found = at < 0 ? Number.POSITIVE_INFINITY : at;
    return found;
  };
}

/** As `readDigest`, with digits in upper case too. */
function readHash(bytes: Buffer, start: number, hash: Uint8Array): boolean {
  if (readDigest(bytes, start, hash)) return true;
  const text = bytes.toString("latin1", start, start + hashLength);
  return writeDigest(
    text.replaceAll(/[A-F]/g, (digit) => digit.toLowerCase()),
    hash,
  );
}

const controls: Record<string, number> = { b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/**
 * The value of the bytes from `start` to `end` in PostgreSQL's COPY text format, or undefined for null (`\N`) and for a
 * lone backslash at the end.
 */
export function unescapeCopyText(bytes: Buffer, start: number, end: number): Buffer | undefined {
  const text = bytes.toString("latin1", start, end);
  if (text === "\\N") return undefined;
  const value = Buffer.allocUnsafe(end - start);
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte !== backslash) {
      value[length++] = byte;
      continue;
    }
    const escaped = /^\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))/s.exec(
      text.slice(at - start, at - start + 4),
    );
    if (escaped === null) return undefined;
    const [all, octal, hex, character = ""] = escaped;
    if (octal !== undefined) value[length++] = Number.parseInt(octal, 8) & 0xff;
    else if (hex !== undefined) value[length++] = Number.parseInt(hex, 16);
    else value[length++] = controls[character] ?? character.charCodeAt(0);
    at += all.length - 1;
  }
  return value.subarray(0, length);
}
