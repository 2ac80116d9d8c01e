import type { Checkpoint, LabelParser, RowSink } from "../../../labels-service/formats/parser.ts";
import { startOfInput } from "../../../labels-service/formats/parser.ts";

/** What a parser gave to its sink: labels as text with the claimed hash, remarks with their positions. */
export type Collected = {
  labels: string[];
  given: (string | undefined)[];
  invalid: string[];
  ignored: string[];
};

/** Feeds `pieces` to a parser, from `from` on; for tests of parsers. */
export async function collect(
  createParser: (sink: RowSink, from: Checkpoint) => LabelParser,
  pieces: readonly (string | Buffer)[],
  from: Checkpoint = startOfInput,
): Promise<Collected> {
  const collected: Collected = { labels: [], given: [], invalid: [], ignored: [] };
  const parser = createParser(
    {
      label: (bytes, start, end, given) => {
        collected.labels.push(bytes.toString("utf8", start, end));
        collected.given.push(given && Buffer.from(given).toString("hex"));
      },
      invalid: (reason) => collected.invalid.push(`${parser.position()}: ${reason}`),
      ignored: (reason) => collected.ignored.push(`${parser.position()}: ${reason}`),
    },
    from,
  );
  for (const piece of pieces) parser.push(Buffer.from(piece));
  await parser.end();
  return collected;
}
