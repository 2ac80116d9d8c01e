import { setTimeout as sleep } from "node:timers/promises";
import { type Abi, decodeFunctionResult, encodeFunctionData, getAddress, type Hex, toHex } from "viem";
import { threednsMetadataAbi } from "../../abis/names.ts";
import { textRecordAbi } from "../../abis/resolver.ts";
import { isContractRefusal, isRefusal } from "../ens/contract-refusals.ts";
import { type RpcCall, requestRpc } from "../ponder/rpc-request.ts";
import { readAllowance } from "../schema/protocol-acceleration.ts";
import { type AskNodes, type NodeRequest, type Scope, upsert } from "./scope.ts";

type RetryTiming = { firstWaitMs: number; longestWaitMs: number; repeatMs: number; probeMs: number };
const production: RetryTiming = { firstWaitMs: 500, longestWaitMs: 30_000, repeatMs: 100, probeMs: 3_000 };

// Attempts while the node serves other requests, by failure. A missing response costs the most time; a server's own
// failure is temporary, and hard for an attacker to cause.
const tries = { failed: 3, slow: 2, unwell: 8, throttled: 8 };
const longestRepeatMs = 1_000;

/**
 * Reads whose subject an attacker can choose. Ponder's client would follow OffchainLookup, try ten times, and read
 * responses of any size. `onOutage` is called when a read begins to wait for a chain.
 */
export function createNodes(
  chains: readonly { id: number; rpc: { http: readonly string[] } }[],
  { onOutage, timing = production }: { onOutage: (chainId: number) => void; timing?: RetryTiming },
): AskNodes {
  const silentUntil = new Map<string, number>();
  const nodes = new Map(
    chains.map(({ id, rpc: { http: urls } }): [number, ChainNodes] => [
      id,
      { urls, timing, silentUntil, fruitless: new Map(), onOutage: () => onOutage(id) },
    ]),
  );
  return async (chainId, request) => {
    const ofChain = nodes.get(chainId);
    return ofChain && ask(ofChain, request);
  };
}

/**
 * RPC endpoints of a chain: until when a URL is not asked for comparison, and when the latest retries of a method were
 * given up.
 */
type ChainNodes = {
  urls: readonly string[];
  timing: RetryTiming;
  silentUntil: Map<string, number>;
  fruitless: Map<string, number[]>;
  onOutage: () => void;
};

async function ask(nodes: ChainNodes, request: NodeRequest): Promise<unknown> {
  const { urls, timing, silentUntil, fruitless } = nodes;
  const { method } = request;
  const isHasty = () => isShort(fruitless.get(method));
  let spent = 0; // share of all tries
  let repeats = 0;
  let throttled = 0;
  let outages = 0;
  for (let attempt = 0; urls.length > 0; attempt++) {
    const url = urls[attempt % urls.length] ?? "";
    const timeoutMs = isHasty() ? Math.ceil(request.timeoutMs / 8) : request.timeoutMs;
    const reply = await post(url, { ...request, timeoutMs });
    if (reply.kind === "result") {
      if (repeats > 0) fruitless.delete(method);
      return (await isContradicted(nodes, url, { request, reply })) ? undefined : (reply.result ?? undefined);
    }
    if (reply.kind === "refused") return undefined;
    silentUntil.set(url, Date.now() + silenceMs);
    if (reply.kind === "throttled") throttled += 1;
    else if (await servesBlock(url, request.blockNumber, timing.probeMs)) {
      spent += 1 / tries[reply.kind];
      if (spent >= 1 || isHasty()) {
        fruitless.set(method, [...(fruitless.get(method) ?? []), Date.now()].slice(-fruitlessRepeats));
        return undefined;
      }
      await sleep(Math.min(longestRepeatMs, timing.repeatMs * 2 ** repeats++));
      continue;
    }
    if (throttled > tries.throttled * urls.length) return undefined;
    if ((attempt + 1) % urls.length > 0) continue;
    if (outages === 0 && throttled === 0) nodes.onOutage();
    await sleep(Math.min(timing.longestWaitMs, timing.firstWaitMs * 2 ** outages++));
  }
  return undefined;
}

const silenceMs = 60_000;

/**
 * Whether another URL returns a different result of a call. Anybody may deploy the called contract, and nodes tell a
 * contract different values, such as fees: the index is not in doubt, but the result is not used. A URL that does not
 * respond is skipped for a minute.
 */
async function isContradicted(
  { urls, silentUntil }: ChainNodes,
  url: string,
  { request, reply }: { request: NodeRequest; reply: { result: unknown } },
): Promise<boolean> {
  if (request.method !== "eth_call") return false;
  const isAsked = (other: string) => other !== url && (silentUntil.get(other) ?? 0) < Date.now();
  const found = await Promise.all(
    [...new Set(urls)].filter(isAsked).map(async (other) => {
      const { kind, ...rest } = await post(other, request);
      if (kind !== "result" && kind !== "refused") silentUntil.set(other, Date.now() + silenceMs);
      return "result" in rest ? rest.result : reply.result;
    }),
  );
  return found.some((result) => result !== reply.result);
}

const retryWindowMs = 60_000;
const fruitlessRepeats = 3;

// Retries are for temporary failures. While none of the latest retries helped, each request gets one short attempt:
// whoever can cause one failure can cause any number, and together they must not stall the index.
const isShort = (fruitless: readonly number[] = []) =>
  fruitless.length === fruitlessRepeats && Date.now() - (fruitless[0] ?? 0) < retryWindowMs;

// A node that serves the event's block is healthy: the request itself is what fails.
async function servesBlock(url: string, blockNumber: number, timeoutMs: number): Promise<boolean> {
  const params = [`0x${blockNumber.toString(16)}`, false];
  const reply = await post(url, { method: "eth_getBlockByNumber", params, timeoutMs, maxBytes: 4_000_000 });
  return reply.kind === "result" && reply.result !== null;
}

type NodeReply = { kind: "result"; result: unknown } | { kind: "refused" | keyof typeof tries };

const tooManyRequests = 429;
const throttlingCodes = new Set<unknown>([tooManyRequests, -32005]);
const unsupportedCodes = new Set<unknown>([-32601, -32004]);

async function post(url: string, request: RpcCall): Promise<NodeReply> {
  try {
    const { status, result, error, isTooLong } = await requestRpc(url, request);
    if (status === tooManyRequests) return { kind: "throttled" };
    if (isTooLong) return { kind: "refused" };
    // The code comes first: a contract chooses the text of its revert.
    if (throttlingCodes.has(error?.code)) return { kind: "throttled" };
    if (error !== undefined && (unsupportedCodes.has(error.code) || isRefusal(error)))
      return { kind: "refused" };
    if (error === undefined && result !== undefined) return { kind: "result", result };
    return { kind: status >= 500 ? "unwell" : "failed" };
  } catch (error) {
    return { kind: error instanceof Error && error.name === "TimeoutError" ? "slow" : "unwell" };
  }
}

/** A call of the only function of an ABI. */
type ContractCall = { abi: Abi; args: readonly unknown[] };

const longestPlainKey = 256;

/**
 * Whether a text is read through Ponder's client: only of configured contracts. Ponder would take a key that equals an
 * address for the address of its next reads, and does not limit the length of keys.
 */
const isReadByClient = (isConfigured: boolean, { key }: { key: string }): boolean =>
  isConfigured && key.length <= longestPlainKey && !key.startsWith("0x");

// Below the gas limit of a transaction (EIP-7825), which some nodes apply to calls too.
const gas = toHex(10_000_000);

/** A call of the event's emitter, which anybody may have deployed, at the event's block. */
const buildBoundedRequest = ({ emitter: to, blockNumber }: Scope, call: ContractCall): NodeRequest => ({
  method: "eth_call",
  params: [{ to, data: encodeFunctionData(call), gas }, toHex(blockNumber)],
  ...{ blockNumber, maxBytes: 512 * 1024, timeoutMs: 2_500 },
});

// Handlers read configured contracts through Ponder's client, which keeps the results for later indexes. Any other
// emitter, which anybody may have deployed, gets a bounded eth_call.

/**
 * A text record of the emitter; undefined, with an anomaly, if it returns none or the read allowance is spent. Waits
 * out outages.
 */
export async function readTextRecord(
  scope: Scope,
  text: { node: Hex; key: string },
): Promise<string | undefined> {
  const call: ContractCall = { abi: textRecordAbi, args: [text.node, text.key] };
  if (isReadByClient(scope.isConfigured(scope.chainId, scope.emitter), text)) {
    const read = async () =>
      scope.client.readContract({
        abi: textRecordAbi,
        // ponder: it predicts later reads. From the emitter's own spelling it would predict reads of all emitters.
        address: getAddress(scope.emitter),
        functionName: "text",
        args: [text.node, text.key],
        retryEmptyResponse: false,
      });
    return reportUnreadable(scope, await readThroughPonder(scope, call, read));
  }
  if (!(await isReadGranted(scope, "text"))) return undefined;
  return reportUnreadable(scope, await callContract(scope, call));
}

/**
 * The metadata URI of a node's token of the emitting 3DNS contract; undefined, with an anomaly, if it returns none.
 * Waits out outages.
 */
export async function readTokenUri(scope: Scope, node: Hex): Promise<string | undefined> {
  const call: ContractCall = { abi: threednsMetadataAbi, args: [BigInt(node)] };
  const params = [{ to: scope.emitter, data: encodeFunctionData(call) }, toHex(scope.blockNumber)];
  const read = async () => decode(call, await scope.client.request({ method: "eth_call", params } as never));
  return reportUnreadable(scope, await readThroughPonder(scope, call, read));
}

// Contracts on which Ponder's client failed, by reader. It is not used for them again: the bounded call returns the
// same values.
const failed = new WeakMap<AskNodes, Set<string>>();
const failure = Symbol();
const ponderMs = 10_000;

async function readThroughPonder(scope: Scope, call: ContractCall, read: () => Promise<string>) {
  const contracts = failed.get(scope.nodes) ?? new Set();
  failed.set(scope.nodes, contracts);
  const key = `${scope.chainId}:${scope.emitter}`;
  if (contracts.has(key)) return callContract(scope, call);
  const result = await Promise.race([
    read().catch((error: unknown) => (isContractRefusal(error) ? undefined : failure)),
    sleep(ponderMs, failure, { ref: false }),
  ]);
  if (result !== failure) return result;
  contracts.add(key);
  return callContract(scope, call);
}

async function callContract(scope: Scope, call: ContractCall): Promise<string | undefined> {
  const { nodes, saved, chainId } = scope;
  const request = buildBoundedRequest(scope, call);
  const known = await saved?.find(chainId, request);
  const result = known ?? (await nodes(chainId, request));
  if (typeof result !== "string") return undefined;
  try {
    const value = decode(call, result);
    if (known === undefined) saved?.keep(chainId, request, result);
    return value;
  } catch {
    return undefined; // Not an encoded string.
  }
}

function decode({ abi }: ContractCall, data: unknown): string {
  return decodeFunctionResult({ abi, data: data as Hex }) as string;
}

function reportUnreadable(scope: Scope, value: string | undefined): string | undefined {
  if (value === undefined) scope.report("unreadable-contract", scope);
  return value;
}

// The price of a read in chain time, and how much may be spent ahead. Events that cause reads cost a few thousand gas:
// without this, one full block of them would stall the index for minutes.
const prices = {
  // Text records of unconfigured contracts: 100 at once, then one a second. Transactions with accounts: 30, then one in
  // ten seconds.
  text: { costMs: 1_000n, aheadMs: 100_000n },
  transaction: { costMs: 10_000n, aheadMs: 300_000n },
};

/**
 * Whether the event may cause a read; counts it. The result depends on the chain alone, so that every index of the same
 * blocks reads the same.
 */
export async function isReadGranted(scope: Scope, kind: keyof typeof prices): Promise<boolean> {
  const { db, chainId, timestamp, transactionHash } = scope;
  const { costMs, aheadMs } = prices[kind];
  const before = await db.find(readAllowance, { chainId, kind });
  // Reads of one transaction's addresses count once.
  if (kind === "transaction" && before?.transactionHash === transactionHash) return true;
  const now = timestamp * 1_000n;
  const paidAt = (before && before.paidAt > now ? before.paidAt : now) + costMs;
  if (paidAt > now + aheadMs) {
    scope.report("too-many-reads", scope);
    return false;
  }
  await upsert(scope, readAllowance, { chainId, kind }, { paidAt, transactionHash });
  return true;
}
