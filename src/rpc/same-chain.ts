import { WrongAnswerError } from "./log-answers.ts";
import { type Node, type Nodes, probe, putAside, report } from "./nodes.ts";
import { recheckUnverified } from "./unverified.ts";

// A provider may switch a URL to another chain, for good or for a moment.

// Following a chain takes some sixty requests a minute.
const [requestsOfCheck, msOfCheck] = [400, 60_000];
const msUnproven = 1_000;
const usualStep = 30;

/** Asks a URL for its chain id every 400 requests and every minute. Throws if it is another one. */
export async function requireSameChain(nodes: Nodes, node: Node): Promise<void> {
  const { chainCheck } = node;
  chainCheck.budget.add();
  if (nodes.chainId === 0 || (chainCheck.requests-- > 0 && nodes.now() < chainCheck.until)) return;
  // Concurrent requests need not ask too.
  postponeCheck(nodes, node);
  await askChain(nodes, node);
}

/**
 * Asks for the chain id a second after a response that proves no chain, such as a range without logs, if it is not
 * proven by then.
 */
export function scheduleChainCheck(nodes: Nodes, node: Node): void {
  const { chainCheck } = node;
  if (nodes.chainId === 0 || chainCheck.isPlanned) return;
  chainCheck.isPlanned = true;
  const answeredAt = nodes.now();
  setTimeout(() => {
    chainCheck.isPlanned = false;
    if (chainCheck.provenAt >= answeredAt || !chainCheck.budget.spend()) return;
    askChain(nodes, node).catch(() => recheckUnverified(nodes));
  }, msUnproven).unref();
}

/** Asks for the chain id if the newest block is far from the previous one. Throws if it is another one. */
export async function requireNearBlock(nodes: Nodes, node: Node, newest: number): Promise<void> {
  const step = Math.abs(newest - (nodes.newest ?? newest));
  if (nodes.chainId !== 0 && step > usualStep) await askChain(nodes, node);
  nodes.newest = newest;
}

async function askChain(nodes: Nodes, node: Node): Promise<void> {
  const answer = await probe(nodes, node, { method: "eth_chainId" });
  if (typeof answer !== "string") return;
  if (Number(answer) !== nodes.chainId) throw refuseWrongChain(nodes, node, Number(answer));
  node.chainCheck.provenAt = nodes.now();
  node.isForeign = false;
  postponeCheck(nodes, node);
}

function postponeCheck(nodes: Nodes, { chainCheck }: Node): void {
  chainCheck.requests = requestsOfCheck;
  chainCheck.until = nodes.now() + msOfCheck;
}

/** Throws if the URL was found to serve another chain while its response was pending. */
export function requireOwnAnswer(nodes: Nodes, node: Node): void {
  if (node.isForeign)
    throw new WrongAnswerError(
      `Rejected a response from ${node.host}: it is not known to serve chain ${nodes.chainId}.`,
    );
}

/** Whether a URL reports the chain's id now; false if it does not respond. */
export async function provesChain(nodes: Nodes, node: Node): Promise<boolean> {
  if (nodes.chainId === 0) return true;
  const before = nodes.now();
  await askChain(nodes, node).catch(() => undefined);
  return node.chainCheck.provenAt >= before && !node.isForeign;
}

/** The error for a URL that serves another chain. Puts it aside if another can answer. */
function refuseWrongChain(nodes: Nodes, node: Node, chainId: number): WrongAnswerError {
  const problem = `it serves chain ${chainId}, not chain ${nodes.chainId}`;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "wrong-chain" });
  // Reported once; repetitions are counted.
  if (!node.isForeign) {
    const message = "An RPC URL now serves another chain. Its earlier responses are being compared";
    report(nodes, node, { level: "error", message }, { expected: nodes.chainId, found: chainId });
    node.unverifiedSince ??= node.chainCheck.provenAt;
    node.isForeign = true;
  }
  putAside(nodes, node, problem);
  node.chainCheck.requests = 0;
  return new WrongAnswerError(`Rejected a response from ${node.host}: ${problem}.`);
}
