import {
  type DecodeFunctionDataReturnType,
  decodeAbiParameters,
  decodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  stringToHex,
  toEventSelector,
  toFunctionSelector,
} from "viem";
import { expect, test } from "vitest";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { openHandlers } from "../../test/support/handlers.ts";
import { createRecordedIndex, type PlayedLog } from "../../test/support/recorded-index.ts";
import { datasourcesFile, lastBlocks, recordingOf } from "../../test/support/recordings.ts";
import { indexedRecords } from "../api/resolution/indexed-records.ts";
import { namespaces } from "../deployments/namespaces.ts";
import { resolverContract, resolverRecord, resolverTextRecord } from "../schema/protocol-acceleration.ts";
import { registerProtocolAcceleration } from "./protocol-acceleration.ts";

/** A text record of a resolver. */
type TextRecord = { resolver: Hex; node: Hex; key: string };

// What a node answered for a chain of the real contracts: the devnet plays it.
const recording = recordingOf("root");
const callKey = (to: Hex, data: Hex, block: Hex) => `${to} ${data} ${Number(block)}`;
const results = new Map(
  recording.calls.map(({ to, data, block, result }) => [callKey(to, data, block), result]),
);

/** The plugin over the recording, whose contract calls are served from it; `textOf` is what resolution by the index returns. */
function createResolvers() {
  const asked = new Set<string>();
  const index = createRecordedIndex(recording, {
    environment: {
      NAMESPACE: "ens-test-env",
      PLUGINS: "subgraph,protocol-acceleration",
      ...Object.fromEntries(Object.values(chainIds).map((id) => [`RPC_URL_${id}`, "http://localhost"])),
    },
    datasources: datasourcesFile(),
    nodes: async (_, { params }) => {
      const [{ to, data }, block] = params as [{ to: Hex; data: Hex }, Hex];
      const key = callKey(to, data, block);
      if (!results.has(key)) throw new Error(`no call is recorded of ${to} in block ${Number(block)}`);
      asked.add(key);
      return results.get(key);
    },
    register: ({ datasources }, events) => registerProtocolAcceleration(events, datasources),
  });
  const textOf = ({ resolver, node, key }: TextRecord): string | null | undefined => {
    const rows = index.store.rows(resolverTextRecord).filter((row) => row["address"] === resolver);
    const own = rows.filter((row) => row["node"] === node);
    const texts = Object.fromEntries(own.map((row) => [row["key"], row["value"]]));
    const records = { name: null, contenthash: null, addresses: null, texts };
    const selection = { texts: [key] };
    return indexedRecords(records, selection, { hasDefaultAddress: false }).texts?.[key];
  };
  return { ...index, textOf, asked: () => asked.size };
}

const resolverAbi = parseAbi([
  "function text(bytes32 node, string key) view returns (string)",
  "function setText(bytes32 node, string key, string value)",
  "function clearRecords(bytes32 node)",
  "function multicall(bytes[] data)",
]);
const selectors = new Set<string>(resolverAbi.map((item) => toFunctionSelector(item)));
const versionChanged = toEventSelector("VersionChanged(bytes32,uint64)");
const textChanged = [
  toEventSelector("TextChanged(bytes32,string,string)"),
  toEventSelector("TextChanged(bytes32,string,string,string)"),
];
/** OldPublicResolver, LegacyPublicResolver, PublicResolverV4, PublicResolverV5. */
const resolvers = [
  "0x057ef64e23666f000b34ae31332854acbd1c8544",
  "0x33c0024ebc7a8989c1ae32988d5402295c8fd42b",
  "0x367761085bf3c12e5da2df99ac6e1a824612b8fb",
  "0x4c2f7092c2ae51d986befee378e50bd4db99c901",
];

const hashOf = (key: string) => keccak256(stringToHex(key));
const idOf = ({ resolver, node, key }: TextRecord) => JSON.stringify([resolver, node, key]);

/** The text that a contract returned, or undefined if it reverted. */
const textIn = (result: Hex | undefined) =>
  result === undefined ? undefined : decodeAbiParameters([{ type: "string" }], result)[0];

/**
 * Only values are returned: a text with a NUL counts as unset, and nothing is kept under an empty key or one with a
 * NUL.
 */
function kindOf(key: string, text: string | undefined) {
  if (key === "" || key.includes("\0")) return "oddKey";
  if (text === undefined) return "absent";
  if (text === "") return "unset";
  return text.includes("\0") ? "nul" : "value";
}

test("the index returns every text that a resolver returned to a call, at that block", async () => {
  const { playTo, textOf, asked } = createResolvers();
  const records = new Set<string>();
  const counts = { value: 0, unset: 0, nul: 0, absent: 0, oddKey: 0 };
  for (const call of recording.calls.toSorted((a, b) => Number(a.block) - Number(b.block))) {
    await playTo(Number(call.block));
    const { args } = decodeFunctionData({ abi: resolverAbi, data: call.data });
    const [node, key] = args as readonly [Hex, string];
    const record = { resolver: call.to, node, key };
    records.add(idOf(record));
    const kind = kindOf(key, textIn(call.result));
    counts[kind]++;
    expect(textOf(record), idOf(record)).toBe(kind === "value" ? textIn(call.result) : null);
  }
  // Five calls are recorded twice.
  expect([recording.calls.length, asked(), records.size]).toEqual([194, 189, 188]);
  expect(counts).toEqual({ value: 131, unset: 13, nul: 28, absent: 5, oddKey: 17 });
});

test("the index finally returns every text that a transaction set last", async () => {
  const { playTo, textOf } = createResolvers();
  await playTo(lastBlocks.root);
  const set = textsSet();
  const counts = { value: 0, unset: 0, nul: 0, absent: 0, oddKey: 0 };
  for (const { value, ...record } of set.values()) {
    const kind = kindOf(record.key, value);
    counts[kind]++;
    expect(textOf(record), idOf(record)).toBe(kind === "value" ? value : null);
  }
  expect(new Set([...set.values()].map(({ resolver }) => resolver))).toEqual(new Set(resolvers));
  expect(counts).toEqual({ value: 240, unset: 23, nul: 54, absent: 1, oddKey: 27 });
});

const node: Hex = `0x${"01".repeat(32)}`;
const emitter: Hex = `0x${"e1".repeat(20)}`;
const word = (byte: string): Hex => `0x${byte.repeat(32)}`;

/** The rows after events of a resolver about the node, each with its other arguments. */
async function rowsAfter(events: [event: string, args: object][]) {
  const { call, rows } = openHandlers({
    register: (events) => registerProtocolAcceleration(events, namespaces.mainnet),
  });
  const at = {
    chainId: 1,
    block: 7,
    timestamp: 7,
    logIndex: 1,
    transactionHash: word("7a"),
    sender: emitter,
    emitter,
  };
  for (const [event, args] of events)
    await call(
      `protocol-acceleration/Resolver:${event}`,
      { node, ...args },
      { ...at, data: "0x", topics: event === "ABIChanged" ? 3 : 2 },
    );
  return {
    records: rows(resolverRecord),
    texts: rows(resolverTextRecord),
    contracts: rows(resolverContract),
  };
}

test("keeps records that a node has once, content types of ABIs, and texts of DNS records", async () => {
  const dnsRecord = "DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)";
  const avatar = { name: stringToHex("\x06avatar\x03ens\x00"), record: "0x000010000100000000000403747874" };
  const { records, texts, contracts } = await rowsAfter([
    ["NameChanged", { name: "vitalik.eth" }],
    ["ContenthashChanged", { hash: "0xe301" }],
    ["PubkeyChanged", { x: word("11"), y: word("22") }],
    ["DNSZonehashChanged", { lastzonehash: "0x", zonehash: "0xabcd" }],
    ...[4n, 1n, 4n].map((contentType): [string, object] => ["ABIChanged", { contentType }]),
    [dnsRecord, { ...avatar, resource: 16 }],
    [dnsRecord, { ...avatar, resource: 1, record: "0x036f6464" }],
  ]);
  expect(contracts).toEqual([{ id: `eip155:1:${emitter}`, chainId: 1, address: emitter }]);
  expect(records).toEqual([
    {
      id: `eip155:1:${emitter}/${node}`,
      ...{ chainId: 1, address: emitter, node, name: "vitalik.eth", contenthash: "0xe301" },
      ...{ pubkeyX: word("11"), pubkeyY: word("22"), dnszonehash: "0xabcd", version: null },
      ...{ abiContentTypes: [4n, 1n], coinTypes: null, textKeys: ["avatar"] },
    },
  ]);
  expect(texts).toMatchObject([{ key: "avatar", value: "txt" }]);
});

test("unsets records by empty values and names that are not normalised", async () => {
  const { records } = await rowsAfter([
    ["NameChanged", { name: "vitalik.eth" }],
    ["NameChanged", { name: "Vitalik.eth" }],
    ["ContenthashChanged", { hash: "0xe301" }],
    ["ContenthashChanged", { hash: "0x" }],
    ["PubkeyChanged", { x: word("00"), y: word("00") }],
  ]);
  expect(records).toMatchObject([{ name: null, contenthash: null, pubkeyX: null, pubkeyY: null }]);
});

test("early resolvers are read like later ones", () => {
  const { handlers } = openHandlers({
    register: (events) => registerProtocolAcceleration(events, namespaces.mainnet),
  });
  const eventsOf = (source: string) =>
    [...handlers.keys()].flatMap((name) => (name.startsWith(source) ? [name.slice(source.length)] : []));
  expect(eventsOf("protocol-acceleration/EarlyResolver:")).toHaveLength(13);
  expect(eventsOf("protocol-acceleration/EarlyResolver:")).toEqual(
    eventsOf("protocol-acceleration/Resolver:"),
  );
});

/** What a transaction set; undefined when all records of the node were cleared after it. */
type SetText = TextRecord & { value: string | undefined };

/**
 * Texts by the calldata of the transactions that set them, without those whose last change came through another
 * contract (a registrar controller, a wallet).
 */
function textsSet(): Map<string, SetText> {
  const texts = new Map<string, SetText>();
  const transactions = new Map(recording.transactions.map((one) => [one["hash"], one]));
  const forget = (isMeant: (record: TextRecord) => boolean) => {
    for (const [id, record] of texts) if (isMeant(record)) texts.delete(id);
  };
  const clear = (isMeant: (record: TextRecord) => boolean) => {
    for (const [id, record] of texts) if (isMeant(record)) texts.set(id, { ...record, value: undefined });
  };
  for (const receipt of recording.receipts.filter(({ status }) => status === "0x1")) {
    for (const { address, topics } of receipt["logs"] as PlayedLog[]) {
      const [event = "0x", node, keyHash] = topics;
      const isOfNode = (record: TextRecord) => record.resolver === address && record.node === node;
      if (event === versionChanged) clear(isOfNode);
      if (textChanged.includes(event)) forget((record) => isOfNode(record) && hashOf(record.key) === keyHash);
    }
    const transaction = transactions.get(receipt["transactionHash"]);
    const resolver = transaction?.["to"] as Hex;
    if (!resolvers.includes(resolver)) continue;
    for (const { functionName, args } of callsOf(transaction?.["input"] as Hex)) {
      if (functionName === "clearRecords")
        clear((record) => record.resolver === resolver && record.node === args[0]);
      if (functionName !== "setText") continue;
      const [node, key, value] = args;
      texts.set(idOf({ resolver, node, key }), { resolver, node, key, value });
    }
  }
  return texts;
}

/** The calls of the resolver's functions above in a transaction's input, those within a multicall one by one. */
function callsOf(input: Hex): DecodeFunctionDataReturnType<typeof resolverAbi>[] {
  if (!selectors.has(input.slice(0, 10))) return [];
  const call = decodeFunctionData({ abi: resolverAbi, data: input });
  return call.functionName === "multicall" ? call.args[0].flatMap(callsOf) : [call];
}
