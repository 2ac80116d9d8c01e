import type { LabelParser, RowSink } from "../../../labels-service/formats/parser.ts";

/** What a parser gave to its sink: labels as text with the claimed hash, remarks with their positions. */
export type Collected = {
  labels: string[];
  given: (string | undefined)[];
  invalid: string[];
  ignored: string[];
};

/** Feeds `pieces` to a parser; for tests of parsers. */
export async function collect(
  createParser: (sink: RowSink) => LabelParser,
  pieces: readonly (string | Buffer)[],
): Promise<Collected> {
  const collected: Collected = { labels: [], given: [], invalid: [], ignored: [] };
  const parser = createParser({
    label: (bytes, start, end, given) => {
      collected.labels.push(bytes.toString("utf8", start, end));
      collected.given.push(given && Buffer.from(given).toString("hex"));
    },
    invalid: (reason) => collected.invalid.push(`${parser.position()}: ${reason}`),
    ignored: (reason) => collected.ignored.push(`${parser.position()}: ${reason}`),
  });
  for (const piece of pieces) parser.push(Buffer.from(piece));
  await parser.end();
  return collected;
}
