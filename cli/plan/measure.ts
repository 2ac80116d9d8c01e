import { constants } from "node:fs";
import { access, mkdtemp, open, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { decodeEventLog, encodeEventTopics, type Hex, parseAbi, toHex } from "viem";
import type { Config } from "../../src/config/environment.ts";
import { contractSources, logFilters } from "../../src/config/sources.ts";
import { keccak256 } from "../../src/ens/keccak.ts";
import { findLack } from "../checks/history.ts";
import { askUrl } from "../checks/nodes.ts";

// Measurements of seconds. Others may share the machine, so the best of several slices counts.

/** Loops per second of `measureProcessor` on the machine of docs/performance.md. */
const loopsOfReference = 24_000;
const abi = parseAbi(["event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)"]);
const slices = { count: 10, milliseconds: 50 };

/** Speed of the processor in ratio to that of docs/performance.md: hashes and decodes events of the registry. */
export function measureProcessor(now = () => performance.now()): number {
  const node: Hex = `0x${"12".repeat(32)}`;
  const topics = encodeEventTopics({
    ...{ abi, eventName: "NewOwner" },
    args: { node, label: node },
  }) as [Hex, ...Hex[]];
  let best = 0;
  for (let slice = 0; slice < slices.count; slice++) {
    const start = now();
    let loops = 0;
    for (; now() - start < slices.milliseconds; loops++) {
      keccak256(`${loops}`);
      decodeEventLog({ abi, data: node, topics });
    }
    best = Math.max(best, (loops * 1_000) / (now() - start));
  }
  return best / loopsOfReference;
}

const [chunk, chunks, syncs] = [Buffer.alloc(1 << 20, 1), 64, 20];

/** Sequential write and fsync in the nearest existing folder, and what is free there. */
export async function measureDisk(folder: string) {
  let parent = folder;
  while (!(await isWritable(parent)) && parent !== dirname(parent)) parent = dirname(parent);
  const own = await mkdtemp(join(parent, "nsindex-plan-"));
  try {
    const file = await open(join(own, "x"), "w");
    const start = performance.now();
    for (let count = 0; count < chunks; count++) await file.write(chunk);
    await file.sync();
    const written = performance.now();
    for (let count = 0; count < syncs; count++) {
      await file.write(chunk, 0, 8_192);
      await file.sync();
    }
    const synced = performance.now();
    await file.close();
    const { bavail, bsize } = await statfs(own);
    return {
      bytesPerSecond: (chunks * chunk.length * 1_000) / (written - start),
      fsyncMilliseconds: (synced - written) / syncs,
      freeBytes: bavail * bsize,
    };
  } finally {
    await rm(own, { recursive: true });
  }
}

const isWritable = (folder: string) =>
  access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

const [requests, atOnce] = [40, 8];
const rangesTried = [10_000, 2_000, 500, 10];

/**
 * Latency and rate of an RPC URL by a few requests, the newest block, the largest range of logs among those tried, and
 * whether the first block to index is there. Rejects with the reason if the URL does not respond.
 */
export async function measureUrl(url: string, chainName: string, config: Config) {
  const { filters, first } = logFilters(Object.values(contractSources(config)), chainName);
  const head = Number(await askUrl(url, "eth_blockNumber", []));
  const times: number[] = [];
  const start = performance.now();
  const send = async () => {
    for (let count = 0; count < requests / atOnce; count++) {
      const sent = performance.now();
      await askUrl(url, "eth_getBlockByNumber", [toHex(head - times.length), true]);
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, send));
  const perSecond = (requests * 1_000) / (performance.now() - start);
  const largestRange = await findLargestRange(url, head, filters[0]);
  const lack = await findLack(url, first).catch(() => undefined);
  const latency = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  return { head, first, latency, perSecond, largestRange, lack: lack?.found, filters: filters.length };
}

type Filter = ReturnType<typeof logFilters>["filters"][number];

async function findLargestRange(url: string, head: number, filter?: Filter): Promise<number | undefined> {
  for (const range of rangesTried.filter((one) => filter !== undefined && one <= head)) {
    const blocks = { fromBlock: toHex(head - range + 1), toBlock: toHex(head) };
    const logs = {
      ...blocks,
      topics: [filter?.topics],
      ...(filter?.addresses && { address: filter.addresses }),
    };
    if (
      await askUrl(url, "eth_getLogs", [logs]).then(
        () => true,
        () => false,
      )
    )
      return range;
  }
  return undefined;
}
