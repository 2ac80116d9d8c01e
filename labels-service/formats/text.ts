import { createLineParser, type LabelFormat } from "./parser.ts";

/** Plain text: one label per line, taken literally. An empty line is the empty label; the last LF is optional. */
export const text: LabelFormat = {
  title: "plain text",
  recognisedBy: "a file name that ends in .txt or .txt.gz, or no line that begins with a quote",
  detects: (head, fileName) => /\.txt(?:\.gz)?$/i.test(fileName) || !/^"/m.test(head.toString("latin1")),
  createParser: (sink) =>
    createLineParser({
      onRow: sink.label,
      onEnd: (rest) => {
        if (rest.length > 0) sink.label(rest, 0, rest.length);
      },
    }),
  keepsCarriageReturns: true,
};
