import { isContractRefusal } from "../ens/contract-refusals.ts";
import { seeOperations } from "../log/json-log.ts";
import { type BlockRange, isAside, type Node, type Nodes, type RpcRequest } from "./nodes.ts";

// What contracts of the configuration return to rules. No header proves it, so that all URLs are asked.

/** What a URL returned to a call: hex, or a word for the contract's refusal and the error that says so. */
type Outcome = { node: Node; text: string; error?: unknown };

/** A call at a block, and the outcome that an index may rest on. */
type ServedCall = BlockRange & { body: RpcRequest; outcome: Outcome };

/** The calls of a chain. */
export type Calls = {
  nodes: Nodes;
  /** Takes the blocks of all calls that are in doubt. */
  doubt: (blocks: readonly BlockRange[]) => void;
  served: ServedCall[];
  doubtful: ServedCall[];
  /** Further requests that may be sent: a share of the requests before. After a difference all are. */
  credit: number;
  isDisputed: boolean;
  /** URLs that were wrong, and whose earlier results are in doubt. */
  suspected: Set<Node>;
  /** Until when URLs that failed are not asked, in milliseconds since 1970: their silence costs time. */
  silentUntil: Map<Node, number>;
  /** Between two tries of a call in doubt. */
  pauseMs: number;
};

// At most two requests in a hundred, and a hundred at first: on most chains every call is compared.
const creditOfRequest = 0.02;
const mostCredit = 100;
const mostServed = 10_000;
const silenceMs = 60_000;
const tries = 3;

/** No calls yet. */
export function createCalls(nodes: Nodes, doubt: Calls["doubt"]): Calls {
  const state = { served: [], doubtful: [], credit: mostCredit, isDisputed: false };
  return { nodes, doubt, ...state, suspected: new Set(), silentUntil: new Map(), pauseMs: 1_000 };
}

/** Accounts for a request of Ponder's: a share of them may be asked twice. */
export function addCallCredit(calls: Calls): void {
  calls.credit = Math.min(mostCredit, calls.credit + creditOfRequest);
}

/**
 * The result of a request; a call that names a block's number is asked of the other URLs too. If those that were not found wrong
 * differ, the block is in doubt: nothing proves one of them.
 */
export async function requestCall(calls: Calls, node: Node, body: RpcRequest): Promise<unknown> {
  const block = blockOf(body);
  if (block === undefined || calls.nodes.crossCheckShare === 0) return node.request(body);
  const own = await ask(node, body);
  const sound = [own, ...(await othersThan(calls, node, body))].filter((one) => !one.node.hasLied);
  const [outcome = own] = sound;
  const call = { from: block, to: block, body, outcome };
  const other = sound.find(({ text }) => text !== outcome.text);
  if (other !== undefined) dispute(calls, call, other);
  calls.served.push(call);
  if (calls.served.length > mostServed) calls.served.splice(0, mostServed / 4);
  if (outcome.error !== undefined) throw outcome.error;
  return outcome.text;
}

/** The block of a call that names its number; undefined of other requests. */
function blockOf({ method, params }: RpcRequest): number | undefined {
  const [, block] = method === "eth_call" && Array.isArray(params) ? (params as unknown[]) : [];
  return typeof block === "string" && block.startsWith("0x") ? Number(block) : undefined;
}

async function ask(node: Node, body: RpcRequest): Promise<Outcome> {
  try {
    return { node, text: String(await node.request(body)) };
  } catch (error) {
    if (isContractRefusal(error)) return { node, text: "refused", error };
    throw error;
  }
}

async function othersThan(calls: Calls, node: Node, body: RpcRequest): Promise<Outcome[]> {
  const { nodes, silentUntil } = calls;
  const isAsked = (one: Node) =>
    one !== node && !isAside(nodes, one) && (silentUntil.get(one) ?? 0) < nodes.now();
  const others = nodes.all.filter(isAsked);
  if (!calls.isDisputed && !node.hasLied && calls.credit < others.length) return [];
  calls.credit = Math.max(0, calls.credit - others.length);
  return outcomesOf(calls, others, body);
}

/** What URLs return to a call; one that fails, as without state of the block, says nothing. */
async function outcomesOf({ nodes, silentUntil }: Calls, asked: readonly Node[], body: RpcRequest) {
  const outcomes = await Promise.all(
    asked.map((node) => {
      nodes.count({ chain: nodes.chain, host: node.host, kind: "extra-request" });
      return ask(node, body).catch(() => void silentUntil.set(node, nodes.now() + silenceMs));
    }),
  );
  return outcomes.filter((outcome) => outcome !== undefined);
}

function dispute(calls: Calls, call: ServedCall, { node: another }: Outcome): void {
  const { chain, count, log } = calls.nodes;
  const { host } = call.outcome.node;
  count({ chain, host, kind: "unverified" });
  if (!calls.isDisputed)
    log("error", "Two RPC URLs return different results of a contract", {
      chain,
      hostname: host,
      another: another.host,
      block: call.from,
      section: seeOperations("When a node leaves out logs"),
    });
  calls.isDisputed = true;
  suspect(calls, [call]);
}

function suspect(calls: Calls, suspects: readonly ServedCall[]): void {
  calls.doubtful = [...new Set([...calls.doubtful, ...suspects])];
  calls.doubt(calls.doubtful);
  void confirm(calls, suspects);
}

/** Asks again for calls in doubt. What was used is right if all URLs that were not found wrong return the same. */
async function confirm(calls: Calls, suspects: readonly ServedCall[]): Promise<void> {
  const isAlone = calls.nodes.all.every(({ hasLied }) => hasLied);
  for (const call of isAlone ? [] : suspects) {
    for (let i = 0; i < tries && calls.doubtful.includes(call); i++) {
      await new Promise((resolve) => setTimeout(resolve, calls.pauseMs * i).unref());
      const sound = calls.nodes.all.filter(({ hasLied }) => !hasLied);
      const found = await outcomesOf(calls, sound, call.body);
      const isRight = found.length === sound.length && found.every(({ text }) => text === call.outcome.text);
      if (isRight && found.length > 0) calls.doubtful = calls.doubtful.filter((one) => one !== call);
    }
  }
  calls.doubt(calls.doubtful);
}

/** Puts in doubt what URLs returned before they were found wrong, and asks for it again, with what was in doubt already. */
export function recheckCalls(calls: Calls): void {
  const wrong = calls.nodes.all.filter((node) => node.hasLied && !calls.suspected.has(node));
  if (wrong.length === 0) return;
  for (const node of wrong) calls.suspected.add(node);
  const suspects = calls.served.filter(({ outcome }) => wrong.includes(outcome.node));
  calls.served = calls.served.filter((call) => !suspects.includes(call));
  if (calls.doubtful.length + suspects.length > 0) suspect(calls, [...calls.doubtful, ...suspects]);
}
