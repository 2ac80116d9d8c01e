import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { recordedBlocks, writeArchive } from "../../test/support/archive/recorded.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { checkArchive, compareWithNode } from "./check.ts";
import { readManifest } from "./folder.ts";
import type { Manifest } from "./manifest.ts";
import { encodeSegment } from "./segment.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const whole = recordedBlocks(recording);
const plain = whole.map(({ receipts: _, ...block }) => block);
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

async function archiveOf(blocks = whole) {
  const half = Math.floor(blocks.length / 2);
  const end = Number(blocks[half]?.header.number);
  const archive = await writeArchive(chainId, [
    { from: 0, to: end, blocks: blocks.slice(0, half + 1) },
    { from: end + 1, to: 158, blocks: blocks.slice(half + 1) },
  ]);
  folders.push(archive.folder);
  const path = (place: number) =>
    join(archive.folder, String(chainId), `${archive.manifest.segments[place]?.hash}.seg`);
  return { ...archive, path };
}

const checked = (place: string, manifest: Manifest) => checkArchive({ place, manifest, progress: () => {} });

test("a sound archive has its counts, and nothing is wrong", async () => {
  const { folder, manifest } = await archiveOf();
  expect(await checked(folder, manifest)).toMatchObject({
    segments: 2,
    blocks: whole.length,
    logs: 1125,
    proof: { bloom: 0, header: 0, receipts: whole.length },
    suspects: [],
    problems: [],
  });
});

test("a segment that is cut off, changed, or missing is named", async () => {
  const { folder, manifest, path } = await archiveOf();
  truncateSync(path(0), 1_000);
  const bytes = readFileSync(path(1));
  bytes[50] = (bytes[50] ?? 0) ^ 4;
  writeFileSync(path(1), bytes);
  const { problems } = await checked(folder, manifest);
  expect(problems).toEqual([
    expect.stringMatching(
      /^Segment .* \(blocks 0 to \d+ of chain 15658735\) has 1000 bytes, not \d+: it is cut off\.$/,
    ),
    expect.stringMatching(/^Segment .* does not match its hash\.$/),
  ]);
  rmSync(path(1));
  expect((await checked(folder, manifest)).problems[1]).toMatch(/is missing\.$/);
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

// Someone who removes a log gives the segment its right name, and the manifest the right counts.
async function withoutLog(blocks: typeof whole) {
  const archive = await archiveOf(blocks);
  const place = blocks.findIndex(({ logs }) => logs.length > 2);
  const lacking = blocks.map((block, i) => (i === place ? { ...block, logs: block.logs.slice(1) } : block));
  const [segment] = archive.manifest.segments;
  if (segment === undefined) throw new Error("There is no segment.");
  const own = lacking.slice(0, segment.blocks);
  const { bytes, hash, size } = encodeSegment(own);
  Object.assign(segment, { hash, bytes: bytes.length, unpacked: size, logs: segment.logs - 1 });
  writeFileSync(archive.path(0), bytes);
  return { ...archive, number: Number(blocks[place]?.header.number) };
}

test("a log that was removed is found by the receipts, where the archive has them", async () => {
  const { folder, manifest, number } = await withoutLog(whole);
  const { problems } = await checked(folder, manifest);
  expect(problems[0]).toContain(`the receipts of block ${number} do not have the root`);
});

test("a log that was removed is found by a node, where it has none", async () => {
  const { folder, manifest, number } = await withoutLog(plain);
  const found = await checked(folder, manifest);
  expect(found).toMatchObject({ problems: [], proof: { header: whole.length } });
  const all = recording.receipts.flatMap((receipt) => receipt["logs"] as RpcLog[]);
  const ask = async ({ method, params }: RpcRequest) => {
    const [first] = params as [{ fromBlock: string; toBlock: string } & string];
    if (method === "eth_getBlockByNumber") return recording.blocks[Number(first)];
    return all.filter(
      ({ blockNumber }) =>
        Number(blockNumber) >= Number(first.fromBlock) && Number(blockNumber) <= Number(first.toBlock),
    );
  };
  // Ranges of a hundred blocks: from the first on.
  await compareWithNode({ place: folder, manifest, found, samples: 3, random: () => 0, ask });
  expect(found.compared).toBe(3);
  expect(found.problems[0]).toBe(`Log 0 of block ${number} is not the same in the archive and at the node.`);
});

test("a block that does not follow the one before it is found", async () => {
  const { folder, manifest } = await archiveOf(plain);
  const place = plain.findIndex(
    (block, i) => Number(plain[i - 1]?.header.number) === Number(block.header.number) - 1,
  );
  const header = {
    ...plain[place]?.header,
    parentHash: `0x${"66".repeat(32)}`,
  } as (typeof plain)[number]["header"];
  const forged = plain.map((block, i) => (i === place ? { ...block, header } : block));
  const other = await archiveOf(forged);
  expect((await checked(folder, manifest)).problems).toEqual([]);
  expect((await checked(other.folder, other.manifest)).problems).toContain(
    `Block ${Number(header.number)} does not follow the block before it, or is there twice with different hashes.`,
  );
});
