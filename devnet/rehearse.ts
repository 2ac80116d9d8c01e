// Rehearses a recording: serves its blocks, indexes all of them, and compares the index with the folder's entities.
//
//   rehearse.ts <recording-folder> [--stand-ins N] [--keep]
//   rehearse.ts <recording-folder> --serve-only [--rpc-port N] [--stand-ins N]
//
// Settings of the indexing service (DATABASE_URL, DATABASE_SCHEMA, PORT, SUBGRAPH_COMPAT, LOG_LEVEL, …) come from the
// environment; without DATABASE_URL it uses an embedded database in a temporary folder. Exit code 0: as expected.
import { once } from "node:events";
import { parseArgs } from "node:util";
import { startNode } from "./node.ts";
import { readRecording } from "./recording.ts";
import { rehearse } from "./rehearsal.ts";

const usage =
  "usage: rehearse <recording-folder> [--stand-ins N] [--keep] [--serve-only] [--rpc-port N]\n" +
  "  --stand-ins N   empty blocks after the recording, so that its own are final (default 65)\n" +
  "  --keep          stay up after the comparison\n" +
  "  --serve-only    only serve the recording over JSON-RPC, on --rpc-port (default 8545)";

const wholeNumber = (text: string, name: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number, not "${text}".`);
  return Number(text);
};

class UsageError extends Error {
  override name = "UsageError";
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      "stand-ins": { type: "string", default: "65" },
      "rpc-port": { type: "string", default: "8545" },
      "serve-only": { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const [folder, ...more] = positionals;
  if (folder === undefined || more.length > 0) throw new UsageError("Name one recording folder.");
  const standIns = wholeNumber(values["stand-ins"], "stand-ins");
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  if (values["serve-only"]) {
    const port = wholeNumber(values["rpc-port"], "rpc-port");
    const node = await startNode({ recording: readRecording(folder), standIns, port });
    console.log(`Chain ${node.chain.chainId} up to block ${node.chain.head()} at ${node.url}`);
    await once(stop.signal, "abort");
    await node.close();
    return 0;
  }
  const isEqual = await rehearse({
    folder,
    standIns,
    environment: process.env,
    write: (line) => console.log(line),
    signal: stop.signal,
    keep: values.keep,
  });
  return isEqual ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage =
    error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS");
  console.error(error instanceof Error ? error.message : error);
  if (isUsage) console.error(usage);
  process.exitCode = isUsage ? 2 : 1;
}
