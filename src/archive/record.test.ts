import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { recordingOf } from "../../test/support/recordings.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { openManifest } from "./folder.ts";
import type { ArchiveFilter } from "./manifest.ts";
import { type FactoryFilter, recordChain } from "./record.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const logs = recording.receipts.flatMap((receipt) => receipt["logs"] as RpcLog[]);
const [{ address: first }] = logs as [RpcLog];
const second = logs.find(({ address }) => address !== first)?.address ?? "";
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "archive-"));
  folders.push(folder);
  return folder;
}

type Filter = { fromBlock: string; toBlock: string; address?: string[]; topics?: string[][] };

// A node over the recording; refuses ranges of more than `mostBlocks` blocks.
function openNode({ mostBlocks = 1_000 } = {}) {
  const asked: string[] = [];
  const ask = async ({ method, params }: RpcRequest) => {
    const [filter] = params as [Filter & string];
    asked.push(method);
    if (method === "eth_getBlockByNumber") {
      const block = recording.blocks[Number(filter)];
      return {
        ...block,
        transactions: recording.transactions.filter((one) => one["blockHash"] === block?.["hash"]),
      };
    }
    if (method === "eth_getBlockReceipts")
      return recording.receipts.filter((one) => one["blockHash"] === filter);
    const [from, to] = [Number(filter.fromBlock), Number(filter.toBlock)];
    if (to - from >= mostBlocks) throw new Error("the range is too large");
    return logs.filter(({ blockNumber, address, topics }) => {
      const isNear = Number(blockNumber) >= from && Number(blockNumber) <= to;
      const events = filter.topics?.[0];
      return (
        isNear && (filter.address?.includes(address) ?? true) && (events?.includes(topics[0] ?? "") ?? true)
      );
    });
  };
  return { ask, asked, count: (method: string) => asked.filter((one) => one === method).length };
}

type Recorded = {
  folder: string;
  filters: ArchiveFilter[];
  to: number;
  factories?: FactoryFilter[];
  withReceipts?: boolean;
};
const record = (
  node: ReturnType<typeof openNode>,
  { to, factories = [], withReceipts = false, ...more }: Recorded,
) =>
  recordChain({
    chainId,
    factories,
    withReceipts,
    ...more,
    range: { from: 0, to },
    ask: node.ask,
    width: 4,
    progress: () => {},
  });

const of = (address: string): ArchiveFilter => ({ addresses: [address], topics: null });
const blocksOf = (address: string, [from, to]: [number, number]) =>
  new Set(
    logs
      .filter(
        (log) => log.address === address && Number(log.blockNumber) >= from && Number(log.blockNumber) <= to,
      )
      .map(({ blockNumber }) => blockNumber),
  ).size;

test("each block is fetched once: an archive is extended, and gets another contract, without what it has", async () => {
  const [folder, node] = [newFolder(), openNode()];
  await record(node, { folder, filters: [of(first)], to: 100 });
  expect(node.count("eth_getBlockByNumber")).toBe(blocksOf(first, [0, 100]));

  await record(node, { folder, filters: [of(first)], to: 158 });
  expect(node.count("eth_getBlockByNumber")).toBe(blocksOf(first, [0, 158]));

  const before = node.asked.length;
  await record(node, { folder, filters: [of(first)], to: 158 });
  expect(node.asked.length).toBe(before);

  const manifest = await record(node, { folder, filters: [of(first), of(second)], to: 158 });
  expect(node.count("eth_getBlockByNumber")).toBe(blocksOf(first, [0, 158]) + blocksOf(second, [0, 158]));
  expect(manifest.segments.map(({ from, to, filters }) => [from, to, filters])).toEqual([
    [0, 100, [0]],
    [101, 158, [0]],
    [0, 158, [1]],
  ]);
  expect(manifest).toEqual(await openManifest(folder, chainId));
});

test("after a release that reads more, only the new contracts and events are fetched", async () => {
  const [folder, node] = [newFolder(), openNode()];
  const [known = "", other = ""] = [...new Set(logs.flatMap(({ topics: [event = ""] }) => event))];
  const filterOf = (addresses: string[], topics: string[]) => [{ addresses, topics }];
  await record(node, { folder, filters: filterOf([first], [known]), to: 100 });
  const filters = filterOf([first, second], [known]);
  const withSecond = await record(node, { folder, filters, to: 100 });
  expect(withSecond.filters).toEqual([...filterOf([first], [known]), ...filterOf([second], [known])]);
  const more = filterOf([first, second], [known, other]);
  const manifest = await record(node, { folder, filters: more, to: 100 });
  expect(manifest.filters.slice(2)).toEqual(filterOf([first, second], [other]));

  const before = node.asked.length;
  await record(node, { folder, filters: more, to: 100 });
  expect(node.asked.length).toBe(before);
  expect(await record(node, { folder, filters: more, to: 120 })).toMatchObject({
    filters: [...manifest.filters, ...more],
    segments: [{ to: 100 }, { to: 100 }, { to: 100 }, { from: 101, to: 120 }],
  });
});

test("a node that refuses long ranges is asked for shorter ones", async () => {
  const [folder, node] = [newFolder(), openNode({ mostBlocks: 20 })];
  const { segments } = await record(node, { folder, filters: [{ addresses: null, topics: null }], to: 158 });
  expect(segments.map((segment) => segment.logs)).toEqual([logs.length]);
});

test("with receipts each block proves that no log is missing", async () => {
  const { segments } = await record(openNode(), {
    folder: newFolder(),
    filters: [of(first)],
    to: 158,
    withReceipts: true,
  });
  const count = blocksOf(first, [0, 158]);
  expect(segments.map(({ proof }) => proof)).toEqual([{ bloom: 0, header: 0, receipts: count }]);
});

test("contracts that a factory deployed are recorded with it", async () => {
  const event = logs[0]?.topics[0] ?? "";
  const filter = { addresses: { factory: first, event }, topics: null };
  const factories = [{ filter, childOf: () => second }];
  const manifest = await record(openNode(), { folder: newFolder(), filters: [], factories, to: 158 });
  expect(manifest.children).toEqual({ [`${first} ${event}`]: [second] });
  expect(manifest.segments[0]?.logs).toBe(logs.filter(({ address }) => address === second).length);
});

test("a block that was replaced meanwhile is not recorded", async () => {
  const node = openNode();
  const replaced = {
    ...node,
    ask: async (body: RpcRequest) => {
      const result = await node.ask(body);
      return body.method === "eth_getBlockByNumber" ? { ...result, hash: `0x${"99".repeat(32)}` } : result;
    },
  };
  const folder = newFolder();
  await expect(record(replaced, { folder, filters: [of(first)], to: 158 })).rejects.toThrow(
    /^Log \d+ is not of block/,
  );
  expect((await openManifest(folder, chainId)).segments).toEqual([]);
});
