import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type DevNode, startNode } from "../../devnet/node.ts";
import { type Answer, readRecording } from "../../devnet/recording.ts";
import { watchedOptions } from "../../test/support/ponder/rpc-nodes.ts";
import { emptyRoot, headerHash, receiptsRoot } from "./block-proofs.ts";
import { checkedUrls } from "./checked-rpc.ts";
import { type NodesOptions, type RpcRequest, toHex } from "./nodes.ts";

type Request = (body: RpcRequest) => Promise<unknown>;

let node: DevNode;
let honest: Request;
let all: Answer[];
beforeAll(async () => {
  const recording = readRecording(fileURLToPath(new URL("../../devnet/recording/a-base", import.meta.url)));
  node = await startNode({ recording });
  all = recording.receipts.flatMap((receipt) => receipt["logs"] as Answer[]);
  honest = async (body) => {
    const response = await fetch(node.url, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
    });
    return ((await response.json()) as { result: unknown }).result;
  };
});
afterAll(() => node.close());

/** An RPC that changes the answers to one method. */
const changing =
  (method: string, change: (answer: never) => unknown): Request =>
  async (body) =>
    body.method === method ? change((await honest(body)) as never) : honest(body);

/** The checked clients of hosts, as Ponder creates them, and what they report. */
function checked(
  byHost: Record<string, Request>,
  crossCheckShare = 0,
  chainId = 0,
  isPublic = true,
  more: Pick<NodesOptions, "needsProofs" | "trustedBlock"> = {},
) {
  const { options, ...watched } = watchedOptions({
    ...{ chain: "base", chainId, isPublic, crossCheckShare },
    ...more,
  });
  const urls = checkedUrls(
    Object.keys(byHost).map((host) => `http://${host}/secret`),
    options,
  );
  // What Ponder does with the entries.
  const backends = (urls as unknown[]).map((url) => {
    const { hostname } = new URL(String(url));
    return { hostname, request: byHost[hostname] as Request };
  }) as { hostname: string; request: Request }[];
  return { ...watched, request: backends[0]!.request, backends };
}

const head = { method: "eth_getBlockByNumber", params: ["latest", true] };
const getLogs = (filter: object = { fromBlock: "0x0", toBlock: "0xc2" }) => ({
  method: "eth_getLogs",
  params: [filter],
});
const logsAt = (number: unknown, more: object = {}) =>
  getLogs({ fromBlock: number, toBlock: number, ...more });
const blockAt = (number: unknown, isFull = true) => ({
  ...{ method: "eth_getBlockByNumber", params: [number, isFull] },
});
const withoutFirst = (logs: Answer[]) => logs.slice(1);
const changed = (change: (log: Answer) => Answer) => (logs: Answer[]) =>
  logs.map((log, index) => (index === 0 ? { ...log, ...change(log) } : log));
const withOtherData = changed(({ data }) => ({ data: `${(data as string).slice(0, -1)}7` }));
const withOtherTopics = changed(({ topics }) => ({
  topics: [...(topics as string[]).slice(0, -1), `0x${"7".repeat(64)}`],
}));
const crowded = () => {
  const [hash] = [...Map.groupBy(all, (log) => log["blockHash"] as string)].find(
    ([, logs]) => logs.length > 3,
  )!;
  return hash;
};

test("passes sound answers on unchanged, and other methods untouched", async () => {
  const { request, kinds, backends } = checked({ one: honest });
  expect(backends.map(({ hostname }) => hostname)).toEqual(["one"]);
  expect(await request(getLogs())).toEqual(all);
  expect(await request({ method: "eth_chainId" })).toBe(await honest({ method: "eth_chainId" }));
  expect(kinds()).toEqual([]);
});

test("asks again in halves where the number of logs may be a limit", async () => {
  const { request, kinds } = checked({
    one: changing("eth_getLogs", (logs: Answer[]) => logs.slice(0, 1_000)),
  });
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toEqual(["one cut-off"]);
});

test("two URLs that differ: receipts decide, and the wrong one is put aside", async () => {
  const liar = vi.fn(changing("eth_getLogs", withoutFirst));
  const { request, kinds, log } = checked({ liar, honest }, 1);
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toContain("liar put-aside");
  expect(log).toHaveBeenCalledWith(
    "warn",
    "Put an RPC URL aside",
    expect.objectContaining({ hostname: "liar" }),
  );
  const before = liar.mock.calls.length;
  expect(await request(getLogs())).toEqual(all);
  expect(liar.mock.calls.length).toBe(before);
});

/** A block with other fields, and the hash that it has with them. */
function sibling(block: Answer, fields: Answer): Answer {
  const { hash: _hash, ...changed } = { ...block, ...fields };
  return { ...changed, hash: headerHash(changed) };
}

/** A node that changes logs in every answer, receipts included. */
const changingLogs =
  (change: (logs: Answer[]) => Answer[]): Request =>
  async (body) => {
    const answer = await honest(body);
    if (body.method === "eth_getLogs") return change(answer as Answer[]);
    if (body.method !== "eth_getBlockReceipts") return answer;
    return (answer as Answer[]).map((receipt) => ({ ...receipt, logs: change(receipt["logs"] as Answer[]) }));
  };

/** A node without receipts that changes logs. */
const bare =
  (change = (logs: Answer[]): Answer[] => logs): Request =>
  async (body) => {
    if (body.method === "eth_getBlockReceipts") throw new Error("method not found");
    return changing("eth_getLogs", change)(body);
  };

test("two URLs that differ where no receipts prove anything: neither is believed", async () => {
  const urls = { liar: bare(withoutFirst), honest: bare(), third: bare() };
  await expect(checked(urls, 1).request(getLogs())).rejects.toThrow(/has other logs in block/);
});

test("a second URL that fails or is behind does not hold the first back, and a share of 0 asks none", async () => {
  const down: Request = () => Promise.reject(new Error("connect ECONNREFUSED"));
  expect(await checked({ honest, down }, 1).request(getLogs())).toEqual(all);
  const behind: Request = async ({ method }) => (method === "eth_getLogs" ? [] : null);
  expect(await checked({ honest, behind }, 1).request(getLogs())).toEqual(all);
  const second = vi.fn(honest);
  await checked({ honest, second }, 0).request(getLogs());
  expect(second).not.toHaveBeenCalled();
});

test("live logs are those of receipts that have the root in the header: one request, as for logs", async () => {
  const blockHash = crowded();
  const one = vi.fn(honest);
  const { request, kinds } = checked({ one });
  await request({ method: "eth_getBlockByHash", params: [blockHash, true] });
  one.mockClear();
  expect(await request(getLogs({ blockHash }))).toEqual(await honest(getLogs({ blockHash })));
  expect(one.mock.calls.map(([{ method }]) => method)).toEqual(["eth_getBlockReceipts"]);
  expect(kinds()).toEqual([]);
});

test.each([
  ["without the first log", withoutFirst],
  ["without the last log", (logs: Answer[]) => logs.slice(0, -1)],
  ["without any log", () => []],
  ["with other data", withOtherData],
  ["with other topics", withOtherTopics],
  ["with another contract", changed(() => ({ address: `0x${"7".repeat(40)}` }))],
  ["with another transaction", changed(() => ({ transactionHash: `0x${"7".repeat(64)}` }))],
  ["with logs that changed places", (logs: Answer[]) => [...logs].reverse()],
])(
  "a URL that returns live logs %s, in receipts too, is found by proof, alone and beside an honest one",
  async (_, change) => {
    const blockHash = crowded();
    const other = all.find((log) => log["blockHash"] !== blockHash)!["blockHash"];
    let isLying = true;
    const liar: Request = (body) => (isLying ? changingLogs(change) : honest)(body);
    const alone = checked({ liar });
    isLying = false;
    await alone.request(getLogs({ blockHash: other }));
    isLying = true;
    await expect(alone.request(getLogs({ blockHash }))).rejects.toThrow(
      /the logs of block \d+ differ from the receipts root of its header/,
    );
    isLying = false;
    expect(await alone.request(getLogs({ blockHash }))).toEqual(await honest(getLogs({ blockHash })));
    expect(alone.kinds()).toContain("liar missing-logs");
    isLying = true;
    // Whichever is asked first: proof decides, not votes.
    for (const urls of [
      { honest, liar },
      { liar, honest },
      { honest, liar, accomplice: liar },
    ]) {
      const { backends, kinds } = checked(urls, 1);
      for (const { request } of backends)
        for (const filter of [{ blockHash: crowded() }, undefined])
          expect(await request(getLogs(filter))).toEqual(await honest(getLogs(filter)));
      expect(kinds()).toContain("liar missing-logs");
      expect(kinds()).not.toContain("honest missing-logs");
      expect(kinds()).not.toContain("honest put-aside");
    }
  },
);

test("where no URL serves receipts, live logs must have the bloom of their header, and that their data is believed is said", async () => {
  const filter = { blockHash: crowded() };
  const sound = checked({ one: bare() });
  expect(await sound.request(getLogs(filter))).toEqual(await honest(getLogs(filter)));
  expect(sound.kinds()).toContain("one unverified");
  expect(sound.believe.mock.lastCall).toEqual([
    ["data of live logs, because no URL serves the receipts of whole blocks"],
  ]);
  for (const change of [withoutFirst, withOtherTopics, () => []])
    await expect(checked({ one: bare(change) }).request(getLogs(filter))).rejects.toThrow(
      /no receipts prove the logs of block \d+, and they do not fit its header/,
    );
});

// --- Headers ---

test.each([
  ["another timestamp", { timestamp: "0x1" }],
  ["a bloom without bits", { logsBloom: `0x${"0".repeat(512)}` }],
  ["the root of no receipts", { receiptsRoot: emptyRoot, logsBloom: `0x${"0".repeat(512)}` }],
  ["another parent", { parentHash: `0x${"7".repeat(64)}` }],
  ["another hash", { hash: `0x${"7".repeat(64)}` }],
])("a header with %s is refused, live and in the backfill, with a single URL", async (_, change) => {
  const { blockNumber } = all[0]!;
  const { request, kinds } = checked({
    one: changing("eth_getBlockByNumber", (block: Answer) => ({ ...block, ...change })),
  });
  for (const params of [
    [blockNumber, true],
    [blockNumber, false],
  ])
    await expect(request({ method: "eth_getBlockByNumber", params })).rejects.toThrow(
      /^Rejected a response from one: the header of block \d+ does not hash to 0x[0-9a-f]{64}\.$/,
    );
  expect(kinds()).toContain("one refused");
});

test("a header that lacks a field is refused on a public chain, and believed aloud on a local one", async () => {
  const { stateRoot: _root, ...fields } = (await honest(head)) as Answer;
  const one = changing("eth_getBlockByNumber", () => fields);
  await expect(checked({ one }).request(head)).rejects.toThrow(/lacks a field that its hash covers/);
  const local = checked({ one }, 0, 0, false);
  for (let i = 0; i < 3; i++) expect(await local.request(head)).toEqual(fields);
  expect(local.kinds()).toEqual(["one unverified", "one unverified", "one unverified"]);
  expect(local.believe.mock.lastCall).toEqual([["headers, which lack fields that their hashes cover"]]);
});

test("a block of the backfill whose bloom shows more than its logs is compared with its receipts", async () => {
  const topicOf = (log: Answer) => (log["topics"] as string[])[0]!;
  const ofBlock = [...Map.groupBy(all, (log) => log["blockHash"]).values()].find(
    (logs) => logs.length > 1 && new Set(logs.map(topicOf)).size === logs.length,
  )!;
  const lone = ofBlock[0]!;
  const topics = [ofBlock.map(topicOf)];
  const number = lone["blockNumber"] as string;
  const filter = { fromBlock: number, toBlock: number, topics };
  const leavesOut = changing("eth_getLogs", (logs: Answer[]) =>
    logs.filter((log) => log["logIndex"] !== lone["logIndex"]),
  );
  const block = blockAt(number);
  const short = checked({ one: leavesOut });
  await short.request(getLogs(filter));
  await expect(short.request(block)).rejects.toMatchObject({
    message: `Rejected logs from one: the logs of block ${Number(number)} differ from the receipts of one.`,
    code: -32700,
  });
  const whole = checked({ one: honest });
  await whole.request(getLogs(filter));
  expect(await whole.request(block)).toEqual(await honest(block));
});

test("refuses a block of the backfill that the logs do not belong to, one that was not asked for, and none", async () => {
  const { blockNumber } = all[0]!;
  const filter = { fromBlock: blockNumber, toBlock: blockNumber };
  const block = blockAt(blockNumber);
  const forked = checked({
    one: changing("eth_getBlockByNumber", (answer: Answer) => sibling(answer, { timestamp: "0x1" })),
  });
  await forked.request(getLogs(filter));
  await expect(forked.request(block)).rejects.toThrow(/has block hash .* but the block has 0x/);
  const other = checked({
    one: changing("eth_getBlockByNumber", (answer: Answer) => ({ ...answer, number: "0x1" })),
  });
  await expect(other.request(block)).rejects.toThrow(/was not asked for/);
  await expect(checked({ one: honest }).request(blockAt("0xffff"))).rejects.toThrow(
    "Rejected a response from one: it has no block 0xffff.",
  );
});

test("a single URL that changes topics of the backfill is proven wrong when the block is fetched", async () => {
  const { blockNumber } = all[0]!;
  const { request, kinds } = checked({ one: changing("eth_getLogs", withOtherTopics) }, 0.01);
  await request(logsAt(blockNumber));
  await expect(request(blockAt(blockNumber))).rejects.toThrow(/the logs of block \d+ differ from its bloom/);
  expect(kinds()).toContain("one missing-logs");
});

test.each([
  ["alone", 0.01, {}],
  ["alone, with all logs checked", 1, {}],
  ["beside one that serves no receipts", 1, { bare: bare(withOtherData) }],
] as const)(
  "a URL whose receipts of a backfill block contradict its header, as its logs do, is at fault: %s",
  async (_, share, others) => {
    const { blockNumber } = all[0]!;
    const { request, kinds, log, believe } = checked({ liar: changingLogs(withOtherData), ...others }, share);
    await request(logsAt(blockNumber));
    // JSON-RPC: Ponder does not repeat a request with this code, but fetches the range again, logs included.
    await expect(request(blockAt(blockNumber))).rejects.toMatchObject({
      message: expect.stringMatching(
        /^Rejected logs from liar: the logs of block \d+ differ from the receipts root of its header\.$/,
      ),
      code: -32_700,
    });
    expect(kinds()).toContain("liar missing-logs");
    expect(log).toHaveBeenCalledWith(
      "error",
      expect.stringContaining("RPC endpoint returned incomplete or fabricated logs"),
      expect.objectContaining({ hostname: "liar" }),
    );
    expect(JSON.stringify(believe.mock.calls)).not.toContain("no URL serves");
  },
);

test("a URL that serves receipts of some blocks and none of others is said to, whichever come first", async () => {
  const numbers = [...new Set(all.map((log) => log["blockNumber"]))];
  const { hash } = (await honest(blockAt(numbers[1], false))) as { hash: string };
  const hiding: Request = async (body) =>
    body.method === "eth_getBlockReceipts" && (body.params as string[])[0] === hash ? null : honest(body);
  const { request, believe } = checked({ hiding }, 1);
  for (const number of numbers.slice(0, 2)) {
    await request(logsAt(number));
    await request(blockAt(number));
  }
  expect(believe.mock.lastCall).toEqual([
    ["logs of blocks of the backfill whose receipts no URL serves, although one serves those of others"],
  ]);
});

test("what a configuration believes is a warning, also of two URLs, except on a local chain", () => {
  for (const [urls, isPublic, level] of [
    [{ one: honest }, true, "warn"],
    [{ one: honest, two: honest }, true, "warn"],
    [{ one: honest, two: honest }, false, "info"],
  ] as const)
    expect(checked(urls, 0.01, 0, isPublic).believe.mock.calls).toEqual([
      [expect.arrayContaining(["logs of the backfill beyond a sample of 1 %"]), level],
    ]);
});

test("a URL with three refused answers in a row is put aside where there is another, named by its host alone", async () => {
  const reversed = (logs: Answer[]) => [...logs].reverse();
  const { request, kinds } = checked({ liar: changing("eth_getLogs", reversed), honest });
  for (let i = 0; i < 3; i++)
    await expect(request(getLogs())).rejects.toThrow(
      /^Rejected a response from liar: log \d+ of block \d+ is repeated or out of order\.$/,
    );
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toEqual(["liar refused", "liar refused", "liar refused", "liar put-aside"]);
});

// --- Settling differences, and what was returned before ---

test("a single URL is asked twice: what it left out the first time is found", async () => {
  let asked = 0;
  const moody = changing("eth_getLogs", (logs: Answer[]) => (asked++ === 0 ? withoutFirst(logs) : logs));
  const { request, kinds } = checked({ moody }, 1);
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toContain("moody missing-logs");
});

test("an answer without logs is refused if the header of a block in the range shows some", async () => {
  const { request } = checked({ one: changing("eth_getLogs", () => []) }, 1);
  const { blockNumber } = all[0]!;
  await expect(
    request(getLogs({ fromBlock: blockNumber, toBlock: blockNumber, topics: [all[0]!["topics"]] })),
  ).rejects.toThrow(`the logs of block ${Number(blockNumber)} differ from the receipts of one`);
});

test("one block with as many logs as a limit is compared with its receipts", async () => {
  const { blockNumber, transactionHash } = all[0]!;
  const truth = (await honest(blockAt(blockNumber, false))) as Answer;
  const logs = Array.from({ length: 1_001 }, (_, i) => ({ ...all[0]!, logIndex: `0x${i.toString(16)}` }));
  const receipt = { type: "0x2", status: "0x1", cumulativeGasUsed: "0x1", transactionHash };
  const root = receiptsRoot([{ ...receipt, logs: logs as never }]);
  const block = sibling(truth, { receiptsRoot: root, transactions: [transactionHash] });
  const blockHash = block["hash"];
  const many: Answer[] = logs.map((log) => ({ ...log, blockHash, transactionIndex: "0x0" }));
  const one: Request = async (body) => {
    if (body.method === "eth_getLogs") return many.slice(0, 1_000);
    if (body.method === "eth_getBlockByNumber") return block;
    return body.method === "eth_getBlockReceipts" ? [{ ...receipt, logs: many }] : honest(body);
  };
  const { request } = checked({ one });
  await request(logsAt(blockNumber));
  await expect(request(blockAt(blockNumber))).rejects.toThrow(/differ from the receipts of one/);
});

test("what a proven liar changed is compared with what the confirming URL says, by content", async () => {
  for (const change of [withoutFirst, withOtherData, withOtherTopics]) {
    let lies = "none";
    const liar: Request = (body) => (lies === "none" ? honest : changingLogs(change))(body);
    const { request, backends, reported, kinds } = checked({ liar, honest }, 0.4);
    const part = (from: number, to: number) => ({ fromBlock: toHex(from), toBlock: toHex(to) });
    for (let i = 0; i < 10; i++) await request(getLogs(part(0, 60)));
    lies = "some";
    await request(getLogs(part(61, 120)));
    // Live logs prove it wrong: nothing but the comparison says which of its ranges are.
    await backends[0]!.request(getLogs({ blockHash: crowded() }));
    expect(kinds()).toContain("liar missing-logs");
    await vi.waitFor(() => expect(kinds()).toContain("liar differing"));
    expect(reported()).toEqual([[61, 120]]);
    // Ponder asks for a range again only if it did not store it.
    await request(getLogs(part(61, 120)));
    await request(getLogs(part(0, 60)));
  }
});

test("a URL that serves another chain is refused and named once, and put aside where there is another", async () => {
  const id = Number(await honest({ method: "eth_chainId" }));
  const stranger = changing("eth_chainId", () => "0x1");
  const { request, log, kinds } = checked({ stranger }, 0, id);
  for (let i = 0; i < 50; i++)
    await expect(request(getLogs())).rejects.toThrow(
      `Rejected a response from stranger: it serves chain 1, not chain ${id}.`,
    );
  expect(kinds().filter((kind) => kind === "stranger wrong-chain")).toHaveLength(50);
  const beside = checked({ stranger, honest }, 0, id);
  await expect(beside.request(getLogs())).rejects.toThrow("it serves chain 1");
  expect(await beside.request(getLogs())).toEqual(all);
  expect(beside.kinds()).toContain("stranger put-aside");
  const lines = log.mock.calls.filter(([, message]) => message.includes("serves another chain"));
  expect(lines).toEqual([
    ["error", expect.any(String), expect.objectContaining({ hostname: "stranger", expected: id, found: 1 })],
  ]);
});

test("all that a single URL returned stays unverified once it was found wrong: nobody can confirm it", async () => {
  let isHonest = true;
  const liar: Request = (body) => (isHonest ? honest : changingLogs(withoutFirst))(body);
  const { request, reported } = checked({ liar }, 0.4);
  const live = getLogs({ blockHash: crowded() });
  await request(getLogs({ fromBlock: "0x0", toBlock: "0x3c" }));
  await request(getLogs({ blockHash: all.at(-1)!["blockHash"] }));
  isHonest = false;
  await expect(request(live)).rejects.toThrow(/differ from the receipts root of its header/);
  isHonest = true;
  await request(live);
  await request(getLogs({ fromBlock: "0x3d", toBlock: "0x50" }));
  expect(reported()).toEqual([
    [0, 0x3c],
    [0x3d, 0x50],
  ]);
});

test("who finds a URL wrong has no answer before what is unverified was stored", async () => {
  let lies = 0;
  const liar: Request = (body) => (lies-- > 0 ? changingLogs(withoutFirst) : honest)(body);
  const { request, unverified } = checked({ liar }, 1);
  await request(getLogs({ fromBlock: "0x0", toBlock: "0x3c" }));
  lies = 1;
  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  unverified.mockReturnValue(stored);
  const found = request(getLogs({ fromBlock: "0x3d", toBlock: "0x50" })).then(
    (logs) => (logs as Answer[]).length,
  );
  await vi.waitFor(() => expect(unverified).toHaveBeenCalled());
  const pause = new Promise((resolve) => setTimeout(resolve, 50, "waits"));
  expect(await Promise.race([found, pause])).toBe("waits");
  store();
  expect(await found).toBe(
    all.filter(({ blockNumber }) => +String(blockNumber) >= 0x3d && +String(blockNumber) <= 0x50).length,
  );
});

test("a block that is checked while its ranges are answered again accuses nobody", async () => {
  const topicsOf = (logs: Answer[]) => [...new Set(logs.map((log) => (log["topics"] as string[])[0]!))];
  const ofBlock = [...Map.groupBy(all, (log) => log["blockHash"]).values()].find(
    (logs) => topicsOf(logs).length > 1,
  )!;
  const [one, ...others] = topicsOf(ofBlock);
  const number = ofBlock[0]!["blockNumber"] as string;
  const range = (topics: unknown[]) => getLogs({ fromBlock: number, toBlock: number, topics: [topics] });
  const block = blockAt(number);
  const { request, kinds } = checked({ one: honest });
  await request(range([one]));
  await request(range(others));
  await request(block);
  // A transaction that failed: one of its ranges is there again when a worker of before asks for the block.
  await request(range([one]));
  await request(block);
  await request(range(others));
  await request(block);
  expect(kinds().filter((kind) => kind !== "one extra-request")).toEqual([]);
});

test("a block that a node named, but replaced, is given up at once: JSON-RPC's invalid answer is not asked for again", async () => {
  const truth = all.at(-1)!;
  const height = truth["blockNumber"];
  const block = (await honest(blockAt(height))) as Answer;
  const named = sibling(block, { timestamp: "0x7fffffff" });
  const one: Request = async (body) => {
    const [wanted] = body.params as unknown[];
    if (body.method === "eth_getBlockByNumber" && wanted === "latest") return named;
    if (wanted === named["hash"]) {
      if (body.method === "eth_getBlockByHash") return null;
      throw new Error("unknown block");
    }
    return honest(body);
  };
  const { request } = checked({ one });
  expect(await request(head)).toEqual(named);
  const expected = {
    message: `Gave up a block of one: block ${Number(height)} is ${block["hash"]} there, no longer ${named["hash"]}.`,
    code: -32_700,
  };
  await request(getLogs({ blockHash: block["hash"] }));
  await expect(request(getLogs({ blockHash: named["hash"] }))).rejects.toMatchObject(expected);
  await expect(
    request({ method: "eth_getBlockByHash", params: [named["hash"], true] }),
  ).rejects.toMatchObject(expected);
});

test("a node that is behind is asked again for the logs of a block", async () => {
  const blockHash = all.at(-1)!["blockHash"];
  let isBehind = false;
  const one: Request = async (body) => {
    if (!isBehind) return honest(body);
    if (/eth_get(Logs|BlockReceipts)/.test(body.method)) throw new Error("unknown block");
    return null;
  };
  const { request } = checked({ one });
  await request({ method: "eth_getBlockByHash", params: [blockHash, true] });
  isBehind = true;
  await expect(request(getLogs({ blockHash }))).rejects.toThrow(/^unknown block$/);
});

// --- RPC_VERIFY=receipts ---

const proving = (byHost: Record<string, Request>, trustedBlock?: NodesOptions["trustedBlock"]) =>
  checked(byHost, 1, 0, true, { needsProofs: true, trustedBlock });
const blocksWithLogs = () => [...new Set(all.map((log) => log["blockNumber"] as string))];

test("where proofs are needed, every block with logs is compared with its receipts, and named by a second URL", async () => {
  const [one, two] = [vi.fn(honest), vi.fn(honest)];
  const { request } = proving({ one, two });
  expect(await request(getLogs())).toEqual(all);
  for (const number of blocksWithLogs()) await request(blockAt(number));
  const asked = [...one.mock.calls, ...two.mock.calls].map(([{ method }]) => method);
  const count = (method: string) => asked.filter((one) => one === method).length;
  expect(count("eth_getBlockReceipts")).toBe(blocksWithLogs().length);
  expect(two.mock.calls.filter(([{ method }]) => method === "eth_getBlockByNumber")).toHaveLength(
    blocksWithLogs().length,
  );
});

test("where proofs are needed, logs without receipts are refused, in the backfill and live", async () => {
  const { request, believe } = proving({ one: bare(), two: bare() });
  const [number] = blocksWithLogs();
  await request(getLogs());
  await expect(request(blockAt(number))).rejects.toThrow(/no receipts prove the logs of block \d+/);
  await expect(request(getLogs({ blockHash: crowded() }))).rejects.toThrow(
    /method not found|no receipts prove/,
  );
  expect(believe.mock.calls.flat(2).filter((what) => /^data of live/.test(String(what)))).toEqual([]);
});

test("where proofs are needed, a block that the second URL names otherwise or not at all is refused", async () => {
  const [number] = blocksWithLogs();
  const other = changing("eth_getBlockByNumber", (block: Answer) => sibling(block, { extraData: "0x07" }));
  await expect(proving({ one: honest, other }).request(blockAt(number))).rejects.toThrow(
    /block \d+ is 0x[0-9a-f]{64} there and 0x[0-9a-f]{64} at other/,
  );
  const behind = changing("eth_getBlockByNumber", () => null);
  await expect(proving({ one: honest, behind }).request(blockAt(number))).rejects.toThrow(
    /no other URL names block \d+/,
  );
});

test("where proofs are needed, a chain's only URL has to serve the trusted block, and what it proves nothing of is said", async () => {
  const [number = "0x0"] = blocksWithLogs();
  const { hash } = (await honest(blockAt(number, false))) as { hash: string };
  const trusted = { number: Number(number), hash };
  const own = proving({ one: honest }, trusted);
  expect(await own.request(blockAt(number))).toMatchObject({ hash });
  expect(own.believe.mock.calls[0]?.[0]).toEqual([
    "that logs of the backfill lack no block",
    "which blocks of the backfill are the chain's",
    "what contracts return to handlers",
  ]);
  const foreign = { ...trusted, hash: `0x${"7".repeat(64)}` };
  await expect(proving({ one: honest }, foreign).request(blockAt(number))).rejects.toThrow(
    `block ${trusted.number} is ${hash} there, but the trusted one is ${foreign.hash}`,
  );
});
