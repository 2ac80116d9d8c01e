import { cp } from "node:fs/promises";
import { expect, test } from "vitest";
import { recordedBlocks, recordedNode, writeArchive } from "../../test/support/archive/recorded.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { headerHash } from "../rpc/block-proofs.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { checkArchive } from "./check.ts";
import { openManifest, writeManifest } from "./folder.ts";
import { createFront } from "./front.ts";
import { recordHeaders } from "./headers.ts";
import type { ArchivedBlock } from "./segment.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const newFolder = temporaryFolders();
const last = 158;
const hashAt = (number: number) => String(recording.blocks[number]?.["hash"]);
const node = recordedNode(recording);

type Header = ArchivedBlock["header"];

/** The chain from a block on as somebody would make it up: another time of that block, and all hashes computed anew. */
function forgedFrom(first: number): Map<string, Header> {
  const forged = new Map<string, Header>();
  let parentHash: string | undefined;
  for (let number = first; number <= last; number++) {
    const own = { ...recording.blocks[number], ...(parentHash && { parentHash }) } as Header;
    if (number === first) own["timestamp"] = "0x1234567";
    own.hash = headerHash(own) ?? "";
    parentHash = own.hash;
    forged.set(own.number, own);
  }
  return forged;
}

/** An archive with all headers, of the recorded chain or one that was made up from a block on. */
async function archiveOf(forged = new Map<string, Header>(), to = last) {
  const ask = async (body: RpcRequest) => forged.get(String((body.params as unknown[])[0])) ?? node.ask(body);
  const blocks = recordedBlocks(recording).map((block) => ({
    ...block,
    header: { ...block.header, ...forged.get(block.header.number) },
  }));
  const { folder, manifest } = await writeArchive(chainId, [{ from: 0, to: last, blocks }], newFolder());
  const options = { folder, ask, width: 16, progress: () => {} };
  await recordHeaders(manifest, { ...options, range: { from: 0, to: Math.min(to, 100) } });
  await recordHeaders(manifest, { ...options, range: { from: 0, to } });
  return { folder, manifest, blocks };
}

/**
 * Reads all archived blocks as an index does that needs proofs, and says which blocks nodes named: by their headers
 * alone.
 */
async function read({ folder, blocks }: Awaited<ReturnType<typeof archiveOf>>, trusted?: [number, string]) {
  const { ask } = recordedNode(recording);
  const asked: string[] = [];
  const request = async (body: RpcRequest) => {
    const [number, isFull] = body.params as unknown[];
    if (isFull === false) asked.push(`block ${Number(number)}`);
    return ask(body);
  };
  const trustedBlock = trusted && { number: trusted[0], hash: trusted[1] };
  const options = {
    location: folder,
    chain: "linea",
    chainId,
    needsProofs: true,
    trustedBlock,
    log: () => {},
  };
  // Each of them is asked twenty times a second.
  const front = createFront(options, Array(100).fill({ hostname: "node", request }));
  const range = { fromBlock: "0x0", toBlock: `0x${last.toString(16)}` };
  await front({ method: "eth_getLogs", params: [range] });
  for (const { header } of blocks)
    await front({ method: "eth_getBlockByNumber", params: [header.number, true] });
  return asked;
}

test("all headers are recorded once, and the manifest names the hashes that they lead from and to", async () => {
  const { folder, manifest } = await archiveOf();
  expect((await openManifest(folder, chainId)).headers).toMatchObject([
    { from: 0, to: 100, parent: recording.blocks[0]?.["parentHash"], last: hashAt(100) },
    { from: 101, to: last, parent: hashAt(100), last: hashAt(last) },
  ]);
  const withLogs = recordedBlocks(recording).length;
  expect(await checkArchive({ location: folder, manifest, progress: () => {} })).toMatchObject({
    empty: last + 1 - withLogs,
    // Blocks without any log have an empty bloom.
    emptyByBloom: last + 1 - withLogs,
    problems: [],
  });
});

test("a header that does not follow the one before, or does not hash to its hash, is not recorded", async () => {
  const other = forgedFrom(90).get("0x78") as Header;
  await expect(archiveOf(new Map([["0x78", other]]))).rejects.toThrow(
    "The header of block 120 does not follow the block before it.",
  );
  const changed = { ...recording.blocks[120], timestamp: "0x1" } as unknown as Header;
  await expect(archiveOf(new Map([["0x78", changed]]))).rejects.toThrow(
    "The header of block 120 does not hash to its hash.",
  );
});

test("headers that lead to the trusted block prove every archived block, and no node names one", async () => {
  expect(await read(await archiveOf(), [last, hashAt(last)])).toEqual([]);
});

test("without a trusted block at their end the nodes name the last block alone", async () => {
  const archive = await archiveOf();
  expect(await read(archive)).toEqual([`block ${last}`]);
  expect(await read(archive, [70, hashAt(70)])).toEqual([`block ${last}`]);
});

test("an archive that was made up with all hashes is refused by the hash of a block", async () => {
  const forged = forgedFrom(50);
  const made = forged.get(`0x${last.toString(16)}`)?.hash;
  const archive = await archiveOf(forged);
  expect(
    (await checkArchive({ location: archive.folder, manifest: archive.manifest, progress: () => {} }))
      .problems,
  ).toEqual([]);
  const text = `Block ${last} of chain ${chainId} is ${made} in the archive, and ${hashAt(last)}`;
  await expect(read(archive, [last, hashAt(last)])).rejects.toThrow(`${text} as the trusted block`);
  await expect(read(archive)).rejects.toThrow(`${text} at the nodes`);
  await expect(read(archive, [49, hashAt(49)])).rejects.toThrow(`${text} at the nodes`);
});

test("blocks with logs that are not the ones of the headers are refused", async () => {
  const forged = await archiveOf(forgedFrom(50));
  const honest = await archiveOf();
  const { headers = [] } = honest.manifest;
  const mixed = { ...forged.manifest, headers };

  await cp(honest.folder, forged.folder, { recursive: true, force: false });

  await writeManifest(forged.folder, mixed);
  await expect(read(forged, [last, hashAt(last)])).rejects.toThrow(
    /in the archive, and 0x[0-9a-f]{64} in its headers/,
  );
  const { problems } = await checkArchive({ location: forged.folder, manifest: mixed, progress: () => {} });
  expect(problems[0]).toMatch(/^Block \d+ is 0x[0-9a-f]{64} with logs, 0x[0-9a-f]{64} among the headers\.$/);
});

test("beyond the archived headers the nodes name each block", async () => {
  expect(await read(await archiveOf(undefined, 100), [100, hashAt(100)])).toEqual([]);
  const forged = await archiveOf(forgedFrom(120), 100);
  await expect(read(forged, [100, hashAt(100)])).rejects.toThrow(
    /in the archive, and 0x[0-9a-f]{64} at the nodes/,
  );
});
