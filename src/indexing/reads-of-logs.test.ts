import { encodeAbiParameters, encodeEventTopics, encodeFunctionData, type Hex, keccak256, toHex } from "viem";
import { describe, expect, test } from "vitest";
import { registryAbi, threednsTokenAbi } from "../../abis/names.ts";
import type { ChainName } from "../../devnet/recorded-chains.ts";
import { datasourcesFile, recordingOf } from "../../test/support/recordings.ts";
import { applyDatasourcesFile } from "../config/datasources-file.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { namespaces } from "../deployments/namespaces.ts";
import { addrReverseNode, rootNode, subnode } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { keyOfRequest } from "../ponder/saved-results.ts";
import { createReadsOf } from "./reads-of-logs.ts";

const rootChainId = recordingOf("root").chainId;
const recorded = applyDatasourcesFile("ens-test-env", namespaces["ens-test-env"], datasourcesFile());

type Receipt = { blockNumber: string; transactionHash: string; from: string; logs: RawLog[] };
type RawLog = { address: string; topics: string[]; data: string };

// All logs of a recording, block by block.
function blocksOf(chain: ChainName) {
  const { blocks, receipts } = recordingOf(chain);
  const byBlock = Map.groupBy(receipts as Receipt[], ({ blockNumber }) => Number(blockNumber));
  return blocks.map((block) => ({
    number: Number(block["number"]),
    timestamp: BigInt(block["timestamp"] as string),
    logs: (byBlock.get(Number(block["number"])) ?? []).flatMap(
      ({ transactionHash: hash, from: sender, logs }) => logs.map((log) => ({ ...log, hash, sender })),
    ),
  }));
}

test.each<ChainName>(["root", "base", "linea"])(
  "the calls that the recording of %s has are those of its logs, but for tokens whose name an event has",
  (chain) => {
    const { chainId, calls } = recordingOf(chain);
    const readsOf = createReadsOf({ chainId, rootChainId, datasources: recorded });
    const blocks = blocksOf(chain);
    const reads = blocks.flatMap((block) => readsOf(block).filter(({ requests }) => requests === 1));
    const found = new Set(reads.flatMap(({ keys }) => keys));
    const registered = keccak256(toHex("RegistrationCreated(bytes32,bytes32,bytes,address,uint32,uint64)"));
    const created = blocks.flatMap(({ logs }) => logs.filter(({ topics }) => topics[0] === registered));
    const named = new Set(created.map(({ topics }) => `0x0e89341c${topics[1]?.slice(2)}`));
    const known = new Set<string>();
    for (const { to, data, block } of calls) {
      if (named.has(data)) continue;
      const keyOf = (call: object) => keyOfRequest({ method: "eth_call", params: [call, block] });
      known.add(
        [keyOf({ to, data }), keyOf({ to, data, gas: "0x989680" })].find((key) => found.has(key)) ?? data,
      );
    }
    expect(known).toEqual(found);
    expect(found.size).toBeGreaterThan(5);
  },
);

test("the accounts that neither sender nor owner is are found in the recorded traces", async () => {
  const { traces } = recordingOf("root");
  const readsOf = createReadsOf({ chainId: rootChainId, rootChainId, datasources: recorded });
  const byHash = new Map(traces.map(({ hash, result }) => [hash.toLowerCase(), result]));
  const reads = blocksOf("root").flatMap((block) => readsOf(block).filter(({ requests }) => requests > 1));
  expect(reads.length).toBeGreaterThan(0);
  for (const read of reads) {
    const results = await read.resultsOf(async ({ method, params }) =>
      method === "debug_traceTransaction" ? byHash.get(String(params[0]).toLowerCase()) : undefined,
    );
    expect([...results.keys()].sort()).toEqual([...read.keys].sort());
    for (const label of results.values()) expect(label).toMatch(/^[0-9a-f]{40}$/);
  }
});

// --- One chain with a registry, a 3DNS token and a resolver ---

const addressOf = (digit: string): Hex => `0x${digit.repeat(40)}`;
const [registry, token, resolver, stranger] = [
  addressOf("1"),
  addressOf("2"),
  addressOf("3"),
  addressOf("4"),
];
const datasources: Namespace = {
  ensroot: {
    chainId: 1,
    contracts: {
      ENSv1Registry: { address: registry, startBlock: 0 },
      OldResolver: { address: resolver, startBlock: 0 },
    },
  },
  threednsBase: { chainId: 1, contracts: { ThreeDNSToken: { address: token, startBlock: 0 } } },
};
const createReads = (root = 1) => createReadsOf({ chainId: 1, rootChainId: root, datasources });
type Log = Parameters<ReturnType<typeof createReads>>[0]["logs"][number];

let transactions = 0;
function logOf(address: Hex, { topics, data }: { topics: unknown; data: Hex }): Log {
  transactions += 1;
  return {
    address,
    topics: topics as string[],
    data,
    hash: toHex(transactions, { size: 32 }),
    sender: addressOf("a"),
  };
}

const node = labelhash("node");
const textLog = (address: Hex, key: string, data = encodeAbiParameters([{ type: "string" }], [key])) =>
  logOf(address, {
    topics: [keccak256(toHex("TextChanged(bytes32,string,string)")), node, labelhash(key)],
    data,
  });
const newOwnerLog = (address: Hex, [parent, label]: [Hex, Hex], owner: Hex = addressOf("b")) =>
  logOf(address, {
    topics: encodeEventTopics({ abi: registryAbi, eventName: "NewOwner", args: { node: parent, label } }),
    data: encodeAbiParameters([{ type: "address" }], [owner]),
  });
const textData = (key: string) =>
  encodeFunctionData({
    abi: [
      {
        type: "function",
        name: "text",
        stateMutability: "view",
        outputs: [],
        inputs: [{ type: "bytes32" }, { type: "string" }],
      },
    ],
    args: [node, key],
  });
const accountLabel = (place: number) => labelhash(place.toString(16).padStart(40, "c"));
const count = (reads: readonly { keys: string[] }[]) => reads.reduce((sum, { keys }) => sum + keys.length, 0);

describe("texts", () => {
  test("of a contract of the configuration are asked for as Ponder's client does, others with a limit of gas", async () => {
    const readsOf = createReads();
    const logs = [textLog(resolver, "url"), textLog(resolver, "0xurl"), textLog(stranger, "\ufeffurl")];
    const reads = readsOf({ number: 7, timestamp: 100n, logs });
    const asked: unknown[] = [];
    const results = await Promise.all(
      reads.map(({ resultsOf }) =>
        resultsOf(async ({ method, params }) => {
          asked.push({ method, params });
          return "0x0A";
        }),
      ),
    );
    const limited = { gas: "0x989680" };
    expect(asked).toEqual([
      { method: "eth_call", params: [{ to: resolver, data: textData("url") }, "0x7"] },
      { method: "eth_call", params: [{ to: resolver, data: textData("0xurl"), ...limited }, "0x7"] },
      { method: "eth_call", params: [{ to: stranger, data: textData("\ufeffurl"), ...limited }, "0x7"] },
    ]);
    // ponder: keeps JSON.
    expect(results.flatMap((one) => [...one.values()])).toEqual(['"0x0A"', "0x0A", "0x0A"]);
    expect(reads.map(({ keys }) => keys)).toEqual(asked.map((request) => [keyOfRequest(request as never)]));
  });

  test("of strangers are limited: 100 at once, then one a second, however many events there are", () => {
    const readsOf = createReads();
    const flood = (timestamp: bigint) =>
      readsOf({ number: 1, timestamp, logs: Array.from({ length: 500 }, () => textLog(stranger, "url")) })
        .length;
    expect([flood(1_000n), flood(1_000n), flood(1_007n), flood(2_000n)]).toEqual([100, 0, 7, 100]);
  });

  test("a log with other topics or data, or with the value, is of no such event", () => {
    const [plain, odd] = [textLog(stranger, "url"), textLog(stranger, "url", "0x12")];
    const valued = keccak256(toHex("TextChanged(bytes32,string,string,string)"));
    const logs = [
      { ...plain, topics: plain.topics.slice(0, 2) },
      odd,
      { ...plain, topics: [valued, ...plain.topics.slice(1)] },
    ];
    expect(createReads()({ number: 1, timestamp: 1n, logs })).toEqual([]);
  });
});

describe("names of accounts", () => {
  const at = (timestamp: bigint, logs: Log[]) => ({ number: 1, timestamp, logs });
  const claim = (label: Hex, owner?: Hex) => newOwnerLog(registry, [addrReverseNode, label], owner);

  test("are searched once, below addr.reverse of the root chain, unless sender or owner is the account", () => {
    const readsOf = createReads();
    const owner = addressOf("d");
    expect(count(readsOf(at(1n, [claim(accountLabel(1)), claim(accountLabel(1))])))).toBe(1);
    expect(count(readsOf(at(2n, [claim(accountLabel(1)), claim(labelhash("a".repeat(40)))])))).toBe(0);
    expect(count(readsOf(at(3n, [claim(labelhash("d".repeat(40)), owner)])))).toBe(0);
    // Known from now on, by whomever it is claimed.
    expect(count(readsOf(at(4n, [claim(labelhash("d".repeat(40)))])))).toBe(0);
    expect(count(readsOf(at(5n, [newOwnerLog(registry, [node, accountLabel(2)])])))).toBe(0);
    expect(count(readsOf(at(6n, [newOwnerLog(stranger, [addrReverseNode, accountLabel(2)])])))).toBe(0);
    expect(count(createReads(2)(at(1n, [claim(accountLabel(1))])))).toBe(0);
  });

  test("are limited by transaction: 30 at once, then one in ten seconds; any number in one", () => {
    const readsOf = createReads();
    const flood = (start: number) =>
      Array.from({ length: 50 }, (_, place) => claim(accountLabel(start + place)));
    expect(count(readsOf(at(1_000n, flood(100))))).toBe(30);
    expect(count(readsOf(at(1_020n, flood(200))))).toBe(2);
    const one = flood(300).map((log) => ({ ...log, hash: `0x${"77".repeat(32)}` }));
    const reads = readsOf(at(1_030n, one));
    expect([reads.length, count(reads)]).toEqual([1, 50]);
  });

  test("come from the receipt, and only what it lacks from the trace", async () => {
    const [first, second] = ["1".repeat(40), "2".repeat(40)];
    const hash = `0x${"78".repeat(32)}`;
    const logs = [first, second].map((account) => ({ ...claim(labelhash(account)), hash }));
    const ask = async (answers: Record<string, unknown>) => {
      const asked: string[] = [];
      const [read] = createReads()(at(1n, logs));
      const found = await read?.resultsOf(async ({ method, params, maxBytes }) => {
        expect([params[0], maxBytes]).toEqual([hash, 8_000_000]);
        asked.push(method);
        return answers[method];
      });
      return { asked, found };
    };
    const both = await ask({ eth_getTransactionReceipt: { to: `0x${first}`, from: `0x${second}` } });
    expect(both.asked).toEqual(["eth_getTransactionReceipt"]);
    const keyOf = (account: string) =>
      keyOfRequest({ method: "label_in_transaction", params: [hash, labelhash(account)] });
    expect(both.found).toEqual(
      new Map([
        [keyOf(first), first],
        [keyOf(second), second],
      ]),
    );
    const one = await ask({ eth_getTransactionReceipt: { to: `0x${first}` } });
    expect(one.asked).toEqual(["eth_getTransactionReceipt", "debug_traceTransaction"]);
    expect(one.found).toEqual(new Map([[keyOf(first), first]]));
  });
});

test("metadata of a 3DNS token are asked for until its node has a name", () => {
  const readsOf = createReads();
  const tld = subnode(rootNode, labelhash("box"));
  const registered = (label: string, fqdn: Hex) =>
    logOf(token, {
      topics: encodeEventTopics({
        abi: threednsTokenAbi,
        eventName: "RegistrationCreated",
        args: { node: subnode(tld, labelhash(label)), tld },
      }),
      data: encodeAbiParameters(
        [{ type: "bytes" }, { type: "address" }, { type: "uint32" }, { type: "uint64" }],
        [fqdn, addressOf("b"), 0, 9n],
      ),
    });
  const created = (label: string) => newOwnerLog(token, [tld, labelhash(label)]);
  const reads = (...logs: Log[]) => readsOf({ number: 1, timestamp: 1n, logs }).length;
  const wire = toHex("\u0003abc\u0003box\u0000");
  expect(reads(registered("abc", wire), created("abc"))).toBe(0);
  // The name of another node is none.
  expect(reads(registered("abd", wire), created("abd"))).toBe(1);
  // Below a name that is unknown, a name stays unknown.
  expect(reads(created("abd"))).toBe(1);
  expect(reads(newOwnerLog(token, [rootNode, labelhash("box")]))).toBe(1);
  expect([reads(created("abd")), reads(created("abd"))]).toEqual([1, 0]);
});
