import { afterEach, expect, test } from "vitest";
import { type PortalChain, type PortalFault, startPortal } from "../../devnet/portal.ts";
import { recordedBlocks, recordedNode } from "../../test/support/archive/recorded.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { openManifest } from "./folder.ts";
import type { ArchiveFilter } from "./manifest.ts";
import { recordFromPortal } from "./portal.ts";
import { type RecordOptions, recordChain } from "./record.ts";
import { type ArchivedBlock, readSegment } from "./segment.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const { ask, logs } = recordedNode(recording);
const blocks = recordedBlocks(recording);
const last = recording.blocks.length - 1;
const newFolder = temporaryFolders();

const chain: PortalChain = {
  first: 0,
  last,
  read: (from, to) =>
    blocks.filter(({ header }) => Number(header.number) >= from && Number(header.number) <= to),
  headerOf: (number) => recording.blocks[number],
};

let portal: Awaited<ReturnType<typeof startPortal>> | undefined;
afterEach(async () => {
  await portal?.close();
  portal = undefined;
});

type Options = Omit<Parameters<typeof startPortal>[0], "chains"> & {
  chain?: Partial<PortalChain>;
  filters?: ArchiveFilter[];
  factories?: RecordOptions["factories"];
  slug?: string;
};

const everything: ArchiveFilter[] = [{ addresses: null, topics: null }];
const folderOptions = (folder: string) => ({
  ...{ folder, chainId, ask, factories: new Map(), range: { from: 0, to: last }, progress: () => {} },
});

/** Records from a portal, and returns the archive. */
async function record({
  chain: changed,
  filters = everything,
  factories,
  slug = "test",
  ...options
}: Options = {}) {
  portal = await startPortal({ chains: { test: { ...chain, ...changed } }, ...options });
  const folder = newFolder();
  const said: string[] = [];
  const manifest = await recordFromPortal({
    ...{ ...folderOptions(folder), filters, log: (line) => said.push(line), random: () => 0.5 },
    ...(factories && { factories }),
    dataset: { url: `${portal.url}/datasets/${slug}`, tries: 3, idleMs: 200, pauseMs: 1 },
  });
  expect(manifest).toEqual(await openManifest(folder, chainId));
  return { manifest, said, blocks: await blocksOf(folder), requests: portal.requests };
}

async function blocksOf(folder: string): Promise<ArchivedBlock[]> {
  const { segments } = await openManifest(folder, chainId);
  return (await Promise.all(segments.map((one) => readSegment(folder, chainId, one)))).flat();
}

/** As a recording over RPC has them; a portal's `size` of a block is not exact. */
async function recordedOverRpc(filters = everything, factories: RecordOptions["factories"] = new Map()) {
  const folder = newFolder();
  await recordChain({ ...folderOptions(folder), filters, factories, withReceipts: false, width: 4 });
  return (await blocksOf(folder)).map(({ header: { size: _, ...header }, ...block }) => ({
    ...block,
    header,
  }));
}

test("the same blocks are recorded as over RPC, at the same level, with one request", async () => {
  const { manifest, blocks, requests } = await record();
  expect(blocks).toEqual(await recordedOverRpc());
  expect(manifest.segments).toMatchObject([
    { from: 0, to: last, logs: logs.length, proof: { bloom: 0, header: blocks.length, receipts: 0 } },
  ]);
  expect(requests.length).toBe(1);
});

test("contracts that a factory deployed are recorded with it", async () => {
  const [
    {
      address: factory,
      topics: [event = ""],
    },
  ] = logs as [(typeof logs)[number]];
  const child = logs.find(({ address }) => address !== factory)?.address ?? "";
  const filters = [{ addresses: { factory, event }, topics: null }];
  const factories = new Map([[`${factory} ${event}`, () => child]]);
  const { blocks, manifest } = await record({ filters, factories });
  expect(manifest.children).toEqual({ [`${factory} ${event}`]: [child] });
  expect(blocks).toEqual(await recordedOverRpc(filters, factories));
});

test.each<[string, PortalFault]>([
  ["ends early", { after: 2, how: "end" }],
  ["ends without a line", { after: 0, how: "end" }],
  ["ends within a line", { after: 3, how: "cut" }],
  ["resets the connection", { after: 3, how: "reset" }],
  ["sends something else than blocks", { after: 1, how: "garbage" }],
  ["goes silent", { after: 1, how: "silence" }],
  ["lags behind", { status: 204 }],
  ["is a gateway in conflict", { status: 409 }],
  ["limits the rate", { status: 429, headers: { "retry-after": "0" } }],
  ["is overloaded", { status: 529, headers: { "retry-after": "0" } }],
  ["fails", { status: 503 }],
])("a stream that %s is resumed behind its last block", async (_, fault) => {
  // Every other request fails, up to two thirds of the chain.
  let requests = 0;
  const { blocks, manifest } = await record({
    fault: (from) => (requests++ % 2 === 0 && from < (last * 2) / 3 ? fault : undefined),
  });
  expect(blocks).toEqual(await recordedOverRpc());
  expect(manifest.segments[0]?.proof).toEqual({ bloom: 0, header: blocks.length, receipts: 0 });
});

const changeLog = (change: Partial<ArchivedBlock["logs"][number]>) => (block: ArchivedBlock) => ({
  ...block,
  logs: block.logs.map((log) => ({ ...log, ...change })),
});

test.each<[string, Options, RegExp]>([
  [
    "changes data of logs",
    { alter: changeLog({ data: "0x77" }) },
    /Log \d+ of block \d+.* is too many in the portal/,
  ],
  [
    "invents logs",
    {
      alter: (block) => (block === blocks[0] ? changeLog({ address: `0x${"77".repeat(20)}` })(block) : block),
    },
    /not in the block's bloom/,
  ],
  [
    "leaves out logs",
    { alter: (block) => ({ ...block, logs: block.logs.slice(1) }) },
    /Log \d+ of block \d+.* is missing in the portal/,
  ],
  [
    "changes headers",
    { alter: (block) => ({ ...block, header: { ...block.header, gasUsed: "0x77" } }) },
    /has another gasUsed in the portal than at the node/,
  ],
  [
    "changes transactions",
    {
      alter: (block) => ({
        ...block,
        transactions: block.transactions.map((one) => ({ ...one, from: one.hash.slice(0, 42) })),
      }),
    },
    /Transaction \d+ of block \d+ is not the same in the portal/,
  ],
  ["sends blocks in another order", { chain: { read: () => blocks.toReversed() } }, /out of order/],
  [
    "sends blocks twice",
    { chain: { read: () => blocks.flatMap((block) => [block, block]) } },
    /out of order/,
  ],
  [
    "serves another chain",
    { chain: { headerOf: () => ({ ...recording.blocks[0], hash: `0x${"77".repeat(32)}` }) } },
    /one of them serves another chain/,
  ],
  ["has no such dataset", { slug: "other" }, /responded with 404: It has no such dataset/],
  [
    "refuses the request",
    { fault: () => ({ status: 400, body: "no\u001b[31m" }) },
    /responded with 400: no\\u001b/,
  ],
  [
    "fails for long",
    { fault: () => ({ status: 503 }) },
    /503, 3 times in a row before block 0\. Run the command again/,
  ],
  [
    "lacks what an archive needs",
    { lacking: { column: "logs_bloom", to: last } },
    /lacks the field logsBloom from block 0 on/,
  ],
])("nothing is stored of a portal that %s", async (_, options, message) => {
  await expect(record(options)).rejects.toThrow(message);
});

test("a header field that a chunk lacks lowers the level of its blocks only", async () => {
  const to = Number(blocks[3]?.header.number);
  const {
    manifest,
    blocks: found,
    said,
  } = await record({
    lacking: { column: "mix_hash", to },
    fault: (from) => (from <= to ? { after: 1, how: "end" } : undefined),
  });
  const lacking = found.filter(({ header }) => Number(header.number) <= to).length;
  expect(manifest.segments[0]?.proof).toEqual({
    bloom: lacking,
    header: found.length - lacking,
    receipts: 0,
  });
  expect(said.join()).toContain("headers lack a field: level bloom");
});

test("only blocks that the dataset has are recorded from it", async () => {
  const { manifest } = await record({ chain: { first: 10, last: 100 } });
  expect(manifest.segments).toMatchObject([{ from: 10, to: 100 }]);
});
