import { csv } from "./csv.ts";
import { ensrainbow } from "./ensrainbow.ts";
import { InputError, type LabelFormat } from "./parser.ts";
import { sqlDump } from "./sql-dump.ts";
import { text } from "./text.ts";

// The formats of label files. A parser turns bytes into labels; reading files and storing labels is in
// labels-service/ingest and labels-service/store.

/**
 * Formats of label files by their `--format` name, for detection, parsing, the command line's help and the
 * documentation. If several formats detect an input, the first counts.
 */
export const formats = { ensrainbow, sql: sqlDump, csv, text } satisfies Record<string, LabelFormat>;

/** Name of a format. */
export type FormatName = keyof typeof formats;

/** Names of all formats. */
export const formatNames = Object.keys(formats) as FormatName[];

/** Bytes of the unpacked input that `detectFormat` gets, if there are as many. */
export const detectionLength = 65_536;

/**
 * Format of an input that begins with `head` and is called `fileName`. CSV and plain text differ only in the meaning of
 * quotes; there the file's name decides. Throws an `InputError` if nothing does.
 */
export function detectFormat(head: Buffer, fileName: string): FormatName {
  const name = formatNames.find((name) => formats[name].detects(head, fileName));
  if (name !== undefined) return name;
  throw new InputError(
    'Lines begin with quotes: say whether they belong to the labels, with "--format text" or "--format csv".',
  );
}
