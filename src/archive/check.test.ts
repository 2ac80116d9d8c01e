import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRandom } from "../../cli/samples.ts";
import { recordedBlocks, recordedNode, writeArchive } from "../../test/support/archive/recorded.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { headerHash, receiptsRoot } from "../rpc/block-proofs.ts";
import { checkArchive, compareWithNode } from "./check.ts";
import { readManifest } from "./folder.ts";
import type { Manifest } from "./manifest.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const whole = recordedBlocks(recording);
const plain = whole.map(({ receipts: _, ...block }) => block);
const newFolder = temporaryFolders();

async function archiveOf(blocks = whole) {
  const half = Math.floor(blocks.length / 2);
  const end = Number(blocks[half]?.header.number);
  const segments = [
    { from: 0, to: end, blocks: blocks.slice(0, half + 1) },
    { from: end + 1, to: 158, blocks: blocks.slice(half + 1) },
  ];
  const archive = await writeArchive(chainId, segments, newFolder());
  const path = (index: number) =>
    join(archive.folder, String(chainId), `${archive.manifest.segments[index]?.hash}.seg`);
  return { ...archive, path };
}

const checked = (location: string, manifest: Manifest) =>
  checkArchive({ location, manifest, progress: () => {} });

test("a sound archive has its counts, and nothing is wrong", async () => {
  const { folder, manifest } = await archiveOf();
  expect(await checked(folder, manifest)).toMatchObject({
    segments: 2,
    blocks: whole.length,
    logs: 1125,
    proof: { bloom: 0, header: 0, receipts: whole.length },
    lacking: [],
    problems: [],
  });
});

test("a segment that is changed, or missing, is named", async () => {
  const { folder, manifest, path } = await archiveOf();
  const bytes = readFileSync(path(0));
  bytes[50] = (bytes[50] ?? 0) ^ 4;
  writeFileSync(path(0), bytes);
  rmSync(path(1));
  expect((await checked(folder, manifest)).problems).toEqual([
    expect.stringMatching(/^File .* \(blocks 0 to \d+ of chain 15658735\) does not match its hash\.$/),
    expect.stringMatching(/ is missing\.$/),
  ]);
});

test("an archive of another chain, or a manifest that names files elsewhere, is refused", async () => {
  const { folder, manifest } = await archiveOf();
  const path = join(folder, String(chainId), "manifest.json");
  writeFileSync(path, JSON.stringify({ ...manifest, chainId: 1 }));
  await expect(readManifest(folder, chainId)).rejects.toThrow("is of chain 1, not of chain 15658735");
  const [segment] = manifest.segments;
  const hostile = [
    { ...segment, hash: "../../../etc/passwd" },
    { ...segment, bytes: 1e12 },
    { ...segment, unpacked: 1e12 },
    // Within the limits of either, but a thousand times as large as the file.
    { ...segment, bytes: 50_000, unpacked: 50_000_000 },
    { ...segment, filters: [7] },
    { ...segment, from: 9, to: 3 },
  ];
  for (const one of hostile) {
    writeFileSync(path, JSON.stringify({ ...manifest, segments: [one] }));
    await expect(readManifest(folder, chainId)).rejects.toThrow(/^manifest\.json: /);
  }
  writeFileSync(path, "{");
  await expect(readManifest(folder, chainId)).rejects.toThrow("manifest.json is not JSON");
});

type Block = (typeof whole)[number];

const numbers = new Set(whole.map(({ header }) => Number(header.number)));

// A forger gives the segment its right name, and the manifest the right counts: of a block with several logs, which no
// other one follows.
async function forged(blocks: Block[], change: (block: Block) => Block | undefined) {
  const isAlone = ({ header, logs }: Block) => logs.length > 2 && !numbers.has(Number(header.number) + 1);
  const target = blocks.find(isAlone);
  const archive = await archiveOf(
    blocks.flatMap((block) => (block === target ? (change(block) ?? []) : block)),
  );
  const compare = (samples: number, seed?: number) => compared(archive, samples, seed);
  return { ...archive, compare, number: Number(target?.header.number) };
}

async function compared(
  { folder: location, manifest }: { folder: string; manifest: Manifest },
  samples: number,
  seed = 1,
) {
  const found = await checked(location, manifest);
  const { ask } = recordedNode(recording);
  await compareWithNode({ location, manifest, found, samples, random: createRandom(seed), ask });
  return found;
}

const withoutLog = (block: Block) => ({ ...block, logs: block.logs.slice(1) });
const withData = (block: Block) => ({
  ...block,
  logs: block.logs.map((log, i) => (i === 0 ? { ...log, data: `${log.data}00` } : log)),
});
const withHeader = (field: string) => (block: Block) => {
  const header = { ...block.header, [field]: "0x1" };
  return { ...block, header: { ...header, hash: headerHash(header) ?? "" } };
};
const withTime = (block: Block) => ({ ...block, header: { ...block.header, timestamp: "0x1" } });
const withSender = (block: Block) => ({
  ...block,
  transactions: block.transactions.map((one, i) =>
    i === 0 ? { ...one, from: `0x${"99".repeat(20)}` } : one,
  ),
});

test.each([
  ["a log is missing", withoutLog, "Log 0 of block N,"],
  ["a log has other data", withData, "Log 0 of block N,"],
  ["the time is another, and the hash fits it", withHeader("timestamp"), "Block N is 0x"],
  [
    "the time is another, and the hash does not fit",
    withTime,
    "Block N has another timestamp in the archive",
  ],
  ["the sender is another", withSender, "Transaction 0 of block N is not the same"],
  ["the whole block is missing", () => undefined, "Log 0 of block N,"],
])("a block of which %s is found by a node, if no receipts prove it", async (_, change, problem) => {
  const { compare, number, folder, manifest } = await forged(plain, change);
  expect((await checked(folder, manifest)).problems).toEqual([]);
  const { problems, compared } = await compare(1_000);
  expect(compared).toBe(manifest.segments.reduce((sum, { blocks }) => sum + blocks, 0));
  expect(problems[0]).toContain(problem.replace("N", String(number)));
});

test("a block with receipts and hashes of its own is found by its hash at the node", async () => {
  const { compare, number, folder, manifest } = await forged(whole, (block) => {
    const header = { ...block.header, receiptsRoot: receiptsRoot([]) };
    const hash = headerHash(header) ?? "";
    return { header: { ...header, hash }, transactions: [], logs: [], receipts: [] };
  });
  expect(await checked(folder, manifest)).toMatchObject({ problems: [], proof: { receipts: whole.length } });
  expect((await compare(1_000)).problems[0]).toContain(`Block ${number} is 0x`);
});

test("last blocks of segments are always compared, others by chance", async () => {
  const last = whole[Math.floor(whole.length / 2)];
  const isLast = ({ header }: Block) => header.number === last?.header.number;
  const archive = await archiveOf(
    plain.map((block) => (isLast(block) ? withHeader("timestamp")(block) : block)),
  );
  const found = await compared(archive, 0);
  expect(found.compared).toBe(0);
  expect(found.problems).toContainEqual(expect.stringContaining(`Block ${Number(last?.header.number)} is`));
  const sound = await forged(whole, (block) => block);
  expect(await sound.compare(1_000)).toMatchObject({ problems: [], compared: whole.length });
  // One wrong block of N, ten of which are drawn: found in 10/N of all runs; with 40 seeds, by far neither in all nor
  // in none.
  const { compare } = await forged(plain, withData);
  const runs = await Promise.all(Array.from({ length: 40 }, (_, seed) => compare(10, seed + 1)));
  const hits = runs.filter(({ problems }) => problems.length > 0).length;
  expect(runs.every(({ compared }) => compared === 10)).toBe(true);
  expect(hits).toBeGreaterThan(0);
  expect(hits).toBeLessThan(20);
});

test("a block that does not follow the one before it is found", async () => {
  const target = plain.find(({ header }) => numbers.has(Number(header.number) - 1));
  const parentHash = `0x${"66".repeat(32)}`;
  const { folder, manifest } = await archiveOf(
    plain.map((block) => (block === target ? { ...block, header: { ...block.header, parentHash } } : block)),
  );
  expect((await checked(folder, manifest)).problems).toContain(
    `Block ${Number(target?.header.number)} does not follow the block before it, or is there twice with different hashes.`,
  );
});
