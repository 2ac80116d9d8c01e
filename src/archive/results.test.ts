import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { checkArchive } from "./check.ts";
import { openManifest } from "./folder.ts";
import { type ArchivedResult, addResults, archivedResults } from "./results.ts";

const chainId = 7;
const newFolder = temporaryFolders();

async function archiveOf(...files: ArchivedResult[][]) {
  const folder = newFolder();
  const manifest = await openManifest(folder, chainId);
  for (const results of files) await addResults(folder, manifest, results);
  const lines: string[] = [];
  const log = (_: string, message: string) => void lines.push(message);
  const find = archivedResults({ location: folder, chain: "one", chainId, log });
  const pathOf = (file: number) => join(folder, String(chainId), `${manifest.results?.[file]?.hash}.seg`);
  return { folder, find, lines, pathOf };
}

const odd = 'a "quoted" text\n\u2028 of two lines';

test("results are found by key in the files that have their block", async () => {
  const first: ArchivedResult[] = [3, 3, 9].map((block, index) => [
    `a${index}`,
    block,
    ["0x01", odd, "0x03"][index]!,
  ]);
  const { folder, find, lines } = await archiveOf(first, [["dd", 5, "0x04"]]);
  const found = await Promise.all([find("a0", 3), find("a1", 3), find("a2", 9), find("dd", 5)]);
  expect(found).toEqual(["0x01", odd, "0x03", "0x04"]);
  // Outside of the files' blocks, and of no request.
  expect([await find("a0", 10), await find("ee", 5)]).toEqual([undefined, undefined]);
  expect(lines).toEqual([]);
  const manifest = await openManifest(folder, chainId);
  expect(manifest.results?.map(({ from, to, count }) => [from, to, count])).toEqual([
    [3, 9, 3],
    [5, 5, 1],
  ]);
  expect(await checkArchive({ location: folder, manifest, progress: () => {} })).toMatchObject({
    ...{ results: 4, problems: [] },
  });
});

test("a file that is changed is not used, which is reported once and found by a check", async () => {
  const { folder, find, lines, pathOf } = await archiveOf([["aa", 3, "0x01"]], [["bb", 8, "0x02"]]);
  const bytes = readFileSync(pathOf(0));
  bytes[20] = (bytes[20] ?? 0) ^ 1;
  writeFileSync(pathOf(0), bytes);
  const found = [await find("bb", 8), await find("aa", 3), await find("aa", 3)];
  expect(found).toEqual(["0x02", undefined, undefined]);
  const problem = expect.stringMatching(/does not match its hash/);
  expect(lines).toEqual([problem]);
  const manifest = await openManifest(folder, chainId);
  expect(await checkArchive({ location: folder, manifest, progress: () => {} })).toMatchObject({
    ...{ results: 1, problems: [problem] },
  });
});

const disordered = [3, 2, 3].map((block, index): ArchivedResult => [`a${index}`, block, "0x01"]);
test.each<[string, ArchivedResult[], RegExp]>([
  ["blocks out of order", disordered, /3 results, not 3 in the order of their blocks/],
  ["something else than results", [["aa", 3, 1 as never]], /has another form in line 1/],
])("a file with %s is not used", async (_, results, message) => {
  const { find, lines } = await archiveOf(results);
  expect(await find("aa", 3)).toBeUndefined();
  expect(lines).toEqual([expect.stringMatching(message)]);
});

test("a host that fails is asked again later", async () => {
  const { folder, lines } = await archiveOf([["aa", 3, "0x01"]]);
  let requests = 0;
  const server = await listen((request, response) => {
    requests += 1;
    // The manifest the first time, then the file the first time.
    if (requests === 1 || requests === 3) return void response.writeHead(503).end();
    response.end(readFileSync(join(folder, request.url ?? "")));
  });
  const location = server.url;
  const log = (_: string, message: string) => void lines.push(message);
  const find = archivedResults({ location, chain: "one", chainId, log, retryMs: 5 });
  expect(await find("aa", 3)).toBeUndefined();
  await expect.poll(() => find("aa", 3)).toBe("0x01");
  expect(await find("aa", 3)).toBe("0x01");
  expect([requests, lines.length]).toEqual([5, 1]);
  await server.close();
});
