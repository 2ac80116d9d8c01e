import { type Abi, decodeFunctionResult, encodeFunctionData, getAddress, type Hex, toHex } from "viem";
import { textRecordAbi } from "../../abis/resolver.ts";
import { threednsMetadataAbi } from "../../abis/threedns.ts";
import { isContractRefusal } from "../ens/contract-refusals.ts";
import type { AskNodes } from "./node-reads.ts";
import { isReadGranted } from "./read-allowances.ts";
import type { Scope } from "./scope.ts";

// Contracts that indexing functions read. Those of the configuration are read through Ponder's client, which keeps the
// results for later indexes. Any other is an event's emitter that anybody may have deployed: it gets a bounded
// eth_call.

/**
 * Value of a text record of the contract that emitted the event; undefined, and an anomaly, if it returns none or the
 * chain's read allowance is spent. Waits out outages.
 */
export async function readText(
  scope: Scope,
  { node, key }: { node: Hex; key: string },
): Promise<string | undefined> {
  const call = { abi: textRecordAbi, args: [node, key] };
  if (scope.isConfigured(scope.chainId, scope.emitter) && isPlainKey(key)) {
    const read = () =>
      scope.client.readContract({
        abi: textRecordAbi,
        // ponder: it predicts later reads. With the emitter's own spelling it would predict reads of all emitters.
        address: getAddress(scope.emitter),
        functionName: "text",
        args: [node, key],
        retryEmptyResponse: false,
      });
    return reported(scope, await readThroughPonder(scope, call, read));
  }
  if (!(await isReadGranted(scope, "text"))) return undefined;
  return reported(scope, await callContract(scope, call));
}

/**
 * Metadata address of a token of the 3DNS contract that emitted the event; undefined, and an anomaly, if it returns
 * none. Waits out outages.
 */
export async function readTokenUri(scope: Scope, tokenId: bigint): Promise<string | undefined> {
  const call = { abi: threednsMetadataAbi, args: [tokenId] } as const;
  const params = [{ to: scope.emitter, data: encodeFunctionData(call) }, blockOf(scope)];
  const read = async () => decode(call, await scope.client.request({ method: "eth_call", params } as never));
  return reported(scope, await readThroughPonder(scope, call, read));
}

// Contracts on which Ponder's client failed, by reader of the nodes: it is not used for them again, since the bounded
// call returns the same values.
const failed = new WeakMap<AskNodes, Set<string>>();

async function readThroughPonder(scope: Scope, call: Call, read: () => Promise<string>) {
  const contracts = failed.get(scope.nodes) ?? new Set();
  failed.set(scope.nodes, contracts);
  const key = `${scope.chainId}:${scope.emitter}`;
  if (!contracts.has(key)) {
    try {
      return await within(ponderMs, read());
    } catch (error) {
      if (isContractRefusal(error)) return undefined;
      contracts.add(key);
    }
  }
  return callContract(scope, call);
}

type Call = { abi: Abi; args: readonly unknown[] };

// Below the gas that a transaction may have (EIP-7825): some nodes apply that limit to calls too.
const gas = toHex(10_000_000);
const limits = { maxBytes: 512 * 1024, timeoutMs: 2_500 };
const ponderMs = 10_000;
const longestPlainKey = 256;

// Ponder would take a key that equals an address for the address of its next reads, and has no bound for long ones.
const isPlainKey = (key: string) => key.length <= longestPlainKey && !key.startsWith("0x");

async function callContract(scope: Scope, call: Call): Promise<string | undefined> {
  const { nodes, chainId, blockNumber, emitter: to } = scope;
  const params = [{ to, data: encodeFunctionData(call), gas }, blockOf(scope)];
  const result = await nodes(chainId, { method: "eth_call", params, blockNumber, ...limits });
  if (typeof result !== "string") return undefined;
  try {
    return decode(call, result);
  } catch {
    return undefined; // Not the encoding of a text.
  }
}

const blockOf = ({ blockNumber }: Scope) => toHex(blockNumber);

function decode({ abi }: Call, data: unknown): string {
  return decodeFunctionResult({ abi, data: data as Hex }) as string;
}

function reported(scope: Scope, value: string | undefined): string | undefined {
  if (value === undefined) scope.report("unreadable-contract", scope);
  return value;
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined); // It may fail later, when nobody waits for it.
  }
}
