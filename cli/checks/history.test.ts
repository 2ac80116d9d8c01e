import { afterEach, describe, expect, test } from "vitest";
import { RpcError } from "../../devnet/rpc/methods.ts";
import { serveRpc } from "../../devnet/rpc/server.ts";
import type { CoveredLogs } from "../../src/archive/manifest.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { contractSources } from "../../src/config/sources.ts";
import { examineHistory, findFirstMissing, findLack } from "./history.ts";

// Mainnet's first block with contracts of ENS, the old registry's.
const first = 3_327_417;

type Answers = { block?: (number: number) => unknown; logs?: (number: number) => unknown };

const bloom = (digit: string) => `0x${digit.repeat(512)}`;
const block = { logsBloom: bloom("1"), transactions: [`0x${"1".repeat(64)}`] };
const nodes: { close(): unknown }[] = [];
afterEach(() => {
  for (const node of nodes.splice(0)) node.close();
});

/** A node at block 24,000,000 that answers about blocks below the merge as told, and has all others. */
async function startNode({ block: blockAt = () => block, logs: logsAt = () => [{}] }: Answers = {}) {
  const asked: string[] = [];
  const about = (tag: unknown, old: (number: number) => unknown, young: unknown) => {
    asked.push(String(tag));
    return tag === "latest" || Number(tag) > 15_537_393 ? young : old(Number(tag));
  };
  const server = await serveRpc({
    methods: new Map<string, (params: unknown[]) => unknown>([
      ["eth_blockNumber", () => "0x16e3600"],
      ["eth_getBlockByNumber", ([tag]) => about(tag, blockAt, block)],
      ["eth_getLogs", ([filter]) => about((filter as { fromBlock: string }).fromBlock, logsAt, [{}])],
    ]),
  });
  nodes.push(server);
  return { url: server.url, asked };
}

const refuse = (code: number, message: string) => () => {
  throw new RpcError({ code, message });
};

describe("a node", () => {
  test("with the whole history lacks nothing, by two requests", async () => {
    const { url, asked } = await startNode();
    expect(await findLack(url, first)).toBe(undefined);
    expect(asked).toEqual(["0x32c5b9", "0x32c5b9"]);
  });

  test.each<[string, Answers, string, boolean]>([
    ["without old blocks", { block: () => null }, "is missing there", false],
    // go-ethereum: eth/ethconfig, "history.chain=postmerge".
    [
      "that names EIP-4444",
      { block: refuse(4444, "pruned history unavailable") },
      "is refused: pruned history unavailable",
      false,
    ],
    [
      "that refuses old logs by another code",
      { logs: refuse(-32_000, "required historical state is not available") },
      "has logs, which are refused: required historical state is not available",
      false,
    ],
    [
      "without old bodies",
      { block: () => ({ ...block, transactions: [] }) },
      "has logs, but no transactions there",
      false,
    ],
    ["without old receipts", { logs: () => [] }, "has logs, but the node returns none", true],
    ["with null for old logs", { logs: () => null }, "has logs, but the node returns none", true],
  ])("%s lacks them", async (_, answers, found, isSilent) => {
    const { url } = await startNode(answers);
    expect(await findLack(url, first)).toEqual({ found: `block ${first} ${found}`, isSilent });
  });

  test("of a chain without logs at first is asked for later blocks, and for few", async () => {
    const empty = { ...block, logsBloom: bloom("0") };
    const young = await startNode({
      block: (number) => (number < first + 100 ? empty : block),
      logs: () => [],
    });
    expect(await findLack(young.url, first)).toMatchObject({
      found: `block ${first + 100} has logs, but the node returns none`,
    });
    const silent = await startNode({ block: () => empty, logs: () => [] });
    expect(await findLack(silent.url, first)).toBe(undefined);
    expect(silent.asked.length).toBe(6);
  });

  test("that has not reached the block, or is busy, shows nothing", async () => {
    const { url } = await startNode({ block: () => null });
    expect(await findLack(url, 24_000_001)).toBe(undefined);
    const busy = await serveRpc({ methods: new Map() });
    nodes.push(busy);
    await expect(findLack(busy.url, first)).rejects.toThrow("refuses every block");
  });
});

describe("the URLs of a chain", () => {
  const examine = (urls: string[], more = {}) =>
    examineHistory(
      parseEnvironment(
        {
          NAMESPACE: "mainnet",
          PLUGINS: "subgraph",
          LABELS_URL: "file:x",
          DATABASE_FOLDER: "/nowhere/postgres",
          RPC_URL_1: urls.map((url) => `${url}/k3yk3yk3yk3yk3yk3y`).join(),
          ...more,
        },
        () => "",
      ),
    );
  const states = async (urls: string[], more = {}) =>
    (await examine(urls, more)).map(({ state, found }) => [state, found]);

  test("of which one has no history fail, without its key", async () => {
    const { url } = await startNode({
      block: refuse(4444, "no block for \u001b[31m/k3yk3yk3yk3yk3yk3y"),
    });
    const [finding, ...others] = await examine([url]);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({
      state: "fail",
      found: `RPC_URL_1 (${new URL(url).host}) lacks old blocks of chain 1: block ${first} is refused: no block for \\u001b[31m/…`,
      remedy: "Use the URL of a node with the whole history, or set ARCHIVE to an archive of these blocks.",
    });
  });

  test("of which another has it warn, unless nothing would notice empty lists", async () => {
    const whole = await startNode();
    for (const answers of [{ block: () => null }, { logs: () => [] }]) {
      const urls = [whole.url, (await startNode(answers)).url];
      const found = expect.stringMatching(/^RPC_URL_1 entry 2 .*; continuing with the others$/);
      expect(await states(urls)).toEqual([["warning", found]]);
      const state = "logs" in answers ? "fail" : "warning";
      const [finding] = await examine(urls, { RPC_CROSS_CHECK_PERCENT: "0" });
      expect(finding?.state).toBe(state);
    }
    expect(await states([whole.url])).toEqual([]);
  });

  test("that do not respond are left to another check", async () => {
    expect(await states(["http://127.0.0.1:1"])).toEqual([]);
  });
});

test("only what neither cache nor archive covers is asked for", () => {
  const config = parseEnvironment(
    { NAMESPACE: "mainnet", PLUGINS: "subgraph", LABELS_URL: "file:x", RPC_URL_1: "http://127.0.0.1:1" },
    () => "",
  );
  const sources = Object.values(contractSources(config));
  const all = { addresses: null, topics: null };
  const covering = (...segments: { from: number; to: number }[]): CoveredLogs => ({
    filters: [all],
    children: {},
    segments: segments.map((one) => ({ ...one, filters: [0] })),
  });
  const missing = (covered: CoveredLogs) => findFirstMissing(sources, "mainnet", covered);
  expect(missing(covering())).toBe(first);
  expect(missing(covering({ from: first, to: 20_000_000 }))).toBe(20_000_001);
  expect(missing(covering({ from: first, to: 5_000_000 }, { from: 5_000_002, to: 9_000_000 }))).toBe(
    5_000_001,
  );
  expect(missing(covering({ from: first + 1, to: 9_000_000 }))).toBe(first);
  expect(findFirstMissing(sources, "base", covering())).toBe(undefined);
});
