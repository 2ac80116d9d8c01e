import { limitSize } from "./log-answers.ts";
import type { Nodes, Served } from "./nodes.ts";

// Once a URL is found wrong, its earlier responses, which Ponder may have stored, are unverified until they are
// requested again.

const maxServed = 50_000;

/** Keeps a response. If every URL has lied, it is unverified at once: no other can confirm it. */
export function keepServed(nodes: Nodes, served: Served): void {
  nodes.served.add(served);
  limitSize(nodes.served, maxServed);
  if (nodes.all.every(({ hasLied }) => hasLied)) addUnverified(nodes, [served]);
}

/**
 * Drops unverified responses whose blocks are requested again: whoever requests them has not stored the earlier ones.
 */
export function dropUnverified(nodes: Nodes, isDropped: (one: Served) => boolean): void {
  const dropped = [...nodes.unverified].filter(isDropped);
  for (const one of dropped) nodes.unverified.delete(one);
  if (dropped.length > 0) publish(nodes);
}

/** Requests what URLs returned before they were found wrong again, beside other requests. */
export function recheckUnverified(nodes: Nodes): void {
  for (const node of nodes.all) {
    const since = node.unverifiedSince;
    if (since === undefined) continue;
    node.unverifiedSince = undefined;
    addUnverified(
      nodes,
      [...nodes.served].filter((one) => one.node === node && one.at >= since),
    );
  }
}

/** Marks responses as unverified until a new request returns the same. */
export function addUnverified(nodes: Nodes, answers: readonly Served[]): void {
  if (answers.length === 0) return;
  for (const one of answers) {
    nodes.served.delete(one);
    nodes.unverified.add(one);
  }
  publish(nodes);
  void verify(nodes, answers);
}

// If storing fails, the watch of src/operations/cache.ts stores them later.
const publish = (nodes: Nodes) => {
  nodes.stored = nodes.reportUnverified([...nodes.unverified])?.catch(() => undefined);
};

const [firstWaitMs, longestWaitMs] = [2_000, 600_000];

async function verify(nodes: Nodes, answers: readonly Served[]): Promise<void> {
  for (let open = answers, wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
    const undecided: Served[] = [];
    for (const one of open) {
      if (!nodes.unverified.has(one)) continue;
      const isSame = await one.isSameAgain();
      if (isSame === true) nodes.unverified.delete(one);
      else if (isSame === undefined) undecided.push(one);
      else nodes.count({ chain: nodes.chain, host: one.node.host, kind: "differing" });
    }
    publish(nodes);
    if (undecided.length === 0) return;
    open = undecided;
    await new Promise((resolve) => setTimeout(resolve, wait).unref());
  }
}
