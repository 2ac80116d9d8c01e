import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type DevNode, startNode } from "../../devnet/node.ts";
import { type Answer, readRecording } from "../../devnet/recording.ts";
import { checkedUrls } from "./checked-rpc.ts";
import { bloomOf } from "./log-answers.ts";
import type { RpcRequest } from "./nodes.ts";

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
function checked(byHost: Record<string, Request>, crossCheckShare = 0, chainId = 0, isOurs = false) {
  const clock = { time: 1_000 };
  const log = vi.fn();
  const count = vi.fn();
  const doubt = vi.fn();
  const keepHead = vi.fn();
  const urls = checkedUrls(
    Object.keys(byHost).map((host) => `http://${host}/secret`),
    {
      chain: "base",
      chainId,
      areTransactionsOwn: true,
      crossCheckShare,
      isOurs: () => isOurs,
      log,
      count,
      doubt,
      keepHead,
      random: () => 0.5,
      now: () => clock.time,
    },
  );
  // What Ponder does with the entries.
  const backends = (urls as unknown[]).map((url) => {
    const { hostname } = new URL(String(url));
    return { hostname, request: byHost[hostname] as Request };
  }) as { hostname: string; request: Request }[];
  const kinds = () => count.mock.calls.map(([{ host, kind }]) => `${host} ${kind}`);
  return {
    clock,
    log,
    doubt,
    keepHead,
    kinds,
    hosts: backends.map(({ hostname }) => hostname),
    request: backends[0]!.request,
    backends,
  };
}

const getLogs = (filter: object = { fromBlock: "0x0", toBlock: "0xc2" }) => ({
  method: "eth_getLogs",
  params: [filter],
});
const withoutFirst = (logs: Answer[]) => logs.slice(1);
const crowded = () => {
  const [hash] = [...Map.groupBy(all, (log) => log["blockHash"] as string)].find(
    ([, logs]) => logs.length > 3,
  )!;
  return hash;
};

test("passes sound answers on unchanged, and other methods untouched", async () => {
  const { request, kinds, hosts } = checked({ one: honest });
  expect(hosts).toEqual(["one"]);
  expect(await request(getLogs())).toEqual(all);
  expect(await request({ method: "eth_chainId" })).toBe(await honest({ method: "eth_chainId" }));
  expect(kinds()).toEqual([]);
});

test("refuses an answer out of order, by host and without the rest of the URL", async () => {
  const { request, kinds } = checked({
    one: changing("eth_getLogs", (logs: Answer[]) => [...logs].reverse()),
  });
  await expect(request(getLogs())).rejects.toThrow(
    /^Refused an answer of one: log \d+ of block \d+ is repeated or out of order\.$/,
  );
  expect(kinds()).toEqual(["one refused"]);
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

test("two URLs that differ: a right answer stays, the second URL is put aside", async () => {
  const { request, kinds } = checked({ honest, liar: changing("eth_getLogs", withoutFirst) }, 1);
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toContain("liar put-aside");
});

test("two URLs that differ in logs and receipts: neither is believed", async () => {
  const liar: Request = async (body) => {
    const answer = await honest(body);
    if (body.method === "eth_getLogs") return withoutFirst(answer as Answer[]);
    return body.method === "eth_getBlockReceipts"
      ? (answer as Answer[]).map((r) => ({ ...r, logs: [] }))
      : answer;
  };
  await expect(checked({ liar, honest }, 1).request(getLogs())).rejects.toThrow(/has other logs in block/);
});

test("a second URL that fails or is behind does not hold the first back", async () => {
  const down: Request = () => Promise.reject(new Error("connect ECONNREFUSED"));
  expect(await checked({ honest, down }, 1).request(getLogs())).toEqual(all);
  const behind: Request = async ({ method }) => (method === "eth_getLogs" ? [] : null);
  expect(await checked({ honest, behind }, 1).request(getLogs())).toEqual(all);
});

test("a share of 0 asks no second URL", async () => {
  const second = vi.fn(honest);
  await checked({ honest, second }, 0).request(getLogs());
  expect(second).not.toHaveBeenCalled();
});

test.each([
  ["the first log", withoutFirst],
  ["a log in between", (logs: Answer[]) => logs.filter((_, i) => i !== 1)],
  ["the last log", (logs: Answer[]) => logs.slice(0, -1)],
  ["every log", () => []],
])("refuses live logs without %s, and accepts the whole answer", async (_, change) => {
  const filter = { blockHash: crowded() };
  const { request } = checked({ one: changing("eth_getLogs", change) });
  await request({ method: "eth_getBlockByHash", params: [filter.blockHash, true] });
  await expect(request(getLogs(filter))).rejects.toThrow(
    /^Refused logs of one: the logs of block \d+ differ from the receipts of one\.$/,
  );
  const whole = checked({ one: honest });
  expect(await whole.request(getLogs(filter))).toEqual(await honest(getLogs(filter)));
});

test("refuses live logs with the number of another block", async () => {
  const elsewhere = (logs: Answer[]) => logs.map((log) => ({ ...log, blockNumber: "0x7fffffff" }));
  const { request } = checked({ one: changing("eth_getLogs", elsewhere) });
  await expect(request(getLogs({ blockHash: crowded() }))).rejects.toThrow(/carry another number/);
});

test("accepts live logs that equal the node's receipts on a chain whose headers have no bloom", async () => {
  const withoutBloom = (block: Answer) => ({ ...block, logsBloom: `0x${"00".repeat(256)}` });
  const filter = { blockHash: crowded() };
  const { request, kinds } = checked({ one: changing("eth_getBlockByHash", withoutBloom) });
  await request({ method: "eth_getBlockByHash", params: [filter.blockHash, true] });
  expect(await request(getLogs(filter))).toEqual(await honest(getLogs(filter)));
  expect(kinds()).toContain("one unverified");
});

test("refuses live logs that do not fit the header where no receipts can be had", async () => {
  const one: Request = async (body) => {
    if (body.method === "eth_getBlockReceipts") throw new Error("method not found");
    const answer = await honest(body);
    return body.method === "eth_getLogs" ? withoutFirst(answer as Answer[]) : answer;
  };
  const { request, kinds } = checked({ one });
  await expect(request(getLogs({ blockHash: crowded() }))).rejects.toThrow(/no receipts prove them/);
  expect(kinds()).toContain("one unverified");
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
  const block = { method: "eth_getBlockByNumber", params: [number, true] };
  const short = checked({ one: leavesOut });
  await short.request(getLogs(filter));
  await expect(short.request(block)).rejects.toMatchObject({
    message: `Refused logs of one: the logs of block ${Number(number)} differ from the receipts of one.`,
    code: -32700,
  });
  const whole = checked({ one: honest });
  await whole.request(getLogs(filter));
  expect(await whole.request(block)).toEqual(await honest(block));
});

test("refuses a block of the backfill that the logs do not belong to, and one that was not asked for", async () => {
  const { blockNumber } = all[0]!;
  const filter = { fromBlock: blockNumber, toBlock: blockNumber };
  const block = { method: "eth_getBlockByNumber", params: [blockNumber, true] };
  const forked = checked({
    one: changing("eth_getBlockByNumber", (answer: Answer) => ({ ...answer, hash: `0x${"5".repeat(64)}` })),
  });
  await forked.request(getLogs(filter));
  await expect(forked.request(block)).rejects.toThrow(/has block hash .* but the block has 0x5555/);
  const bare = checked({
    one: changing("eth_getBlockByNumber", (answer: Answer) => ({
      ...answer,
      logsBloom: `0x${"0".repeat(512)}`,
    })),
  });
  await bare.request(getLogs(filter));
  await expect(bare.request(block)).rejects.toThrow(/is not in the block's bloom/);
  const other = checked({
    one: changing("eth_getBlockByNumber", (answer: Answer) => ({ ...answer, number: "0x1" })),
  });
  await expect(other.request(block)).rejects.toThrow(/was not asked for/);
});

test("a URL with three refused answers in a row is put aside where there is another", async () => {
  const { backends, kinds } = checked({ liar: changing("eth_getLogs", () => null), honest });
  const { request } = backends[0]!;
  for (let i = 0; i < 3; i++) await expect(request(getLogs())).rejects.toThrow("not a list");
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toEqual(["liar refused", "liar refused", "liar refused", "liar put-aside"]);
});

// --- Settling differences, and what was returned before ---

const withoutLogsIn = (receipts: Answer[]) => receipts.map((receipt) => ({ ...receipt, logs: [] }));

test("two URLs that differ: receipts of single transactions decide where blocks' receipts are not served", async () => {
  const older =
    (request: Request): Request =>
    async (body) => {
      if (body.method === "eth_getBlockReceipts") throw new Error("method not found");
      return request(body);
    };
  const liar = older(changing("eth_getLogs", withoutFirst));
  const { request, kinds } = checked({ liar, honest: older(honest) }, 1);
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toContain("liar missing-logs");
});

test("two URLs that differ in logs and receipts: a third decides, and the wrong one is named", async () => {
  const liar: Request = async (body) => {
    const answer = (await honest(body)) as Answer[];
    if (body.method === "eth_getLogs") return withoutFirst(answer);
    return body.method === "eth_getBlockReceipts" ? withoutLogsIn(answer) : answer;
  };
  const { request, kinds, log } = checked({ liar, honest, third: honest }, 1);
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toContain("liar put-aside");
  expect(kinds()).not.toContain("honest missing-logs");
  expect(log).toHaveBeenCalledWith(
    "error",
    expect.stringContaining("left out or invented logs"),
    expect.objectContaining({ hostname: "liar", witness: "honest and third" }),
  );
});

test("two URLs that differ where none serves receipts: the logs of a third decide", async () => {
  const bare =
    (request: Request): Request =>
    async (body) => {
      if (/Receipt/.test(body.method)) throw new Error("method not found");
      return request(body);
    };
  const liar = bare(changing("eth_getLogs", withoutFirst));
  const { request, kinds } = checked({ liar, honest: bare(honest), third: bare(honest) }, 1);
  expect(await request(getLogs())).toEqual(all);
  expect(kinds()).toContain("liar missing-logs");
});

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
  const { blockNumber } = all[0]!;
  const many = Array.from({ length: 1_001 }, (_, i) => ({ ...all[0]!, logIndex: `0x${i.toString(16)}` }));
  const one: Request = async (body) => {
    if (body.method === "eth_getLogs") return many.slice(0, 1_000);
    return body.method === "eth_getBlockReceipts" ? [{ logs: many }] : honest(body);
  };
  const filter = { fromBlock: blockNumber, toBlock: blockNumber };
  await expect(checked({ one }).request(getLogs(filter))).rejects.toThrow(/differ from the receipts of one/);
});

test("ranges that a URL returned before it was found wrong are asked for again; those that differ stay in doubt", async () => {
  let lies = "first";
  const liar = changing("eth_getLogs", (logs: Answer[]) => (lies === "none" ? logs : withoutFirst(logs)));
  const { request, backends, doubt, kinds } = checked({ liar, honest }, 0.4);
  // Its first three ranges are always compared: they must be right to go unnoticed later.
  lies = "none";
  const part = (from: number, to: number) => ({
    fromBlock: `0x${from.toString(16)}`,
    toBlock: `0x${to.toString(16)}`,
  });
  for (let i = 0; i < 3; i++) await request(getLogs(part(0, 60)));
  lies = "some";
  expect(await request(getLogs(part(61, 120)))).toHaveLength(
    all.filter(({ blockNumber }) => Number(blockNumber) > 60 && Number(blockNumber) <= 120).length - 1,
  );
  const block = crowded();
  await expect(backends[0]!.request(getLogs({ blockHash: block }))).rejects.toThrow(
    /differ from the receipts/,
  );
  await vi.waitFor(() => expect(doubt).toHaveBeenCalledTimes(2));
  expect(doubt.mock.lastCall?.[0]).toEqual([expect.objectContaining({ from: 61, to: 120 })]);
  expect(kinds()).toContain("liar in-doubt");
  // Ponder asks for a range again only if it did not store it.
  await request(getLogs(part(61, 120)));
  await request(getLogs(part(0, 60)));
});

test("live answers that fit their header are compared with the receipts if they end in a transaction of ours, and a share of others", async () => {
  const ofBlock = [...Map.groupBy(all, (log) => log["blockHash"]).values()].find((logs) => logs.length > 1)!;
  const { blockHash } = ofBlock[0]!;
  const items = new Set(
    ofBlock.slice(0, -1).flatMap((log) => [log["address"], ...(log["topics"] as string[])]),
  );
  const last = { ...ofBlock.at(-1)!, address: [...items][0], topics: [[...items][1]] };
  const whole = [...ofBlock.slice(0, -1), last] as never;
  const one: Request = async (body) => {
    if (body.method === "eth_getLogs") return ofBlock.slice(0, -1);
    if (body.method === "eth_getBlockReceipts") return [{ logs: whole }];
    const answer = (await honest(body)) as Answer;
    return body.method === "eth_getBlockByHash" ? { ...answer, logsBloom: bloomOf(whole) } : answer;
  };
  const body = { method: "eth_getBlockByHash", params: [blockHash, true] };
  const careless = checked({ one }, 0.4);
  await careless.request(body);
  expect(await careless.request(getLogs({ blockHash }))).toHaveLength(ofBlock.length - 1);
  for (const careful of [checked({ one }, 1), checked({ one }, 0.4, 0, true)]) {
    await careful.request(body);
    await expect(careful.request(getLogs({ blockHash }))).rejects.toThrow(/differ from the receipts of one/);
  }
});

test("a URL that serves another chain is refused, and put aside where there is another", async () => {
  const id = Number(await honest({ method: "eth_chainId" }));
  const stranger = changing("eth_chainId", () => "0x1");
  const { backends, kinds } = checked({ stranger, honest }, 0, id);
  await expect(backends[0]!.request(getLogs())).rejects.toThrow(
    `Refused an answer of stranger: it answers for chain 1, not for chain ${id}.`,
  );
  expect(await backends[0]!.request(getLogs())).toEqual(all);
  expect(kinds()).toContain("stranger wrong-chain");
  expect(kinds()).toContain("stranger put-aside");
});

test("a URL that keeps serving another chain is named once, then once a minute with a count", async () => {
  const id = Number(await honest({ method: "eth_chainId" }));
  const stranger = changing("eth_chainId", () => "0x1");
  const { backends, clock, log } = checked({ stranger }, 0, id);
  const lines = () => log.mock.calls.filter(([, message]) => message.includes("serves another chain"));
  const ask = () => expect(backends[0]!.request(getLogs())).rejects.toThrow("it answers for chain 1");
  for (let request = 0; request < 50; request++) await ask();
  expect(lines()).toHaveLength(1);
  expect(lines()[0]?.[2]).toMatchObject({ hostname: "stranger", expected: id, found: 1, refused: 1 });
  clock.time += 60_000;
  for (let request = 0; request < 50; request++) await ask();
  expect(lines()).toHaveLength(2);
  expect(lines()[1]?.[2]).toMatchObject({ refused: 50 });
});

test("all that a single URL returned stays in doubt once it was found wrong: nobody can confirm it", async () => {
  let isHonest = true;
  const liar = changing("eth_getLogs", (logs: Answer[]) => (isHonest ? logs : withoutFirst(logs)));
  const { request, doubt } = checked({ liar }, 0.4);
  await request(getLogs({ fromBlock: "0x0", toBlock: "0x3c" }));
  isHonest = false;
  await expect(request(getLogs({ blockHash: crowded() }))).rejects.toThrow(/differ from the receipts/);
  isHonest = true;
  await request(getLogs({ fromBlock: "0x3d", toBlock: "0x50" }));
  expect(doubt.mock.lastCall?.[0]).toEqual([
    expect.objectContaining({ from: 0, to: 0x3c }),
    expect.objectContaining({ from: 0x3d, to: 0x50 }),
  ]);
});

test("a block that is checked while its ranges are answered again accuses nobody", async () => {
  const topicsOf = (logs: Answer[]) => [...new Set(logs.map((log) => (log["topics"] as string[])[0]!))];
  const ofBlock = [...Map.groupBy(all, (log) => log["blockHash"]).values()].find(
    (logs) => topicsOf(logs).length > 1,
  )!;
  const [one, ...others] = topicsOf(ofBlock);
  const number = ofBlock[0]!["blockNumber"] as string;
  const range = (topics: unknown[]) => getLogs({ fromBlock: number, toBlock: number, topics: [topics] });
  const block = { method: "eth_getBlockByNumber", params: [number, true] };
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

test("a block that a node does not have is asked for again", async () => {
  const { request, kinds } = checked({ one: honest });
  const body = { method: "eth_getBlockByNumber", params: ["0xffff", true] };
  await expect(request(body)).rejects.toThrow("Refused an answer of one: it has no block 0xffff.");
  expect(kinds()).toEqual(["one refused"]);
});

test("a block with another hash than its logs is asked for again, and once more where that fails", async () => {
  let asked = 0;
  const { blockNumber } = all[0]!;
  const moody = changing("eth_getBlockByNumber", (answer: Answer) => {
    asked += 1;
    if (asked === 2) throw new Error("upstream error");
    return asked === 1 ? { ...answer, hash: `0x${"5".repeat(64)}` } : answer;
  });
  const { request, kinds } = checked({ moody });
  await request(getLogs({ fromBlock: blockNumber, toBlock: blockNumber }));
  const block = { method: "eth_getBlockByNumber", params: [blockNumber, true] };
  expect(await request(block)).toEqual(await honest(block));
  expect(kinds()).toContain("moody refused");
});

test("a header that is asked for by number, as that of the finalized block is, must be returned twice", async () => {
  const wrong = `0x${"5".repeat(64)}`;
  let asked = 0;
  const moody = changing("eth_getBlockByNumber", (answer: Answer) =>
    asked++ === 0 ? { ...answer, hash: wrong } : answer,
  );
  const { request, kinds } = checked({ moody });
  const header = { method: "eth_getBlockByNumber", params: ["0x10", false] };
  const truth = (await honest(header)) as Answer;
  await expect(request(header)).rejects.toThrow(
    `Refused an answer of moody: block 16 is ${wrong}, then ${truth["hash"]}.`,
  );
  expect(await request(header)).toEqual(truth);
  expect(kinds()).toEqual(["moody extra-request", "moody refused", "moody extra-request"]);
});

test("a block that a node named, but replaced, is given up at once: JSON-RPC's invalid answer is not asked for again", async () => {
  const named = `0x${"5".repeat(64)}`;
  const one: Request = async (body) => {
    const answer = (await honest(body)) as Answer;
    return body.method === "eth_getBlockByNumber" && body.params?.[0 as never] === "latest"
      ? { ...answer, hash: named }
      : answer;
  };
  const failing: Request = async (body) => {
    if (body.method === "eth_getLogs") throw new Error("unknown block");
    return one(body);
  };
  const { request, keepHead } = checked({ one: failing });
  const head = (await request({ method: "eth_getBlockByNumber", params: ["latest", true] })) as Answer;
  expect(keepHead.mock.calls).toEqual([[head]]);
  const truth = (await honest({ method: "eth_getBlockByNumber", params: ["latest", false] })) as Answer;
  const expected = {
    message: `Gave up a block of one: block ${Number(head["number"])} is ${truth["hash"]} there, no longer ${named}.`,
    code: -32_700,
  };
  await expect(request(getLogs({ blockHash: named }))).rejects.toMatchObject(expected);
  await expect(request({ method: "eth_getBlockByHash", params: [named, true] })).rejects.toMatchObject(
    expected,
  );
});

test("a node that is behind is asked again for the logs of a block", async () => {
  const head = (await honest({ method: "eth_getBlockByNumber", params: ["latest", true] })) as Answer;
  let isBehind = false;
  const one: Request = async (body) => {
    if (!isBehind) return honest(body);
    if (body.method === "eth_getLogs") throw new Error("unknown block");
    return null;
  };
  const { request } = checked({ one });
  await request({ method: "eth_getBlockByNumber", params: ["latest", true] });
  isBehind = true;
  await expect(request(getLogs({ blockHash: head["hash"] }))).rejects.toThrow(/^unknown block$/);
});
