import { decodeAbiParameters, decodeFunctionData, type Hex, keccak256, stringToHex } from "viem";
import { expect, test } from "vitest";
import { textRecordAbi } from "../../abis/resolver.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { openHandlers } from "../../test/support/handlers.ts";
import { createRecordedIndex } from "../../test/support/recorded-index.ts";
import { datasourcesFile, recordingOf } from "../../test/support/recordings.ts";
import { namespaces } from "../deployments/namespaces.ts";
import { indexedRecords } from "../read/names/indexed-records.ts";
import {
  resolverContract,
  resolverDataRecord,
  resolverRecord,
  resolverTextRecord,
} from "../schema/protocol-acceleration.ts";
import { registerProtocolAcceleration } from "./protocol-acceleration.ts";

/** A text record of a resolver. */
type TextRecord = { resolver: Hex; node: Hex; key: string };

// What a node answered for a chain of the real contracts: the devnet plays it.
const recording = recordingOf("root");
const callKey = (to: Hex, data: Hex, block: Hex) => `${to} ${data} ${Number(block)}`;
const results = new Map(
  recording.calls.map(({ to, data, block, result }) => [callKey(to, data, block), result]),
);

/**
 * The plugin over the recording, whose contract calls are served from it; `textOf` is what resolution by the index
 * returns.
 */
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
    const { args } = decodeFunctionData({ abi: textRecordAbi, data: call.data });
    const [node, key] = args;
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
      { ...at, data: "0x", topics: { ABIChanged: 3, DataChanged: 4 }[event] ?? 2 },
    );
  return {
    records: rows(resolverRecord),
    texts: rows(resolverTextRecord),
    data: rows(resolverDataRecord),
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
      ...{ abiContentTypes: [4n, 1n], dataKeys: null, coinTypes: null, textKeys: ["avatar"] },
    },
  ]);
  expect(texts).toMatchObject([{ key: "avatar", value: "txt" }]);
});

test("keeps data records (ENSIP-24) until no bytes are set, or all is cleared, and whose proofs they are (ENSIP-28)", async () => {
  const set = (key: string, data: string): [string, object] => [
    "DataChanged",
    { indexedKey: keccak256(stringToHex(key)), key, indexedData: keccak256(stringToHex(data)) },
  ];
  const proof = "accounts[1][0xd8da6bf26964af9d7eed9e03e53415d37aa96045]";
  const dataAfter = async (...events: [string, object][]) =>
    (await rowsAfter(events)).data.map(({ key, valueHash, account }) => [key, valueHash, account]);
  const both = [set("agent-context", "a"), set("", "b"), set("", ""), set(proof, "c")];
  const proved = [proof, keccak256(stringToHex("c")), "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"];
  const context = ["agent-context", keccak256(stringToHex("d")), null];
  expect(await dataAfter(...both, set("agent-context", "d"))).toEqual([context, proved]);
  expect(await dataAfter(...both, set("agent-context", ""))).toEqual([proved]);
  expect(await dataAfter(...both, ["VersionChanged", { newVersion: 1n }])).toEqual([]);
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
