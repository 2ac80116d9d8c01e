import { fileURLToPath } from "node:url";
import {
  type AbiEvent,
  DecodeLogDataMismatch,
  DecodeLogTopicsMismatch,
  decodeEventLog,
  type Hex,
  toEventSelector,
} from "viem";
import { resolverRecordsAbi } from "../../abis/resolver.ts";
import { type RecordedCall, type Recording, readRecording } from "../../devnet/recording.ts";
import { indexedRecords } from "../../src/api/resolution/indexed-records.ts";
import { emptySelection } from "../../src/api/resolution/selection.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { registerHandlers } from "../../src/handlers/on.ts";
import { multichainNaming } from "../../src/indexing/naming.ts";
import type { AskNodes } from "../../src/indexing/scope.ts";
import { registerProtocolAcceleration } from "../../src/plugins/protocol-acceleration.ts";
import { resolverTextRecord } from "../../src/schema/protocol-acceleration.ts";
import { createMemoryStore } from "./memory-store.ts";
import { handlers } from "./registry.ts";

/** A log of a recording. */
export type RecordedLog = {
  address: Hex;
  topics: [Hex, ...Hex[]];
  data: Hex;
  blockNumber: Hex;
  transactionHash: Hex;
  logIndex: Hex;
};

/** A text record of a resolver. */
export type TextPlace = { resolver: Hex; node: Hex; key: string };

const source = "protocol-acceleration/Resolver";

/** The recording that the devnet plays: what a node answered for a chain of the real contracts. */
export function readChainA(): Recording {
  return readRecording(fileURLToPath(new URL("../../devnet/recording/a", import.meta.url)));
}

/** All logs of the recording, in chain order. */
export function recordedLogs({ receipts }: Recording): RecordedLog[] {
  return receipts.flatMap(({ logs }) => logs as RecordedLog[]);
}

/**
 * The plugin `protocol-acceleration` over a store in memory: `play` feeds it a resolver's log through its own indexing
 * function, whose contract calls are served from the recording, and `textOf` is what resolution by the index returns.
 */
export function createRecordedResolvers({
  chainId,
  calls,
  blocks,
}: Pick<Recording, "chainId" | "calls" | "blocks">) {
  const store = createMemoryStore();
  const recorded = new Map(calls.map((call) => [callKey(call), call]));
  const times = new Map(blocks.map(({ number, timestamp }) => [Number(number), BigInt(String(timestamp))]));
  const asked = new Set<RecordedCall>();
  const nodes: AskNodes = async (_, { params }) => {
    const [{ to, data }, block] = params as [{ to: Hex; data: Hex }, Hex];
    const call = recorded.get(callKey({ to, data, block }));
    if (call === undefined) throw new Error(`no call is recorded of ${to} in block ${Number(block)}`);
    asked.add(call);
    return call.result;
  };
  handlers.clear();
  const settings = {
    naming: multichainNaming,
    rootChainId: chainId,
    heal: () => undefined,
    report: () => {},
    nodes,
    isConfigured: () => false,
  };
  registerProtocolAcceleration(
    registerHandlers(settings, (name) => name === source),
    namespaces["ens-test-env"],
  );
  const registered = new Map(handlers);

  const play = async (log: RecordedLog): Promise<void> => {
    const item = items.get(log.topics[0]);
    if (item === undefined) return;
    const args = argsOf(item, log);
    if (args === undefined) return;
    const handler = registered.get(`${source}:${nameOf(item)}`);
    if (handler === undefined) throw new Error(`no handler for ${nameOf(item)}`);
    await handler({
      event: {
        id: "0".repeat(75),
        args,
        block: { number: BigInt(log.blockNumber), timestamp: times.get(Number(log.blockNumber)) },
        transaction: { hash: log.transactionHash, from: `0x${"b2".repeat(20)}` },
        log: { ...log, logIndex: Number(log.logIndex) },
      },
      context: { db: store.db, chain: { id: chainId } },
    });
  };

  const textOf = ({ resolver, node, key }: TextPlace): string | null | undefined => {
    const rows = store.rows(resolverTextRecord).filter((row) => row["address"] === resolver);
    const texts = new Map(
      rows.filter((row) => row["node"] === node).map((row) => [row["key"] as string, row["value"] as string]),
    );
    const selection = { ...emptySelection(), texts: [key] };
    return indexedRecords({ ...noRecords, texts }, selection, { hasDefaultAddress: false }).texts?.[key];
  };

  return { play, textOf, asked: () => asked.size };
}

const noRecords = {
  name: null,
  contenthash: null,
  pubkeyX: null,
  pubkeyY: null,
  dnszonehash: null,
  addresses: new Map<string, string>(),
};

const items = new Map<Hex, AbiEvent>(resolverRecordsAbi.map((item) => [toEventSelector(item), item]));

// Any contract may emit these. Ponder leaves out the logs that do not fit the declaration.
function argsOf(item: AbiEvent, { topics, data }: RecordedLog): object | undefined {
  try {
    return decodeEventLog({ abi: [item], topics, data }).args;
  } catch (error) {
    if (error instanceof DecodeLogDataMismatch || error instanceof DecodeLogTopicsMismatch) return undefined;
    throw error;
  }
}

// Overloaded events are registered with their parameters.
function nameOf({ name, inputs }: AbiEvent): string {
  if (resolverRecordsAbi.filter((item) => item.name === name).length === 1) return name;
  const parameters = inputs.map(
    ({ type, indexed, name }) => `${type}${indexed ? " indexed" : ""} ${name ?? ""}`,
  );
  return `${name}(${parameters.join(", ")})`;
}

const callKey = ({ to, data, block }: Pick<RecordedCall, "to" | "data" | "block">) =>
  `${to} ${data} ${Number(block)}`;
