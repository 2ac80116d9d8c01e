import { type AnsweredLogs, crossChecked, type ServedRange } from "./compared-logs.ts";
import { digestOfLogs, type LogsFilter, queryOf } from "./log-answers.ts";
import { anotherThan, fetchValidatedLogs, inPlaceOf, type Node, type Nodes, toHex } from "./nodes.ts";
import { isForeign, provesChain } from "./same-chain.ts";

// What a URL returned before it was found wrong: it may be stored, so it is in doubt until it was asked for again.

/** A chain whose URLs are checked, and the URLs whose earlier answers were asked for again. */
type Rechecked = { nodes: Nodes; answered: AnsweredLogs; rechecked: Set<Node> };

/**
 * Asks again for what URLs returned before they were found wrong: for all ranges of one that left out logs, and for those of one that
 * served another chain since it last showed the chain. Ranges that differ, and all until they are asked for, are in doubt. Runs
 * beside other requests.
 */
export function recheckSuspects(chain: Rechecked): void {
  const { nodes, rechecked } = chain;
  for (const node of nodes.all) {
    if (node.hasLied && !rechecked.has(node)) {
      rechecked.add(node);
      const suspects = takeSuspects(chain, node, 0);
      if (!hasNoWitness(nodes)) void confirm(chain, suspects);
    }
    const { unchecked } = node.strange;
    node.strange.unchecked = undefined;
    if (unchecked === undefined || node.hasLied) continue;
    const suspects = takeSuspects(chain, node, unchecked);
    if (suspects.length > 0) void confirmByOwnChain(chain, node, suspects);
  }
}

/** The ranges that a URL returned since a time, which are in doubt from now on. */
function takeSuspects({ nodes, answered }: Rechecked, node: Node, since: number): ServedRange[] {
  const isSuspect = (range: ServedRange) => range.node === node && range.at >= since;
  const suspects = answered.served.filter(isSuspect);
  if (suspects.length === 0) return suspects;
  answered.served = answered.served.filter((range) => !isSuspect(range));
  answered.doubtful.push(...suspects);
  nodes.doubt(answered.doubtful);
  return suspects;
}

/** Asks again for ranges; for those that nobody could answer for, or that two URLs contradicted each other about, until somebody can. */
async function confirm({ nodes, answered }: Rechecked, suspects: readonly ServedRange[]): Promise<void> {
  for (let open = [...suspects], wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
    const undecided: ServedRange[] = [];
    for (const range of open) {
      if (!answered.doubtful.includes(range)) continue;
      const found = await isConfirmed(nodes, range);
      if (found === true) answered.doubtful = answered.doubtful.filter((one) => one !== range);
      else if (found === undefined) undecided.push(range);
      else nodes.count({ chain: nodes.chain, host: range.node.host, kind: "in-doubt" });
    }
    nodes.doubt(answered.doubtful);
    if (undecided.length === 0) return;
    open = undecided;
    await new Promise((resolve) => setTimeout(resolve, wait).unref());
  }
}

const [firstWaitMs, longestWaitMs] = [2_000, 60_000];
const pauseMs = 500;

/** The same where no other URL can be asked: the URL itself can, once it serves the chain again, before and after. */
async function confirmByOwnChain(
  chain: Rechecked,
  node: Node,
  suspects: readonly ServedRange[],
): Promise<void> {
  const { nodes, answered } = chain;
  const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
  const isAlone = () => anotherThan(nodes, node) === undefined;
  for (;;) {
    while (isAlone() && isForeign(node)) await pause();
    if (!isAlone()) return confirm(chain, suspects);
    const same: ServedRange[] = [];
    for (const range of suspects) {
      if (answered.doubtful.includes(range) && (await isConfirmed(nodes, range))) same.push(range);
    }
    if (!(await provesChain(nodes, node))) {
      await pause();
      continue;
    }
    answered.doubtful = answered.doubtful.filter((range) => !same.includes(range));
    for (const range of suspects)
      if (answered.doubtful.includes(range))
        nodes.count({ chain: nodes.chain, host: node.host, kind: "in-doubt" });
    nodes.doubt(answered.doubtful);
    return;
  }
}

const tries = 3;

/** Whether a range has the logs that were returned; undefined if that cannot be said. */
async function isConfirmed(nodes: Nodes, range: ServedRange): Promise<boolean | undefined> {
  const { from, to, selection, digest } = range;
  const [address, topics] = JSON.parse(selection) as [LogsFilter["address"], LogsFilter["topics"]];
  const filter: LogsFilter = { fromBlock: toHex(from), toBlock: toHex(to) };
  if (address) filter.address = address;
  if (topics) filter.topics = topics;
  const query = queryOf(filter);
  if (query === undefined) return false;
  for (let i = 0; i < tries; i++) {
    try {
      const another = nodes.all.find((one) => one !== range.node && !one.hasLied && !isForeign(one));
      const node = another ?? inPlaceOf(nodes, range.node);
      const logs = await fetchValidatedLogs(nodes, node, { filter, query });
      const answer = await crossChecked(nodes, { node, logs }, { filter, query });
      return digestOfLogs(answer.logs) === digest;
    } catch {
      // A failed request says nothing about the range: it stays in doubt if the next ones fail too.
    }
  }
  return undefined;
}

/** Whether every URL was wrong before: no other can confirm what it returns. */
export const hasNoWitness = ({ all }: Nodes) => all.every(({ hasLied }) => hasLied);
