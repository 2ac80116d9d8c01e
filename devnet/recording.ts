import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Hex } from "viem";
import { z } from "zod/v4";

/** JSON object of a block, transaction or receipt as the chain's node returned it; hex is lower case. */
export type Answer = Record<string, unknown>;

/** One recorded `eth_call`: the node's result or error. */
export type RecordedCall = {
  to: Hex;
  data: Hex;
  block: Hex;
  result?: Hex | undefined;
  error?: { code: number; message: string } | undefined;
};

/** A recorded chain: what a node returned for each of its blocks, in chain order. */
export type Recording = {
  chainId: number;
  blocks: Answer[];
  transactions: Answer[];
  receipts: Answer[];
  calls: RecordedCall[];
  traces: { hash: Hex; result: unknown }[];
};

/**
 * Reads a recording folder: `meta.json` with the chain id, and blocks, transactions, receipts and (optional)
 * calls and traces as JSON lines, plain, gzipped or Brotli-compressed. Throws when a required file is missing.
 */
export function readRecording(folder: string): Recording {
  const { chainId } = meta.parse(JSON.parse(readFileSync(join(folder, "meta.json"), "utf8")));
  const blocks = readLines(folder, "blocks") as Answer[] | undefined;
  if (blocks === undefined || blocks.length === 0) throw new Error(`The recording ${folder} has no blocks.`);
  return {
    chainId,
    blocks,
    transactions: (readLines(folder, "transactions") ?? []) as Answer[],
    receipts: (readLines(folder, "receipts") ?? []) as Answer[],
    calls: (readLines(folder, "calls") ?? []) as RecordedCall[],
    traces: (readLines(folder, "traces") ?? []) as Recording["traces"],
  };
}

/** Labels of a recording (`labels.json` or `rainbow-labels.json`): what a label service knows about its names. */
export function readLabels(folder: string): string[] {
  const path = ["labels.json", "rainbow-labels.json"].map((name) => join(folder, name)).find(existsSync);
  return path === undefined ? [] : z.array(z.string()).parse(JSON.parse(readFileSync(path, "utf8")));
}

/** Contract addresses of a recording (`addresses.json`), by their name in the datasources. */
export function readAddresses(folder: string): Record<string, Hex> {
  return addresses.parse(JSON.parse(readFileSync(join(folder, "addresses.json"), "utf8")))
    .contracts as Record<string, Hex>;
}

const meta = z.object({ chainId: z.number().int().positive() });
const addresses = z.object({ contracts: z.record(z.string(), z.string().regex(/^0x[0-9a-f]{40}$/)) });

const decoders: [suffix: string, decode: (bytes: Buffer) => Buffer][] = [
  ["jsonl", (bytes) => bytes],
  ["jsonl.gz", gunzipSync],
  ["jsonl.br", brotliDecompressSync],
];

function readLines(folder: string, name: string): unknown[] | undefined {
  for (const [suffix, decode] of decoders) {
    const path = join(folder, `${name}.${suffix}`);
    if (!existsSync(path)) continue;
    const lines = decode(readFileSync(path)).toString("utf8").split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
  }
  return undefined;
}
