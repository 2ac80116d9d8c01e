import { type AbiEvent, decodeEventLog, getAbiItem, type Hex, parseAbiItem, toEventSelector } from "viem";
import { registryAbi, threednsTokenAbi } from "../../abis/names.ts";
import { textChanged } from "../../abis/resolver.ts";
import type { EventArgs, Namespace } from "../deployments/deployment.ts";
import { deployedContracts, isContractOf } from "../deployments/namespaces.ts";
import { emittedString } from "../ens/event-strings.ts";
import { rootNode, subnode } from "../ens/ids.ts";
import { labelsOfNode } from "../ens/names.ts";
import { keyOfRequest } from "../ponder/saved-results.ts";
import { type Allowance, type ReadKind, spend } from "./read-allowance.ts";
import { boundedRequest, clientRequest, isReadByClient, textCall, tokenUriCall } from "./read-requests.ts";
import type { NodeRequest } from "./scope.ts";
import { accountRequests, isOfAccount, labelInEvent, labelsIn, savedLabel } from "./transaction-labels.ts";

// What rules ask of nodes because of logs, for an archive that shall have the answers. Beside the logs this needs what the rules
// take from their tables: which names are known, and what is left of the allowances.

/** A log, and who sent its transaction. */
type SeenLog = { address: string; topics: readonly string[]; data: string; hash: string; sender: string };

/** The logs of a block, in order; its time in seconds. */
type SeenBlock = { number: number; timestamp: bigint; logs: readonly SeenLog[] };

/** Sends a request; undefined without a result. */
type Ask = (request: NodeRequest) => Promise<unknown>;

/** A read: its block, the keys by which an index keeps the results, how many requests it takes at most, and what sends them. */
type Read = {
  block: number;
  keys: string[];
  requests: number;
  resultsOf: (ask: Ask) => Promise<Map<string, string>>;
};

type Chain = { chainId: number; rootChainId: number; datasources: Namespace };

type Rules = {
  chainId: number;
  isRootChain: boolean;
  registries: ReadonlySet<string>;
  tokens: ReadonlySet<string>;
  isConfigured: (chainId: number, address: Hex) => boolean;
  /** Nodes of 3DNS with a name, and names of accounts that the registry has named. */
  named: Set<number>;
  allowances: Map<ReadKind, Allowance>;
};

/**
 * The reads that all rules together make for blocks, which are given in order; it remembers what the blocks before had. Begun in
 * the middle of a chain it finds some more, of names that were known before.
 */
export function createReadsOf({ chainId, rootChainId, datasources }: Chain): (block: SeenBlock) => Read[] {
  const addressesOf = (role: "registry" | "threednsToken") =>
    new Set(
      deployedContracts(datasources, [role]).flatMap((one) =>
        one.chainId === chainId && one.address !== undefined ? [one.address.toLowerCase()] : [],
      ),
    );
  const rules: Rules = {
    ...{ chainId, isRootChain: chainId === rootChainId },
    registries: addressesOf("registry"),
    tokens: addressesOf("threednsToken"),
    isConfigured: isContractOf(datasources),
    named: new Set(),
    allowances: new Map(),
  };
  return (block) => {
    const accounts = new Map<Hex, Hex[]>();
    const calls = block.logs.flatMap((log) => {
      const emitter = log.address.toLowerCase();
      if (rules.registries.has(emitter)) noteAccount(rules, { block, log }, accounts);
      const read = rules.tokens.has(emitter) ? tokenRead(rules, { block, log }) : undefined;
      return read ?? textRead(rules, { block, log }) ?? [];
    });
    return [...calls, ...[...accounts].map(([hash, labelhashes]) => accountsRead(block, hash, labelhashes))];
  };
}

type Seen = { block: SeenBlock; log: SeenLog };

/** Reads the arguments of a log; undefined if it is of another event, or malformed: then no rule gets it. */
function readerOf<const Event extends AbiEvent>(event: Event) {
  const selector = toEventSelector(event);
  const count = 1 + event.inputs.filter(({ indexed }) => indexed).length;
  return ({ topics, data }: SeenLog): EventArgs<Event> | undefined => {
    if (topics[0] !== selector || topics.length !== count) return undefined;
    try {
      const given = { topics: topics as [Hex, ...Hex[]], data: data as Hex };
      return decodeEventLog({ abi: [event as AbiEvent], ...given }).args as unknown as EventArgs<Event>;
    } catch {
      return undefined;
    }
  };
}

const textArgs = readerOf(parseAbiItem(`event ${textChanged}`));
const newOwnerArgs = readerOf(getAbiItem({ abi: registryAbi, name: "NewOwner" }));
const registeredArgs = readerOf(getAbiItem({ abi: threednsTokenAbi, name: "RegistrationCreated" }));

function textRead(rules: Rules, { block, log }: Seen): Read | undefined {
  const args = textArgs(log);
  if (args === undefined) return undefined;
  const text = { node: args.node, key: emittedString(log.data as Hex, 0, args.key) };
  const place = { emitter: log.address.toLowerCase() as Hex, blockNumber: block.number };
  if (isReadByClient(rules.isConfigured(rules.chainId, place.emitter), text))
    return callRead(clientRequest(place, textCall(text)), JSON.stringify);
  return isGranted(rules, "text", { block, log })
    ? callRead(boundedRequest(place, textCall(text)), (result) => result)
    : undefined;
}

function tokenRead({ named }: Rules, { block, log }: Seen): Read | undefined {
  const names = registeredArgs(log);
  if (names !== undefined && labelsOfNode({ ...names, parentNode: names.tld })) note(named, names.node);
  const created = newOwnerArgs(log);
  if (created === undefined) return undefined;
  const { node: parentNode, label } = created;
  const node = subnode(parentNode, label);
  if (named.has(placeOf(node))) return undefined;
  // A name below an unknown one stays unknown, and is looked up again.
  if (parentNode === rootNode || named.has(placeOf(parentNode))) note(named, node);
  const place = { emitter: log.address.toLowerCase() as Hex, blockNumber: block.number };
  return callRead(clientRequest(place, tokenUriCall(node)), JSON.stringify);
}

// ponder: its client keeps results as JSON, and none of these.
function callRead(request: NodeRequest, kept: (result: string) => string): Read {
  const key = keyOfRequest(request);
  const resultsOf = async (ask: Ask) => {
    const result = await ask(request);
    const isResult = typeof result === "string" && /^0x[0-9a-fA-F]+$/.test(result);
    return new Map(isResult ? [[key, kept(result)]] : []);
  };
  return { block: request.blockNumber, keys: [key], requests: 1, resultsOf };
}

/** Notes under its transaction a label that only the receipt or the trace may have. */
function noteAccount(rules: Rules, { block, log }: Seen, accounts: Map<Hex, Hex[]>): void {
  const args = newOwnerArgs(log);
  if (args === undefined || !isOfAccount({ parentNode: args.node }, rules.isRootChain)) return;
  if (rules.named.has(placeOf(args.label))) return;
  note(rules.named, args.label);
  const { label: labelhash, owner } = args;
  if (labelInEvent({ labelhash, owner, sender: log.sender as Hex }) !== undefined) return;
  if (!isGranted(rules, "transaction", { block, log })) return;
  const hash = log.hash as Hex;
  accounts.set(hash, [...(accounts.get(hash) ?? []), labelhash]);
}

function accountsRead({ number }: SeenBlock, hash: Hex, labelhashes: readonly Hex[]): Read {
  const keys = new Map(labelhashes.map((one) => [one, keyOfRequest(savedLabel(hash, one))]));
  const requests = accountRequests(hash, number);
  const resultsOf = async (ask: Ask) => {
    const found = new Map<string, string>();
    for (const request of requests) {
      if (found.size === keys.size) break;
      const labels = labelsIn(await ask(request));
      for (const [labelhash, key] of keys) {
        const label = labels.get(labelhash);
        if (label !== undefined) found.set(key, label);
      }
    }
    return found;
  };
  return { block: number, keys: [...keys.values()], requests: requests.length, resultsOf };
}

function isGranted({ allowances }: Rules, kind: ReadKind, { block, log }: Seen): boolean {
  const { timestamp } = block;
  const spent = spend(kind, allowances.get(kind), { timestamp, transactionHash: log.hash as Hex });
  if (spent !== undefined) allowances.set(kind, spent);
  return spent !== undefined;
}

// A number of 52 bits takes a fifth of the space of a hash. Two hashes with the same one cost a read of the index.
const placeOf = (hash: Hex) => Number.parseInt(hash.slice(2, 15), 16);
const mostNamed = 2_000_000;

function note(named: Set<number>, hash: Hex): void {
  named.add(placeOf(hash));
  if (named.size <= mostNamed) return;
  const [oldest] = named;
  named.delete(oldest ?? 0);
}
