import type { Calls } from "./checked-calls.ts";
import { type AnsweredLogs, checkBlock } from "./compared-logs.ts";
import { type Header, headerIn, headerProblem, WrongAnswerError } from "./log-answers.ts";
import {
  anotherThan,
  askHeader,
  hashProblem,
  type Node,
  type Nodes,
  probe,
  type RpcRequest,
  refusal,
} from "./nodes.ts";
import { requireOwnBlock } from "./same-chain.ts";

/** A chain whose URLs are checked, and what they returned. */
export type CheckedChain = {
  nodes: Nodes;
  calls: Calls;
  answered: AnsweredLogs;
  headers: Map<string, Promise<Header | undefined>>;
  /** URLs that were wrong, and whose earlier answers were asked for again. */
  rechecked: Set<Node>;
};

const mostHeaders = 512;

/**
 * A block that Ponder asks for, checked. Throws if it is not the one that was asked for, does not hash to its hash, or does not fit the
 * logs that were returned. ponder: links live blocks by their parents' hashes, which are proven thereby.
 */
export async function requestBlock(chain: CheckedChain, node: Node, body: RpcRequest): Promise<unknown> {
  const { nodes, headers } = chain;
  const [wanted, isFull] = body.params as [unknown, unknown];
  const answer = node.request(body);
  const isByHash = body.method === "eth_getBlockByHash" && typeof wanted === "string";
  // Its logs are requested at the same time: they are checked when the header is there.
  if (isByHash) {
    const known = headers.get(wanted);
    const header = answer.then(
      (response) => provenHeader(nodes, node, response),
      () => undefined,
    );
    keepHeader(
      chain,
      wanted,
      header.then((found) => found ?? known),
    );
  }
  const response = await answer;
  const isNumber = typeof wanted === "string" && wanted.startsWith("0x") && !isByHash;
  // ponder: would give up a whole range for a block that a node does not know yet, or for once.
  if (response === null && (isNumber || isByHash))
    throw (await otherBlock(chain, node, wanted)) ?? refusal(nodes, node, `it has no block ${wanted}`);
  const block = headerIn(response);
  if (block === undefined) return response;
  if ((isByHash && block.hash !== wanted) || (isNumber && Number(block.number) !== Number(wanted))) {
    throw refusal(nodes, node, `block ${block.hash} was not asked for`);
  }
  const problem = hashProblem(nodes, node, response);
  if (problem !== undefined) throw refusal(nodes, node, problem);
  await requireOwnBlock(nodes, node, { response, block, isNewest: wanted === "latest" });
  node.refused = 0;
  if (isNumber && isFull === true) return checkedBlock(chain, node, { body, response, block });
  keepHeader(chain, block.hash, Promise.resolve(block));
  return response;
}

/** Whether a block is not the one that the answered logs name. */
function contradictsLogs({ byBlock }: AnsweredLogs, block: Header): boolean {
  const logs = [...(byBlock.get(Number(block.number))?.values() ?? [])].flat();
  return headerProblem(block, logs) !== undefined;
}

function provenHeader(nodes: Nodes, node: Node, response: unknown): Header | undefined {
  const header = headerIn(response);
  return header === undefined || hashProblem(nodes, node, response) !== undefined ? undefined : header;
}

type BlockAnswer = { body: RpcRequest; response: unknown; block: Header };

const tries = 3;

/** A block of the backfill, checked. One that does not fit its logs is asked for again: either may be wrong. */
async function checkedBlock(
  chain: CheckedChain,
  node: Node,
  { body, response, block }: BlockAnswer,
): Promise<unknown> {
  const { nodes, answered } = chain;
  const witness = anotherThan(nodes, node) ?? node;
  // ponder: fetches the whole range again for a block that is given up.
  for (let i = 0; i < tries && contradictsLogs(answered, block); i++) {
    const again = await probe(nodes, witness, body);
    const other = provenHeader(nodes, witness, again);
    if (other === undefined || contradictsLogs(answered, other)) continue;
    nodes.count({ chain: nodes.chain, host: node.host, kind: "refused" });
    return checkedBlock(chain, witness, { body, response: again, block: other });
  }
  keepHeader(chain, block.hash, Promise.resolve(block));
  await checkBlock(nodes, answered, { node, block });
  return response;
}

function keepHeader({ headers }: CheckedChain, hash: string, header: Promise<Header | undefined>) {
  headers.set(hash, header);
  const [oldest] = headers.keys();
  if (headers.size > mostHeaders && oldest !== undefined) headers.delete(oldest);
}

/** The header of a block, which Ponder requests before the block's logs or with them. */
export async function headerOf({ nodes, headers }: CheckedChain, node: Node, hash: string) {
  return (await headers.get(hash)) ?? askHeader(nodes, node, hash);
}

/**
 * The error for a block that a node named, but does not have: the node has another one at its height, so that asking again, for
 * a minute as Ponder does, can't help. Undefined if the node may only be behind.
 */
export async function otherBlock({ nodes, headers }: CheckedChain, node: Node, hash: string) {
  const number = (await headers.get(hash))?.number;
  if (number === undefined) return undefined;
  const now = await askHeader(nodes, node, number);
  if (now === undefined || now.hash === hash) return undefined;
  const problem = `block ${Number(number)} is ${now.hash} there, no longer ${hash}`;
  return new WrongAnswerError(`Gave up a block of ${node.host}: ${problem}.`, { isFinal: true });
}
