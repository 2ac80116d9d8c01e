import { WrongAnswerError } from "./log-answers.ts";
import { type Node, type Nodes, probe, putAside, report } from "./nodes.ts";
import { recheckUnverified } from "./unverified.ts";

// Whether a URL still serves the chain: its provider may come to serve another one, for good or for a moment.

// While a chain is followed, a minute has some sixty requests.
const [requestsOfCheck, msOfCheck] = [400, 60_000];
const msUnproven = 1_000;
const usualStep = 30;

/** Asks a URL for its chain id where it has not been asked for a while. Throws if it is another one. */
export async function requireSameChain(nodes: Nodes, node: Node): Promise<void> {
  const { chainCheck } = node;
  chainCheck.budget.add();
  if (nodes.chainId === 0 || (chainCheck.requests-- > 0 && nodes.now() < chainCheck.until)) return;
  // Requests that come meanwhile need not ask too.
  postponeCheck(nodes, node);
  await askChain(nodes, node);
}

/** Plans to ask for the chain id within a second of an answer that shows no chain, such as a range without logs. */
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

/** Asks for the chain id where the newest block is far from the one before. Throws if it is another one. */
export async function requireNearBlock(nodes: Nodes, node: Node, newest: number): Promise<void> {
  const step = Math.abs(newest - (nodes.newest ?? newest));
  if (nodes.chainId !== 0 && step > usualStep) await askChain(nodes, node);
  nodes.newest = newest;
}

async function askChain(nodes: Nodes, node: Node): Promise<void> {
  const answer = await probe(nodes, node, { method: "eth_chainId" });
  if (typeof answer !== "string") return;
  if (Number(answer) !== nodes.chainId) throw wrongChain(nodes, node, Number(answer));
  node.chainCheck.provenAt = nodes.now();
  node.isForeign = false;
  postponeCheck(nodes, node);
}

function postponeCheck(nodes: Nodes, { chainCheck }: Node): void {
  chainCheck.requests = requestsOfCheck;
  chainCheck.until = nodes.now() + msOfCheck;
}

/** Refuses an answer that was under way while the URL was found to serve another chain. */
export function requireOwnAnswer(nodes: Nodes, node: Node): void {
  if (node.isForeign)
    throw new WrongAnswerError(
      `Refused an answer of ${node.host}: it is not known to be of chain ${nodes.chainId}.`,
    );
}

/** Whether a URL says that it serves the chain; false if it does not respond. */
export async function provesChain(nodes: Nodes, node: Node): Promise<boolean> {
  if (nodes.chainId === 0) return true;
  const before = nodes.now();
  await askChain(nodes, node).catch(() => undefined);
  return node.chainCheck.provenAt >= before && !node.isForeign;
}

/** The error for a URL that answers for another chain; puts it aside if there is another. */
function wrongChain(nodes: Nodes, node: Node, chainId: number): WrongAnswerError {
  const problem = `it answers for chain ${chainId}, not for chain ${nodes.chainId}`;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "wrong-chain" });
  // One line: what follows is counted.
  if (!node.isForeign) {
    const message = "An RPC URL serves another chain now. What it returned before is compared";
    report(nodes, node, { level: "error", message }, { expected: nodes.chainId, found: chainId });
    node.unverifiedSince ??= node.chainCheck.provenAt;
    node.isForeign = true;
  }
  putAside(nodes, node, problem);
  node.chainCheck.requests = 0;
  return new WrongAnswerError(`Refused an answer of ${node.host}: ${problem}.`);
}
