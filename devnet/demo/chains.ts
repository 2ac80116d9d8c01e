import { type ChainCalls, ownCalls, rootCalls } from "../calls.ts";
import type { PlannedTransaction } from "../chain/block.ts";
import { createLife, readDeployment } from "../life.ts";
import { type DevNode, startNode } from "../node.ts";
import { type ChainName, recordingFolder, v2Folder } from "../recorded-chains.ts";
import { readAddresses, readRecording } from "../recording.ts";
import { showcase } from "./showcase.ts";
import { longAgo, proveAccounts, showNames } from "./shown-names.ts";

// Ponder considers the last 30 blocks of these chains not final: with 31 new blocks all recorded ones are final.
const recentBlocks = 31;
const secondsPerBlock = 2;
// Ponder takes a tenth of a second for each new block in which something happens, and none for the others.
const busyBlocks = 6;

/**
 * The chains of the demo, the root chain first; `begin` is what happens in their first block of the last minute,
 * `before` a block long before.
 */
export type DemoChains = {
  node: DevNode;
  begin: (now: number) => PlannedTransaction[];
  before?: (now: number) => { timestamp: number; transactions: PlannedTransaction[] };
}[];

/** What the demo shows: all recorded chains but one, the ENS subgraph of the root chain, or the chain with ENSv2. */
export type DemoWorld = "everything" | "subgraph" | "ensv2";

/** Serves the chains of what the demo shows. */
export const openChains: Readonly<Record<DemoWorld, () => Promise<DemoChains>>> = {
  everything: openThreeChains,
  // The recorded root chain alone, which is all that the ENS subgraph knows.
  subgraph: async () => [{ node: await startNode(liveChain("root")), ...(await showOnRoot()) }],
  // The recorded chain with the contracts of both generations. Its new blocks are empty.
  ensv2: async () => [{ node: await startNode({ recording: readRecording(v2Folder) }), begin: () => [] }],
};

async function showOnRoot() {
  const data = await proveAccounts(Math.floor(Date.now() / 1000));
  return {
    begin: (now: number) => showNames(readDeployment("root"), now, data),
    before: (now: number) => longAgo(readDeployment("root"), now),
  };
}

// The three recorded chains, with contracts that answer calls and names that lead from one to the other.
async function openThreeChains(): Promise<DemoChains> {
  const calls = new Map<ChainName, ChainCalls>();
  const nodes = [];
  for (const { name, recording, addresses, ...rest } of (["linea", "base", "root"] as const).map(liveChain)) {
    const node = await startNode({
      ...{ recording, ...rest },
      calls(chain) {
        const own = ownCalls(chain, recording, addresses);
        calls.set(name, own);
        return name === "root" ? rootCalls(own, calls.get("base")!, calls.get("linea")!) : own.calls;
      },
    });
    const begin = (now: number) => showcase(readDeployment(name), now);
    const { begin: shown, before } = await showOnRoot();
    nodes.unshift(
      name === "root"
        ? { node, before, begin: (now: number) => [...begin(now), ...shown(now)] }
        : { node, begin },
    );
  }
  return nodes;
}

/** Mines the blocks of the last minute on each chain, then one every two seconds. */
export function goLive(chains: DemoChains): void {
  for (const { node, begin, before } of chains) {
    const now = Math.floor(Date.now() / 1000);
    if (before) node.mineBlock(before(now));
    for (let left = recentBlocks; left >= 0; left--) {
      const timestamp = now - left * secondsPerBlock;
      const transactions = left === recentBlocks ? begin(timestamp) : [];
      node.mineBlock({ timestamp, ...(left < busyBlocks ? {} : { transactions }) });
    }
    node.startMining(secondsPerBlock);
  }
}

function liveChain(name: ChainName) {
  const folder = recordingFolder(name);
  const life = createLife(readDeployment(name), Math.floor(Math.random() * 2 ** 31));
  return { name, recording: readRecording(folder), addresses: readAddresses(folder), life };
}
