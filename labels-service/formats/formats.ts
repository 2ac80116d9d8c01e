import { InputError } from "./parser.ts";
import { copyStatement } from "./sql-dump.ts";

export const formats = ["sql", "ensrainbow", "csv", "text"] as const;
/** How labels are written in a file. */
export type Format = (typeof formats)[number];

/** How many bytes of the (uncompressed) input `detectFormat` wants to see, if there are as many. */
export const detectionLength = 65_536;

/**
 * The format of an input that begins with `head`. CSV and plain text differ in what quotes mean only; where
 * that matters, the file's name decides. Throws `InputError` when nothing does.
 */
export function detectFormat(head: Buffer, name: string): Format {
  if (head.subarray(0, 20).includes("\n\nensrainbow")) return "ensrainbow";
  const text = head.toString("latin1");
  if (text.split("\n").some((line) => copyStatement.test(line))) return "sql";
  const extension = /\.(csv|txt)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  if (extension !== undefined) return extension === "csv" ? "csv" : "text";
  if (!/^"/m.test(text)) return "text";
  throw new InputError(
    'Lines begin with quotes: say whether they belong to the labels, with "--format text" or "--format csv".',
  );
}
