import { digestLength } from "../../src/ens/keccak.ts";
import { createLineParser, InputError, type LabelFormat, type LabelParser, type RowSink } from "./parser.ts";

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

const copyStatement = /^COPY (?:public\.)?ens_names\b *(?:\(([^)]*)\))? FROM stdin;\r?$/;

const [tab, backslash, dot, letterC] = [0x09, 0x5c, 0x2e, 0x43];
const hashLength = 2 + 2 * digestLength;

// The known dump has one stray header among its rows.
const strayHeader = Buffer.from("hash\tname");

function createSqlDumpParser(sink: RowSink): LabelParser {
  const given = Buffer.alloc(digestLength);
  let isInside = false;
  let hasSeenTable = false;

  const enter = (bytes: Buffer, start: number, end: number) => {
    if (bytes[start] !== letterC) return;
    const statement = copyStatement.exec(bytes.toString("latin1", start, Math.min(end, start + 1000)));
    if (statement === null) return;
    const columns = statement[1]?.replaceAll(/[\s"]/g, "");
    if (columns !== undefined && columns !== "hash,name") {
      const line = parser.position().replace("l", "L");
      throw new InputError(`${line}: the table's columns are (${columns}); expected (hash,name).`);
    }
    isInside = true;
    hasSeenTable = true;
  };

  const onRow = (bytes: Buffer, start: number, end: number) => {
    if (!isInside) return enter(bytes, start, end);
    if (end - start === 2 && bytes[start] === backslash && bytes[start + 1] === dot) {
      isInside = false;
      return;
    }
    const labelStart = start + hashLength + 1;
    if (labelStart > end || bytes[labelStart - 1] !== tab || !readHash(bytes, start, given)) {
      if (bytes.subarray(start, end).equals(strayHeader)) return sink.ignored("a header among the rows");
      return sink.invalid("it is not a labelhash, a tab and a label");
    }
    let at = labelStart;
    while (at < end && bytes[at] !== backslash) at++;
    if (at === end) return sink.label(bytes, labelStart, end, given);
    const label = unescapeCopyText(bytes.toString("latin1", labelStart, end));
    if (label === undefined) sink.invalid("the label is null, or its escapes are broken");
    else sink.label(label, 0, label.length, given);
  };

  const parser = createLineParser({
    onRow,
    onEnd: () => {
      if (!hasSeenTable) throw new InputError("The dump has no table ens_names.");
      if (isInside) sink.invalid("the dump ends before the end of its rows");
    },
  });
  return parser;
}

/** Writes the bytes of the hexadecimal labelhash at `at` to `hash`. False if there is none. */
function readHash(bytes: Buffer, at: number, hash: Buffer): boolean {
  if (bytes[at] !== zero || bytes[at + 1] !== x) return false;
  let values = 0;
  for (let i = 0, digit = at + 2; i < digestLength; i++, digit += 2) {
    const value = ((digitValues[bytes[digit] ?? 0] ?? 0) << 4) | (digitValues[bytes[digit + 1] ?? 0] ?? 0);
    hash[i] = value;
    values |= value;
  }
  // One check for all digits.
  return values < 256;
}

const [zero, x] = [0x30, 0x78];
const digitValues = new Uint16Array(256).fill(256);
for (const digit of "0123456789abcdefABCDEF") digitValues[digit.charCodeAt(0)] = Number.parseInt(digit, 16);

const controls: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/**
 * Bytes of a text in PostgreSQL's COPY format, in which a character stands for a byte. Undefined for null (`\N`) and
 * for a lone backslash at the end.
 */
export function unescapeCopyText(text: string): Buffer | undefined {
  if (text === "\\N" || /(?<!\\)(?:\\\\)*\\$/.test(text)) return undefined;
  const value = text.replaceAll(
    /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))/gs,
    (_, octal?: string, hex?: string, character = "") =>
      octal === undefined && hex === undefined
        ? (controls[character] ?? character)
        : String.fromCharCode(Number.parseInt(octal ?? hex ?? "", octal === undefined ? 16 : 8) & 0xff),
  );
  return Buffer.from(value, "latin1");
}
