import { expect, test, vi } from "vitest";
import { recordedBlocks, recordedNode, writeArchive } from "../../test/support/archive/recorded.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { addFile, packLines, writeManifest } from "./folder.ts";
import { createFront } from "./front.ts";
import type { ArchiveFilter, Manifest } from "./manifest.ts";
import { type ArchivedBlock, readSegment } from "./segment.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const all = recordedBlocks(recording);
const { logs } = recordedNode(recording);
const numberOf = ({ header }: { header: { number: string } }) => Number(header.number);
const between = (from: number, to: number) =>
  all.filter((block) => numberOf(block) >= from && numberOf(block) <= to);
const hex = (number: number) => `0x${number.toString(16)}`;
const newFolder = temporaryFolders();
const range = { from: 0, to: 158 };

// An archive in front of a node.
async function fronted(
  segments: { from: number; to: number; filters?: ArchiveFilter[]; blocks?: ArchivedBlock[] }[],
  claimed?: Manifest["segments"][number]["proof"],
  { needsProofs = false, node = (answer: unknown) => answer } = {},
) {
  const archive = await writeArchive(
    chainId,
    segments.map((one) => ({ blocks: between(one.from, one.to), ...one })),
    newFolder(),
  );
  for (const segment of archive.manifest.segments) if (claimed !== undefined) segment.proof = claimed;
  await writeManifest(archive.folder, archive.manifest);
  const { ask: request, asked } = recordedNode(recording);
  const lines: string[] = [];
  const log = (_: string, message: string) => void lines.push(message);
  const opened = (found: string) => void lines.push(found.replace(archive.folder, "folder"));
  const believe = vi.fn();
  const options = { location: archive.folder, chain: "linea", chainId, needsProofs, log, opened, believe };
  const backend = { hostname: "node", request: async (body: RpcRequest) => node(await request(body)) };
  const front = createFront(options, [backend]);
  const getLogs = async (from: number, to: number, more: object = {}) =>
    (await front({
      method: "eth_getLogs",
      params: [{ fromBlock: hex(from), toBlock: hex(to), ...more }],
    })) as RpcLog[];
  return { ...archive, front, getLogs, asked, lines, believe };
}

const within = (from: number, to: number) =>
  logs.filter(({ blockNumber }) => Number(blockNumber) >= from && Number(blockNumber) <= to);

test("logs that the archive covers come from it, equal to the node's", async () => {
  const { getLogs, asked, lines } = await fronted([
    { from: 0, to: 80 },
    { from: 81, to: 158 },
  ]);
  expect(await getLogs(0, 158)).toEqual(logs);
  expect(await getLogs(50, 100)).toEqual(within(50, 100));
  const [{ address, topics }] = logs as [RpcLog];
  expect(await getLogs(0, 158, { address: [address], topics: [[topics[0]]] })).toEqual(
    logs.filter((log) => log.address === address && log.topics[0] === topics[0]),
  );
  expect(asked).toEqual([]);
  expect(lines).toEqual(["Using archive for blocks 0-158", "folder, level receipts"]);
});

test("of a range that is covered in part the node is asked for the rest alone", async () => {
  const { getLogs, asked } = await fronted([
    { from: 20, to: 60 },
    { from: 61, to: 90 },
  ]);
  expect(await getLogs(10, 120)).toEqual(within(10, 120));
  expect(asked).toEqual(["logs 10 to 19", "logs 91 to 120"]);
});

test("a contract or event that the archive does not name is asked of the node", async () => {
  const [{ address, topics }] = logs as [RpcLog];
  const other = logs.find((log) => log.address !== address)?.address ?? "";
  const filters = [{ addresses: [address], topics: [topics[0] ?? ""] }];
  const { getLogs, asked } = await fronted([{ from: 0, to: 158, filters }]);
  await getLogs(0, 158, { address: [address], topics: [[topics[0]]] });
  expect(asked).toEqual([]);
  await getLogs(0, 158, { address: [address, other], topics: [[topics[0]]] });
  await getLogs(0, 158, { address: [address] });
  await getLogs(0, 158, { topics: [[topics[0]]] });
  expect(asked).toEqual(["logs 0 to 158", "logs 0 to 158", "logs 0 to 158"]);
});

test("a block comes with its whole header and the senders of its logs", async () => {
  const { front, getLogs, asked } = await fronted([{ from: 0, to: 158 }]);
  const [{ blockNumber }] = logs as [RpcLog];
  await getLogs(0, 158);
  const block = await front({ method: "eth_getBlockByNumber", params: [blockNumber, true] });
  const { uncles: _, withdrawals: __, ...header } = recording.blocks[Number(blockNumber)] ?? {};
  const sent = recording.transactions.filter((one) => one["blockNumber"] === blockNumber);
  const transactions = sent.map(({ hash, from, to, transactionIndex, blockHash }) => {
    return { hash, from, to, transactionIndex, blockNumber, blockHash, gasPrice: "0x0" };
  });
  expect(block).toMatchObject({ ...header, transactions });
  expect(asked).toEqual([]);
});

test("a block is the node's if only its header is wanted, unless its logs came from here, or if some came from the node", async () => {
  const { front, getLogs, asked } = await fronted([
    { from: 0, to: 158, filters: [{ addresses: [logs[0]?.address ?? ""], topics: null }] },
  ]);
  const ask = (number: string, isFull: boolean) =>
    front({ method: "eth_getBlockByNumber", params: [number, isFull] });
  const [{ blockNumber }] = logs as [RpcLog];
  const number = Number(blockNumber);
  await ask(blockNumber, false);
  await ask(blockNumber, true);
  await getLogs(0, number, { address: [logs[0]?.address] });
  await getLogs(0, number);
  await ask(blockNumber, true);
  expect(asked).toEqual([`block ${number}`, `block ${number}`, `logs 0 to ${number}`, `block ${number}`]);
});

test("other requests, logs of one block by its hash, and what is of a chain without archive, are the node's", async () => {
  const { front, asked, folder } = await fronted([range]);
  await front({ method: "eth_chainId", params: [{}] });
  await front({ method: "eth_getLogs", params: [{ blockHash: logs[0]?.blockHash }] });
  expect(asked).toEqual(["eth_chainId", "logs NaN to NaN"]);
  const [request, log] = [vi.fn(), vi.fn()];
  const other = createFront({ location: folder, chain: "other", chainId: 5, log }, [
    { hostname: "", request },
  ]);
  await other({ method: "eth_getLogs", params: [{ fromBlock: "0x0", toBlock: "0x1" }] });
  expect(request).toHaveBeenCalledTimes(1);
  const message = "The archive has no data for this chain: using RPC only";
  expect(log.mock.calls).toEqual([["info", message, { chain: "other" }]]);
});

// --- Proof ---

const plain = all.map(({ receipts: _, ...block }) => block);
const later = plain.map((block) => ({ ...block, header: { ...block.header, timestamp: "0x1" } }));
const always = [
  "that the archive has all blocks of the chain and no others",
  "hashes and senders of transactions",
];

test("a header that does not hash to its hash is refused where the manifest says that it does", async () => {
  const whole = { bloom: 0, header: later.length, receipts: 0 };
  const { getLogs } = await fronted([{ ...range, blocks: later }], whole);
  await expect(getLogs(0, 158)).rejects.toThrow("claims another level of proof than its blocks have");
});

test.each([
  [
    "bloom",
    later,
    [
      `headers of ${all.length} archived blocks (level bloom)`,
      `number and data of logs of ${all.length} archived blocks`,
    ],
  ],
  ["header", plain, [`number and data of logs of ${all.length} archived blocks`]],
  ["receipts", all, [`data of logs of ${all.length} archived blocks beyond a sample of 5 %`]],
])("what is believed of an archive of level %s is said when it is opened", async (_, blocks, believed) => {
  const { getLogs, believe } = await fronted([{ ...range, blocks: [...blocks] }]);
  expect(await getLogs(0, 158)).toEqual(logs);
  expect(believe.mock.calls).toEqual([[[...always, ...believed]]]);
});

test("receipts that do not have their root are refused", async () => {
  const { getLogs, folder, manifest } = await fronted([range]);
  const [segment] = manifest.segments as [Manifest["segments"][number]];
  const blocks = await readSegment(folder, chainId, segment);
  for (const { logs: ofBlock } of blocks) for (const log of ofBlock) log.data = "0x1234";
  const file = await packLines(blocks);
  Object.assign(segment, file.listed);
  await addFile(folder, manifest, file);
  // One in twenty is drawn.
  vi.spyOn(Math, "random").mockReturnValueOnce(0.01);
  await expect(getLogs(0, 158)).rejects.toThrow("do not have the root that its header names");
});

test("where proofs are needed, segments without receipts are not used", async () => {
  const bare = between(0, 80).map(({ receipts: _, ...block }) => block);
  const { getLogs, asked, lines } = await fronted([{ from: 0, to: 80, blocks: bare }], undefined, {
    needsProofs: true,
  });
  expect(await getLogs(0, 80)).toEqual(within(0, 80));
  expect(asked).toEqual(["logs 0 to 80"]);
  expect(lines).toEqual(["The archive has no segment with proven receipts for this chain: using RPC only"]);
});

test("where proofs are needed, the nodes name each block of the archive too", async () => {
  const segments = [{ from: 0, to: 158 }];
  const [{ header } = all[0]!] = all;
  const block = { method: "eth_getBlockByNumber", params: [header.number, true] };
  const own = await fronted(segments, undefined, { needsProofs: true });
  await own.getLogs(0, 158);
  expect(await own.front(block)).toMatchObject({ hash: header.hash });
  expect(own.believe.mock.calls.flat(2).filter((what) => /beyond a sample/.test(what))).toEqual([]);
  const node = () => ({ hash: `0x${"7".repeat(64)}` });
  const foreign = await fronted(segments, undefined, { needsProofs: true, node });
  await foreign.getLogs(0, 158);
  await expect(foreign.front(block)).rejects.toThrow(
    `Block ${Number(header.number)} of chain ${chainId} is ${header.hash} in the archive, and 0x${"7".repeat(64)} at the nodes`,
  );
});

test.each([
  ["hash", `0x${"7".repeat(64)}`],
  ["from", `0x${"7".repeat(40)}`],
])(
  "where proofs are needed, a transaction with another %s than at the nodes is refused",
  async (field, value) => {
    const [{ blockNumber, transactionHash }] = logs as [RpcLog];
    const block = { method: "eth_getBlockByNumber", params: [blockNumber, true] };
    const isOf = (one: { hash?: string }) => one.hash === transactionHash;
    const node = (answer: unknown) => {
      const { transactions, ...header } = answer as { transactions: { hash?: string }[] };
      return {
        ...header,
        transactions: transactions.map((one) => (isOf(one) ? { ...one, [field]: value } : one)),
      };
    };
    const { front, getLogs } = await fronted([range], undefined, { needsProofs: true, node });
    await getLogs(0, 158);
    await expect(front(block)).rejects.toThrow(
      `Transaction 0 of block ${Number(blockNumber)} is not the same in the archive and at the node.`,
    );
  },
);
