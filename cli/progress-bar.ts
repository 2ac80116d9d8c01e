import { Transform } from "node:stream";

// Ponder's entry of progress, with what src/ponder/log-entries.ts adds.
const told =
  /Updated backfill indexing progress progress=([\d.]+)%(?: estimate=(.*?))?(?: blocks=(.*?))? open=(\S+)$/;
const width = 24;
const clearLine = "\r\u001b[2K";

/** Stream of log lines to a terminal, which shows the progress of a backfill as a bar below the last line. */
export function createProgressBar(): Transform {
  let bar = "";
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let text = bar === "" ? "" : clearLine;
      for (const line of chunk.toString("utf8").split(/(?<=\n)/)) {
        const found = told.exec(line.trimEnd());
        if (found !== null) bar = drawBar(found);
        else text += line;
        if (line.includes("Completed backfill indexing")) bar = "";
      }
      done(null, text + bar);
    },
  });
}

function drawBar([, percent = "0", estimate, blocks, url]: RegExpExecArray): string {
  const filled = Math.round((Number(percent) / 100) * width);
  const facts = [
    `${percent} %`,
    ...(blocks === undefined ? [] : [`${blocks} blocks`]),
    ...(estimate === undefined ? [] : [`${estimate} to go`]),
    url,
  ];
  return `${"█".repeat(filled)}${"░".repeat(width - filled)} ${facts.join(" · ")}`;
}
