import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeLabelsFile } from "../devnet/labels-file.ts";
import { type DevNode, startNode } from "../devnet/node.ts";
import { freePort } from "../devnet/ports.ts";
import { readRecording } from "../devnet/recording.ts";
import { parseEnvironment } from "../src/config/environment.ts";
import { recordedBlocks, writeArchive } from "../test/support/archive/recorded.ts";
import { examineArchive } from "./checks/archive.ts";
import type { Finding } from "./checks/finding.ts";
import { examine, waitForCheck } from "./checks.ts";
import { formatTable } from "./doctor.ts";

const chainId = 15658733;
const path = fileURLToPath(new URL("../devnet/recording/a", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "doctor-"));
let node: DevNode;
const servers: Server[] = [];
beforeAll(async () => {
  node = await startNode({ recording: readRecording(path) });
  node.mineBlock({ transactions: [] });
  writeLabelsFile(join(folder, "labels.sqlite"), ["eth", "test"]);
});
afterAll(async () => {
  for (const server of servers) server.close();
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

async function findingsOf(environment: Record<string, string>): Promise<Finding[]> {
  const config = parseEnvironment(
    {
      NAMESPACE: "ens-test-env",
      SUBGRAPH_COMPAT: "true",
      LABELS_URL: `file:${join(folder, "labels.sqlite")}`,
      DATABASE_FOLDER: join(folder, "new", "postgres"),
      [`RPC_URL_${chainId}`]: node.url,
      PORT: String(await freePort()),
      ...environment,
    },
    () => "",
  );
  const findings = await examine(config);
  return findings.filter(({ subject }) => subject !== "Node" && subject !== "memory");
}

/** A node behind a server that answers some requests itself. */
async function behind(answer: (body: { method: string; params: unknown[] }) => unknown): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const own = answer(JSON.parse(text));
    const passed = own ?? (await (await fetch(node.url, { method: "POST", body: text })).json());
    response.end(JSON.stringify(passed));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The newest block of the recording, so many seconds from now, with a transaction. */
const newest = (seconds = 0) => ({
  number: "0x682",
  timestamp: `0x${Math.floor(Date.now() / 1_000 + seconds).toString(16)}`,
  transactions: [`0x${"11".repeat(32)}`],
});
const failure = (message: string) => ({ jsonrpc: "2.0", id: 1, error: { code: -32000, message } });
const bad = (findings: readonly Finding[]) => findings.filter(({ state }) => state !== "ok");

test("finds nothing wrong where a start would succeed, and leaves no folder behind", async () => {
  const findings = await findingsOf({});
  expect(bad(findings)).toEqual([]);
  expect(findings.map(({ subject }) => subject)).toEqual([
    "port",
    "RPC",
    `RPC_URL_${chainId} (${new URL(node.url).host})`,
    "proof of ens-test-env",
    "labels",
    "database",
  ]);
  expect(findings.find(({ subject }) => subject === "labels")?.found).toContain(
    "label set subgraph has versions 0 to 0 with 2 labels",
  );
  expect(existsSync(join(folder, "new"))).toBe(false);
});

describe("a URL", () => {
  const withNode = async (url: string, more = {}) =>
    bad(await findingsOf({ [`RPC_URL_${chainId}`]: url, ...more }));

  test("with short ranges, without receipts, traces and old state", async () => {
    const url = await behind(({ method, params: [first, second] }) => {
      const { fromBlock = "", toBlock = "" } = (first ?? {}) as Record<string, string>;
      if (method === "eth_getLogs" && Number(toBlock) - Number(fromBlock) >= 100)
        return failure("range too wide");
      if (method === "eth_getBlockReceipts" || method === "debug_traceTransaction")
        return failure("no such method");
      if (method === "eth_getBalance") return failure(`missing trie node ${second}`);
      if (method === "eth_getBlockByNumber" && first === "latest")
        return { jsonrpc: "2.0", id: 1, result: newest() };
      return undefined;
    });
    const found = await withNode(url, {
      SUBGRAPH_COMPAT: "false",
      PLUGINS: "subgraph,protocol-acceleration",
    });
    expect(found.map(({ state, found }) => `${state}: ${found}`)).toEqual([
      "warning: no eth_getLogs of 500 blocks: range too wide",
      "warning: no eth_getBlockReceipts: no such method",
      "fail: no state of block 0: missing trie node 0x0",
      "warning: no debug_traceTransaction: no such method",
    ]);
  });

  test.each([
    [-28_492_364, "330 days old"],
    [600, "10 min ahead of the clock"],
  ])("whose newest block is %i seconds from now", async (seconds, age) => {
    const url = await behind(({ method, params: [first] }) =>
      method === "eth_getBlockByNumber" && first === "latest"
        ? { jsonrpc: "2.0", id: 1, result: newest(seconds) }
        : undefined,
    );
    expect((await withNode(url))[0]?.found).toBe(`chain ${chainId}, head 1666, ${age}`);
  });

  test("that does not answer is named without its key", async () => {
    const found = await withNode(`${node.url},http://me:pa55@127.0.0.1:1/k3yk3yk3yk3yk3yk3y`);
    expect(found).toMatchObject([
      { subject: "RPC", state: "warning" },
      { subject: `RPC_URL_${chainId} entry 2 (127.0.0.1:1)`, state: "fail" },
    ]);
    expect(JSON.stringify(found)).not.toMatch(/k3y|pa55/);
  });
});

test("label sets, files, ports and databases that cannot be used", async () => {
  const taken = createServer().listen(0);
  servers.push(taken);
  const { port } = taken.address() as AddressInfo;
  const found = bad(
    await findingsOf({
      SUBGRAPH_COMPAT: "false",
      PLUGINS: "registrars",
      LABEL_SET_VERSION: "2",
      PORT: String(port),
      DATABASE_URL: "postgresql://names:pa55@127.0.0.1:1/names",
      DATABASE_SCHEMA: "names_v1",
    }),
  ).filter(({ subject }) => !subject.startsWith("RPC"));
  expect(found.map(({ subject, state }) => `${subject} ${state}`)).toEqual([
    "port fail",
    "labels fail",
    "database away",
  ]);
  expect(JSON.stringify(found)).toMatch(
    /Set LABEL_SET_VERSION=0, or add version 1: npm run labels -- fetch subgraph 1 /,
  );
  expect(JSON.stringify(found)).not.toContain("pa55");
});

test("a missing label set comes with the command that fetches it", async () => {
  const missing = join(folder, "missing.sqlite");
  const labelsOf = async (LABELS_URL: string) =>
    bad(await findingsOf({ LABELS_URL })).find(({ subject }) => subject === "labels");
  expect(await labelsOf(`file:${missing}`)).toMatchObject({
    state: "fail",
    found: `There is no label database "${missing}". Create it: npm run labels -- fetch subgraph 0 --database "${missing}"`,
  });
  expect(await labelsOf("http://127.0.0.1:1")).toMatchObject({
    state: "away",
    remedy: expect.stringContaining("npm run labels -- fetch subgraph 0)"),
  });
}, 60_000);

test("the table says what to do, and counts", () => {
  const rows = [
    { subject: "port", state: "ok", found: "1 is free" },
    { subject: "clock", state: "fail", found: "slow", remedy: "Set it." },
  ] as const;
  expect(formatTable(rows)).toBe(
    'ok    port   1 is free\nFAIL  clock  slow\n             -> Set it.\n\n1 to correct, 0 to look at. See "Before a start" in docs/operations.md.',
  );
});

describe("an archive", () => {
  const recording = readRecording(path);
  const blocks = recordedBlocks(recording).slice(0, 20);
  const to = Number(blocks.at(-1)?.header.number);
  const chains = () => [{ id: chainId, name: "test", rpc: { http: [node.url] } }];
  const start = (config: { archive?: string; chains: ReturnType<typeof chains> }) =>
    waitForCheck({ subject: "archive", run: examineArchive }, config as never, {
      log: () => {},
      wait: async () => {},
    });

  test("that the node agrees with is fine", async () => {
    const { folder: archive } = await writeArchive(chainId, [{ from: 0, to, blocks }]);
    const logs = blocks.reduce((sum, block) => sum + block.logs.length, 0);
    expect(await examineArchive({ archive, chains: chains() })).toEqual([
      {
        subject: "archive of test",
        state: "ok",
        found: `${logs} logs up to block ${to}, level receipts; believed without proof: that the archive has all blocks of the chain and no others; hashes and senders of transactions; data of logs of 20 archived blocks beyond a sample of 5 %`,
      },
    ]);
    await start({ archive, chains: chains() });
    await start({ chains: chains() });
    rmSync(archive, { recursive: true });
  });

  test("of another branch, of no chain, or damaged refuses the start, and says why", async () => {
    const last = blocks.at(-1)!;
    const header = { ...last.header, hash: `0x${"99".repeat(32)}` };
    const forked = { ...last, header, receipts: undefined };
    const { folder: archive, manifest } = await writeArchive(chainId, [{ from: 0, to, blocks: [forked] }]);
    await expect(start({ archive, chains: chains() })).rejects.toThrow(
      `ARCHIVE cannot be used: chain ${chainId}: Block ${to} is 0x9999`,
    );
    const other = [{ id: 5, name: "other", rpc: { http: [node.url] } }];
    await expect(start({ archive, chains: other })).rejects.toThrow("it has none of the chains 5");
    rmSync(join(archive, String(chainId), `${manifest.segments[0]?.hash}.seg`));
    await expect(start({ archive, chains: chains() })).rejects.toThrow("is missing");
    expect(await examineArchive({ archive, chains: chains() })).toMatchObject([{ state: "fail" }]);
    rmSync(archive, { recursive: true });
  });

  test("on a host is compared with the node in places, and refused if one differs", async () => {
    const plain = blocks.map(({ receipts: _, ...block }) => block);
    const changed = plain.map((block, i) => {
      const logs = block.logs.map((log, at) => (at === 0 ? { ...log, data: "0x1234" } : log));
      return i === 3 ? { ...block, logs } : block;
    });
    for (const [own, found] of [
      [plain, "level header, 5 blocks compared with the node"],
      [changed.slice(0, 5), undefined],
    ] as const) {
      const last = Number(own.at(-1)?.header.number);
      const { folder: archive } = await writeArchive(chainId, [{ from: 0, to: last, blocks: own }]);
      const host = createServer((request, response) =>
        response.end(readFileSync(join(archive, request.url ?? ""))),
      );
      servers.push(host);
      await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
      const config = {
        archive: `http://127.0.0.1:${(host.address() as AddressInfo).port}`,
        chains: chains(),
      };
      const [finding] = await examineArchive(config);
      if (found === undefined) {
        await expect(start(config)).rejects.toThrow(/Log \d+ of block \d+, of .* in the archive/);
        // A folder is the operator's own: its newest block is compared.
        await start({ archive, chains: chains() });
      } else expect(finding).toMatchObject({ state: "ok", found: expect.stringContaining(found) });
      rmSync(archive, { recursive: true });
    }
  });
});
