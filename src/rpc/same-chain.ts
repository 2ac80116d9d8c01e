import { seeOperations } from "../log/json-log.ts";
import { type Header, WrongAnswerError } from "./log-answers.ts";
import { type Node, type Nodes, probe, putAside } from "./nodes.ts";

// Whether a URL still serves the chain: its provider may come to serve another one, for good or for a moment.

// While a chain is followed, a minute has some sixty requests.
const [requestsOfTrust, msOfTrust] = [400, 60_000];
const creditOfRequest = 0.005;
const mostCredit = 10;
const msUnproven = 1_000;
const usualStep = 30;

/** Asks a URL for its chain id where no answer has shown it for a while. Throws if it is another one. */
export async function requireSameChain(nodes: Nodes, node: Node): Promise<void> {
  const now = nodes.now();
  const { trust } = node;
  trust.credit = Math.min(mostCredit, trust.credit + creditOfRequest);
  if (nodes.chainId === 0 || (trust.requests-- > 0 && now < trust.until)) return;
  // Requests that come meanwhile need not ask too.
  keepTrust(nodes, node);
  await askChain(nodes, node);
}

/**
 * Plans to ask for the chain id after an answer that shows no chain, such as a range without logs, unless another answer shows it
 * within a second. `whenForeign` is called if it is another one.
 */
export function scheduleChainCheck(nodes: Nodes, node: Node, whenForeign: () => void): void {
  const { trust } = node;
  if (nodes.chainId === 0 || trust.isPlanned) return;
  trust.isPlanned = true;
  const answeredAt = nodes.now();
  const prove = async () => {
    if (trust.provenAt < answeredAt && trust.credit < 1) {
      setTimeout(() => void prove(), msUnproven).unref();
      return;
    }
    trust.isPlanned = false;
    if (trust.provenAt >= answeredAt) return;
    trust.credit -= 1;
    await askChain(nodes, node).catch(whenForeign);
  };
  setTimeout(() => void prove(), msUnproven).unref();
}

/**
 * Requires a block to be of the chain, by what its transactions were signed for (EIP-155, EIP-2718). The newest block is asked
 * about where it has none and its number is far from that of the one before. Throws if it is of another chain.
 */
export async function requireOwnBlock(
  nodes: Nodes,
  node: Node,
  { response, block, isNewest }: { response: unknown; block: Header; isNewest: boolean },
): Promise<void> {
  if (nodes.chainId === 0) return;
  const signedFor = nodes.isPublic ? chainOfTransactions(response, nodes.chainId) : undefined;
  if (signedFor === nodes.chainId) showsChain(nodes, node);
  else if (signedFor !== undefined) throw wrongChain(nodes, node, signedFor);
  if (!isNewest) return;
  const number = Number(block.number);
  const step = Math.abs(number - (nodes.newest ?? number));
  if (signedFor === undefined && step > usualStep) await askChain(nodes, node);
  nodes.newest = number;
}

async function askChain(nodes: Nodes, node: Node): Promise<void> {
  const answer = await probe(nodes, node, { method: "eth_chainId" });
  if (typeof answer !== "string") return;
  if (Number(answer) !== nodes.chainId) throw wrongChain(nodes, node, Number(answer));
  showsChain(nodes, node);
}

/** Whether a URL was last seen to serve another chain. */
export const isForeign = ({ strange }: Node) => strange.since !== undefined;

/** Refuses an answer that was under way while the URL was found to serve another chain. */
export function requireOwnAnswer(nodes: Nodes, node: Node): void {
  if (isForeign(node))
    throw new WrongAnswerError(
      `Refused an answer of ${node.host}: it is not known to be of chain ${nodes.chainId}.`,
    );
}

/** Whether a URL says that it serves the chain; false if it does not respond. */
export async function provesChain(nodes: Nodes, node: Node): Promise<boolean> {
  const before = nodes.now();
  await askChain(nodes, node).catch(() => undefined);
  return node.trust.provenAt >= before && !isForeign(node);
}

function showsChain(nodes: Nodes, node: Node): void {
  node.trust.provenAt = nodes.now();
  node.strange.since = undefined;
  keepTrust(nodes, node);
}

function keepTrust(nodes: Nodes, { trust }: Node): void {
  trust.requests = requestsOfTrust;
  trust.until = nodes.now() + msOfTrust;
}

/** The chain that the transactions of a block were signed for: `ours` if one was; undefined if none says. */
function chainOfTransactions(response: unknown, ours: number): number | undefined {
  const { transactions } = response as { transactions?: unknown };
  if (!Array.isArray(transactions)) return undefined;
  let found: number | undefined;
  for (const transaction of transactions) {
    const id = chainOfTransaction(transaction);
    if (id === ours) return ours;
    found ??= id;
  }
  return found;
}

// Types 0 to 4 are Ethereum's; those of layers two carry what their nodes make up. Before EIP-155, v is 27 or 28.
function chainOfTransaction(transaction: unknown): number | undefined {
  if (typeof transaction !== "object" || transaction === null) return undefined;
  const { type, chainId, v } = transaction as { type?: unknown; chainId?: unknown; v?: unknown };
  const kind = type === undefined ? 0 : Number(type);
  if (kind === 0) return Number(v) >= 35 ? Math.floor((Number(v) - 35) / 2) : undefined;
  return kind <= 4 && typeof chainId === "string" ? Number(chainId) || undefined : undefined;
}

/** The error for a URL that answers for another chain; puts it aside if there is another. */
function wrongChain(nodes: Nodes, node: Node, chainId: number): WrongAnswerError {
  const problem = `it answers for chain ${chainId}, not for chain ${nodes.chainId}`;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "wrong-chain" });
  node.strange.refused += 1;
  // It may be asked many times a second.
  if (nodes.now() >= node.strange.silentUntil) {
    nodes.log("error", "An RPC URL serves another chain now. What it returned before is compared", {
      chain: nodes.chain,
      hostname: node.host,
      expected: nodes.chainId,
      found: chainId,
      refused: node.strange.refused,
      section: seeOperations("When a node leaves out logs"),
    });
    node.strange.refused = 0;
    node.strange.silentUntil = nodes.now() + 60_000;
  }
  if (!isForeign(node)) node.strange.unchecked = node.strange.since = node.trust.provenAt;
  putAside(nodes, node, problem, { isProven: true });
  node.trust.requests = 0;
  return new WrongAnswerError(`Refused an answer of ${node.host}: ${problem}.`);
}
