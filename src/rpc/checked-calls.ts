import { isContractRefusal } from "../ens/contract-refusals.ts";
import { type Node, type Nodes, othersThan, type RpcRequest, report, type Served } from "./nodes.ts";
import { addUnverified, keepServed } from "./unverified.ts";

// No header proves what a contract returns to a handler, so all URLs are asked.

/** A URL's result of a call: hex, or "refused" with the error that says so. */
type CallOutcome = { node: Node; text: string; error?: unknown };

const silenceMs = 60_000;

/**
 * Returns the result of a request. A call that names a block number also goes to the other URLs. If URLs that have not
 * lied disagree, the block is unverified: nothing proves either result.
 */
export async function requestCall(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  const block = findBlockNumber(body);
  if (block === undefined || nodes.crossCheckShare === 0) return node.request(body);
  const own = await ask(node, body);
  const asked = othersThan(nodes, node).filter(({ silentUntil }) => silentUntil < nodes.now());
  const isCompared = node.hasLied || nodes.calls.spend(asked.length);
  const others = isCompared ? await requestOutcomes(nodes, asked, body) : [];
  const sound = [own, ...others].filter((one) => !one.node.hasLied);
  const [used = own] = sound;
  const call: Served = {
    ...{ from: block, to: block, node: used.node, at: nodes.now() },
    isSameAgain: async () => {
      const trusted = nodes.all.filter(({ hasLied }) => !hasLied);
      const found = await requestOutcomes(nodes, trusted, body);
      const isSame = found.length === trusted.length && found.every(({ text }) => text === used.text);
      // Nothing proves which URL is wrong.
      return isSame && found.length > 0 ? true : undefined;
    },
  };
  const other = sound.find(({ text }) => text !== used.text);
  if (other === undefined) keepServed(nodes, call);
  else dispute(nodes, call, other.node);
  if (used.error !== undefined) throw used.error;
  return used.text;
}

function findBlockNumber({ method, params }: RpcRequest): number | undefined {
  const [, block] = method === "eth_call" && Array.isArray(params) ? (params as unknown[]) : [];
  return typeof block === "string" && block.startsWith("0x") ? Number(block) : undefined;
}

async function ask(node: Node, body: RpcRequest): Promise<CallOutcome> {
  try {
    return { node, text: String(await node.request(body)) };
  } catch (error) {
    if (isContractRefusal(error)) return { node, text: "refused", error };
    throw error;
  }
}

/**
 * Results of a call. A URL that fails, for example without the state, is not asked for a minute: failures cost time.
 */
async function requestOutcomes(
  nodes: Nodes,
  asked: readonly Node[],
  body: RpcRequest,
): Promise<CallOutcome[]> {
  const outcomes = await Promise.all(
    asked.map((node) => {
      nodes.count({ chain: nodes.chain, host: node.host, kind: "extra-request" });
      return ask(node, body).catch(() => {
        node.silentUntil = nodes.now() + silenceMs;
      });
    }),
  );
  return outcomes.filter((outcome) => outcome !== undefined);
}

function dispute(nodes: Nodes, call: Served, another: Node): void {
  nodes.count({ chain: nodes.chain, host: call.node.host, kind: "unverified" });
  const message = "Two RPC URLs return different results of a contract";
  if (!nodes.hasDisputes)
    report(nodes, call.node, { level: "error", message }, { another: another.host, block: call.from });
  nodes.hasDisputes = true;
  nodes.calls.lift();
  addUnverified(nodes, [call]);
}
