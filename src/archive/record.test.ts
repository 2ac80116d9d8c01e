import { expect, test } from "vitest";
import { recordedNode } from "../../test/support/archive/recorded.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { openManifest } from "./folder.ts";
import type { ArchiveFilter } from "./manifest.ts";
import { type RecordOptions, recordChain } from "./record.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const { logs } = recordedNode(recording);
const [{ address: first }] = logs as [RpcLog];
const second = logs.find(({ address }) => address !== first)?.address ?? "";
const newFolder = temporaryFolders();

const record = (
  { ask }: Pick<ReturnType<typeof recordedNode>, "ask">,
  { to, ...more }: Partial<RecordOptions> & { folder: string; to: number },
) =>
  recordChain({
    ...{ chainId, ask, filters: [], factories: new Map(), withReceipts: false, width: 4, progress: () => {} },
    ...{ ...more, range: { from: 0, to } },
  });

const blocksAsked = ({ asked }: { asked: string[] }) => asked.filter((one) => one.startsWith("block")).length;
const of = (address: string): ArchiveFilter => ({ addresses: [address], topics: null });
const blocksOf = (address: string, to: number) =>
  new Set(
    logs.flatMap((log) => (log.address === address && Number(log.blockNumber) <= to ? log.blockNumber : [])),
  ).size;

test("each block is fetched once: an archive is extended, and gets another contract, without what it has", async () => {
  const [folder, node] = [newFolder(), recordedNode(recording)];
  await record(node, { folder, filters: [of(first)], to: 100 });
  expect(blocksAsked(node)).toBe(blocksOf(first, 100));

  await record(node, { folder, filters: [of(first)], to: 158 });
  expect(blocksAsked(node)).toBe(blocksOf(first, 158));

  const before = node.asked.length;
  await record(node, { folder, filters: [of(first)], to: 158 });
  expect(node.asked.length).toBe(before);

  const manifest = await record(node, { folder, filters: [of(first), of(second)], to: 158 });
  expect(blocksAsked(node)).toBe(blocksOf(first, 158) + blocksOf(second, 158));
  expect(manifest.segments.map(({ from, to, filters }) => [from, to, filters])).toEqual([
    [0, 100, [0]],
    [101, 158, [0]],
    [0, 158, [1]],
  ]);
  expect(manifest).toEqual(await openManifest(folder, chainId));
});

test("after a release that reads more, only the new contracts and events are fetched", async () => {
  const [folder, node] = [newFolder(), recordedNode(recording)];
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
  const [folder, node] = [newFolder(), recordedNode(recording, { maxBlocks: 20 })];
  const { segments } = await record(node, { folder, filters: [{ addresses: null, topics: null }], to: 158 });
  expect(segments.map((segment) => segment.logs)).toEqual([logs.length]);
});

test("with receipts each block proves that no log is missing", async () => {
  const { segments } = await record(recordedNode(recording), {
    folder: newFolder(),
    filters: [of(first)],
    to: 158,
    withReceipts: true,
  });
  const count = blocksOf(first, 158);
  expect(segments.map(({ proof }) => proof)).toEqual([{ bloom: 0, header: 0, receipts: count }]);
});

test("contracts that a factory deployed are recorded with it", async () => {
  const event = logs[0]?.topics[0] ?? "";
  const filter = { addresses: { factory: first, event }, topics: null };
  const factories = new Map([[`${first} ${event}`, () => second]]);
  const manifest = await record(recordedNode(recording), {
    folder: newFolder(),
    filters: [filter],
    factories,
    to: 158,
  });
  expect(manifest.children).toEqual({ [`${first} ${event}`]: [second] });
  expect(manifest.segments[0]?.logs).toBe(logs.filter(({ address }) => address === second).length);
});

test("a block that was replaced meanwhile is not recorded", async () => {
  const node = recordedNode(recording);
  const ask = async (body: RpcRequest) => {
    const result = (await node.ask(body)) as object;
    const isBlock = body.method === "eth_getBlockByNumber";
    return isBlock ? { ...result, hash: `0x${"99".repeat(32)}` } : result;
  };
  const folder = newFolder();
  await expect(record({ ask }, { folder, filters: [of(first)], to: 158 })).rejects.toThrow(
    /^Log \d+ is not of block/,
  );
  expect((await openManifest(folder, chainId)).segments).toEqual([]);
});
