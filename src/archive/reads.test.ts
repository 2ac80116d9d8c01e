import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { type BoundedRequest, NodeError } from "./answers.ts";
import { checkArchive } from "./check.ts";
import { openManifest, readResults } from "./folder.ts";
import type { ArchiveFilter } from "./manifest.ts";
import { createPaces } from "./pace.ts";
import { compareResults, type Read, type SeenBlock } from "./reads.ts";
import { recordChain } from "./record.ts";
import { addResults, resultsIn } from "./results.ts";

// A node over a recording, and a rule that makes one call for each log: of its contract, with its place in the block.

const recording = recordingOf("linea");
const { chainId } = recording;
const last = 158;
const logs = recording.receipts.flatMap((receipt) => receipt["logs"] as RpcLog[]);
const [{ address: first }] = logs as [RpcLog];
const second = logs.find(({ address }) => address !== first)?.address ?? "";
const senderOf = new Map(recording.transactions.map(({ hash, from }) => [hash, from]));
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "archive-"));
  folders.push(folder);
  return folder;
}

const keyOf = (block: number, hash: string, data: string) => `${block} ${hash} ${data}`;

function createReads(copies = 1): (block: SeenBlock) => Read[] {
  let newest = -1;
  return ({ number, timestamp, logs: seen }) => {
    expect(number).toBeGreaterThan(newest);
    newest = number;
    expect(timestamp).toBe(BigInt(recording.blocks[number]?.["timestamp"] as string));
    // Each twice, as where an event is emitted twice in a block.
    return Array.from({ length: copies }, (_, copy) => [...seen, ...seen].map((log) => ({ ...log, copy })))
      .flat()
      .map(({ copy, address, topics, data, hash, sender }) => {
        expect(sender).toBe(senderOf.get(hash));
        const key = keyOf(number, hash, data + topics.join()) + (copy > 0 ? ` ${copy}` : "");
        const request = {
          method: "eth_call",
          params: [{ to: address, key }, number],
          maxBytes: 1_000,
          timeoutMs: 500,
        };
        return {
          ...{ block: number, keys: [key], requests: 1 },
          resultsOf: async (ask) => {
            const result = await ask(request);
            return new Map(typeof result === "string" ? [[key, result]] : []);
          },
        };
      });
  };
}

const resultOf = (key: string) => `result of ${key.slice(0, 20)}`;
type Call = (key: string, to: string) => unknown;

function openNode(call: Call = (key) => resultOf(key)) {
  const called: string[] = [];
  const ask = async ({ method, params, tried: _, ...limits }: BoundedRequest): Promise<unknown> => {
    const [given] = params as [Filter & { key: string; to: string } & string];
    if (method === "eth_call") {
      expect(limits).toEqual({ maxBytes: 1_000, timeoutMs: 500 });
      called.push(given.key);
      return call(given.key, given.to);
    }
    if (method === "eth_getBlockByNumber") {
      const block = recording.blocks[Number(given)];
      const hash = block?.["hash"];
      return { ...block, transactions: recording.transactions.filter((one) => one["blockHash"] === hash) };
    }
    const [from, to] = [Number(given.fromBlock), Number(given.toBlock)];
    return logs.filter(({ blockNumber, address }) => {
      const number = Number(blockNumber);
      return number >= from && number <= to && (given.address?.includes(address) ?? true);
    });
  };
  return { ask, called };
}

type Filter = { fromBlock: string; toBlock: string; address?: string[] };
type Recorded = {
  to?: number;
  filters?: ArchiveFilter[];
  hasCalls?: boolean;
  copies?: number;
  urls?: number;
};

const of = (address: string): ArchiveFilter => ({ addresses: [address], topics: null });
const reports: unknown[] = [];

function record(
  folder: string,
  ask: (body: RpcRequest) => Promise<unknown>,
  { to = last, filters = [of(first)], hasCalls = true, copies = 1, urls = 1 }: Recorded = {},
) {
  reports.length = 0;
  const report = (missing: number, reason: string) => void reports.push([missing, reason]);
  return recordChain({
    ...{ folder, chainId, filters, factories: [], withReceipts: false, ask, urls, width: 4 },
    range: { from: 0, to },
    progress: () => {},
    calls: hasCalls ? { createReads: () => createReads(copies), report } : undefined,
  });
}

async function resultsOf(folder: string): Promise<[string, number, string][]> {
  const manifest = await openManifest(folder, chainId);
  expect(await checkArchive({ place: folder, manifest, progress: () => {} })).toMatchObject({ problems: [] });
  const files = await Promise.all(
    (manifest.results ?? []).map(async (file) => resultsIn(file, await readResults(folder, chainId, file))),
  );
  return files.flat();
}

const expectedOf = (addresses: string[], to = last) =>
  logs
    .filter(({ address, blockNumber }) => addresses.includes(address) && Number(blockNumber) <= to)
    .map(({ blockNumber, transactionHash, data, topics }) => {
      return keyOf(Number(blockNumber), transactionHash, data + topics.join());
    });
const resultsFor = (keys: string[]) => keys.map((key) => [key, Number(key.split(" ")[0]), resultOf(key)]);

test("the results of each segment are recorded with it, once", async () => {
  const [folder, node] = [newFolder(), openNode()];
  await record(folder, node.ask, { to: 100 });
  expect(await resultsOf(folder)).toEqual(resultsFor(expectedOf([first], 100)));
  const manifest = await record(folder, node.ask);
  expect(await resultsOf(folder)).toEqual(resultsFor(expectedOf([first])));
  expect(node.called).toEqual(expectedOf([first]));
  expect(manifest.asked).toEqual([{ from: 0, to: last, missing: 0 }]);
  expect(manifest).toEqual(await openManifest(folder, chainId));
  await record(folder, node.ask);
  expect([node.called.length, reports]).toEqual([expectedOf([first]).length, []]);
});

test("what an archive was recorded without is asked for later, in the order of blocks and from its files", async () => {
  const [folder, node] = [newFolder(), openNode()];
  await record(folder, node.ask, { to: 60, hasCalls: false });
  const manifest = await record(folder, node.ask, { to: 120, hasCalls: false });
  expect([manifest.results, manifest.asked, node.called]).toEqual([undefined, undefined, []]);
  const onlyCalls = async (body: RpcRequest) => {
    expect(body.method).toBe("eth_call");
    return node.ask(body as BoundedRequest);
  };
  await record(folder, onlyCalls, { to: 120 });
  expect(await resultsOf(folder)).toEqual(resultsFor(expectedOf([first], 120)));
});

test("a recording that was interrupted between a segment and its results goes on with these", async () => {
  const folder = newFolder();
  let left = 5;
  const down = openNode((key) => {
    if (left-- > 0) return resultOf(key);
    throw new Error("the node is away");
  });
  const ask = async (body: RpcRequest) => {
    if (left < 0) throw new Error("the node is away");
    return down.ask(body as BoundedRequest);
  };
  await expect(record(folder, ask)).rejects.toThrow("the node is away");
  const manifest = await openManifest(folder, chainId);
  expect([manifest.segments.length, manifest.asked]).toEqual([1, undefined]);
  await record(folder, openNode().ask);
  expect(await resultsOf(folder)).toEqual(resultsFor(expectedOf([first])));
});

test("of a segment with many results those that were written stay when it is interrupted", async () => {
  const folder = newFolder();
  const all = [{ addresses: null, topics: null }];
  let left = 2_200;
  const down = openNode((key) => {
    left -= 1;
    return resultOf(key);
  });
  const ask = async (body: RpcRequest) => {
    if (left <= 0) throw new Error("the node is away");
    return down.ask(body as BoundedRequest);
  };
  // Each log's results four times over, so that the recording is long enough.
  await expect(record(folder, ask, { filters: all, copies: 4 })).rejects.toThrow("the node is away");
  const written = await resultsOf(folder);
  expect(written.length).toBeGreaterThanOrEqual(2_000);
  const node = openNode();
  await record(folder, node.ask, { filters: all, copies: 4 });
  const whole = await resultsOf(folder);
  expect(new Set(whole.map(([key]) => key)).size).toBe(whole.length);
  expect(node.called.length).toBe(whole.length - written.length);
});

test("results that the archive has, as from an export, are not asked for", async () => {
  const [folder, node] = [newFolder(), openNode()];
  const manifest = await record(folder, node.ask, { hasCalls: false });
  const [one, ...others] = resultsFor(expectedOf([first])) as [string, number, string][];
  await addResults(folder, manifest, [one!]);
  await record(folder, node.ask);
  expect(node.called).toEqual(others.map(([key]) => key));
  expect(await resultsOf(folder)).toHaveLength(others.length + 1);
});

test("another contract's segment over the same blocks is asked about too", async () => {
  const [folder, node] = [newFolder(), openNode()];
  await record(folder, node.ask);
  const { asked } = await record(folder, node.ask, { filters: [of(first), of(second)] });
  expect(node.called.toSorted()).toEqual(expectedOf([first, second]).toSorted());
  expect((await resultsOf(folder)).toSorted()).toEqual(resultsFor(expectedOf([first, second])).toSorted());
  expect(asked).toEqual([{ from: 0, to: last, missing: 0 }]);
});

test("a contract's refusal and answers that are too long are asked for once, and are no results", async () => {
  const keys = expectedOf([first]);
  const failures = new Map([
    [keys[0], new NodeError("execution reverted: rate limit exceeded", 3)],
    [keys[1], new NodeError("gas uint64 overflow", -32000)],
    [keys[2], new NodeError("more than 1000 bytes", "too long")],
  ]);
  const node = openNode((key) => {
    const failure = failures.get(key);
    if (failure !== undefined) throw failure;
    return key === keys[3] ? "x".repeat(64 * 1024 + 1) : resultOf(key);
  });
  const [folder] = [newFolder()];
  const manifest = await record(folder, node.ask);
  expect(node.called).toEqual(keys);
  expect(await resultsOf(folder)).toEqual(resultsFor(keys.slice(4)));
  expect([manifest.asked, reports]).toEqual([[{ from: 0, to: last, missing: 0 }], []]);
});

test.each<[string, NodeError | null]>([
  ["a method that no node has", new NodeError("the method does not exist", -32601)],
  ["blocks whose state the nodes do not have", new NodeError("missing trie node", -32000)],
  ["no result", null],
])(
  "%s does not end a recording; it is said, and asked for again later",
  async (_, failure) => {
    const folder = newFolder();
    const lacking = openNode(() => {
      if (failure !== null) throw failure;
      return null;
    });
    const keys = expectedOf([first]);
    await record(folder, lacking.ask);
    const reason = `eth_call: ${failure?.message ?? "no result"}`;
    expect(reports).toEqual([[keys.length, reason]]);
    expect(await resultsOf(folder)).toEqual([]);
    // A method is asked for three times by each of the four that run at once; what fails in a row is not repeated either.
    expect(lacking.called.length).toBeLessThanOrEqual(failure?.code === -32601 ? 12 : keys.length + 12);

    // The same node again: a few attempts show that nothing has changed.
    const before = lacking.called.length;
    await record(folder, lacking.ask);
    expect(reports).toEqual([[keys.length, reason]]);
    expect(lacking.called.length - before).toBeLessThanOrEqual(12);

    const { asked } = await record(folder, openNode().ask);
    expect([asked, reports]).toEqual([[{ from: 0, to: last, missing: 0 }], []]);
    expect(await resultsOf(folder)).toEqual(resultsFor(keys));
  },
  60_000,
);

test("a failure that was temporary loses no result", async () => {
  const folder = newFolder();
  const failed = new Set<string>();
  const node = openNode((key) => {
    if (failed.size < 4 && !failed.has(key)) {
      failed.add(key);
      throw [new NodeError("header not found", -32000), new Error("socket hang up")][failed.size % 2];
    }
    return resultOf(key);
  });
  await record(folder, node.ask);
  expect(await resultsOf(folder)).toEqual(resultsFor(expectedOf([first])));
  expect(reports).toEqual([]);
});

test("a node that has a result gives it, whatever another one lacks", async () => {
  const folder = newFolder();
  const lacking = openNode(() => {
    throw new NodeError("missing trie node", -32000);
  });
  const node = openNode();
  const paced = createPaces([lacking, node], { now: Date.now, perSecond: 2_000 });
  const ask = (body: BoundedRequest) => paced((one) => one.ask(body), body.tried);
  await record(folder, ask, { urls: 2 });
  const keys = expectedOf([first]);
  expect(await resultsOf(folder)).toEqual(resultsFor(keys));
  expect(reports).toEqual([]);
  expect([node.called.length, lacking.called.length <= keys.length]).toEqual([keys.length, true]);
});

test("what nobody can give in some ranges does not keep others from being asked again", async () => {
  const folder = newFolder();
  const keys = expectedOf([first]);
  const blockOf = (key: string) => Number(key.split(" ")[0]);
  const middle = blockOf(keys[keys.length >> 1] as string);
  const isLate = (key: string) => blockOf(key) >= middle;
  const absent = (call: (key: string) => boolean) =>
    openNode((key) => {
      if (call(key)) throw new NodeError("missing trie node", -32000);
      return resultOf(key);
    });
  const none = absent(() => true);
  await record(folder, none.ask, { to: middle - 1 });
  await record(folder, none.ask);
  expect(reports).toEqual([[keys.length, "eth_call: missing trie node"]]);
  await record(folder, absent((key) => !isLate(key)).ask);
  expect(await resultsOf(folder)).toEqual(resultsFor(keys.filter(isLate)));
  expect(reports).toEqual([[keys.filter((key) => !isLate(key)).length, "eth_call: missing trie node"]]);
});

test("results are compared with a node: changed ones are found, what the node cannot give is left out", async () => {
  const folder = newFolder();
  const manifest = await record(folder, openNode().ask);
  const compared = (call?: Call) =>
    compareResults({
      ...{ folder, chainId, manifest, createReads: () => createReads(), ask: openNode(call).ask },
      ...{ samples: 20, random: createRandom(1).fraction },
    });
  expect(await compared()).toEqual({ compared: 20, problems: [] });
  const other = await compared(() => "another result");
  expect(other.compared).toBe(20);
  expect(other.problems[0]).toMatch(
    /^A result of block \d+ is not the same in the archive and at the node\.$/,
  );
  const refused = await compared(() => {
    throw new NodeError("execution reverted", 3);
  });
  expect(refused.problems.length).toBeGreaterThan(0);
  const without = await compared(() => {
    throw new NodeError("the method does not exist", -32601);
  });
  expect(without).toEqual({ compared: 0, problems: [] });
});
