import { namespaces } from "../../src/deployments/namespaces.ts";
import { baseHistory, lineaHistory, reverseHistory } from "./layer-two-histories.ts";
import { addressOf, type History, type Transaction } from "./made-up.ts";
import { rootHistory } from "./root-history.ts";
import { type ServedChain, serveChain } from "./served-chain.ts";
import { threednsHistory } from "./threedns-history.ts";

const firstTimestamp = 1_600_000_000;
// Deeper than Ponder's finality on any of these chains, so that all logs are final.
const emptyBlocks = 500;

/** Generated chains of mainnet's namespace, the labels of their names, and the table of their first and last blocks. */
export type MadeUpChains = { chains: ServedChain[]; labels: string[]; datasourcesFile: string };

/**
 * The six chains that the plugins index, with about `count` logs in all. They cover the same time, each at its own pace, so
 * that their events alternate; and they end at the same second, since Ponder orders events up to the end of the first
 * chain only.
 */
export function makeChains(count: number): MadeUpChains {
  const seconds = Math.round(count / 4);
  const share = (part: number) => Math.round(count * part);
  const base = [baseHistory(share(0.22)), threednsHistory("threednsBase", share(0.06))] as const;
  const histories: [id: number, history: History][] = [
    [1, rootHistory(share(0.5))],
    [8453, together(...base)],
    [59144, lineaHistory(share(0.14))],
    [
      10,
      together(threednsHistory("threednsOptimism", share(0.06)), reverseHistory("rrOptimism", share(0.01))),
    ],
    [42161, reverseHistory("rrArbitrum", share(0.005))],
    [534352, reverseHistory("rrScroll", share(0.005))],
  ];
  const chains = histories.map(([id, { transactions, calls }], place) =>
    serveChain(transactions, {
      id,
      calls,
      firstBlock: (place + 1) * 10_000_000,
      emptyBlocks,
      timestampOf: (block, blocks) =>
        firstTimestamp + Math.round((block * seconds) / Math.max(1, blocks - 1)),
    }),
  );
  return {
    chains,
    labels: histories.flatMap(([, { labels }]) => labels),
    datasourcesFile: JSON.stringify({ mainnet: rangesOf(chains) }),
  };
}

/** Two histories of one chain at the same time; the first tenth of the second precedes the start of the first. */
function together(first: History, second: History): History {
  const lead = Math.floor(second.transactions.length / 10);
  const rest = second.transactions.slice(lead);
  const transactions: Transaction[] = second.transactions.slice(0, lead);
  let taken = 0;
  for (const [place, transaction] of first.transactions.entries()) {
    transactions.push(transaction);
    const due = Math.round(((place + 1) / first.transactions.length) * rest.length);
    while (taken < due) transactions.push(rest[taken++] as Transaction);
  }
  return {
    transactions,
    labels: [...first.labels, ...second.labels],
    calls: new Map([...first.calls, ...second.calls]),
  };
}

// Every contract from its chain's first block to its last. Only the registry of Base starts later than its chain, as on
// the real one: earlier resolver events belong to 3DNS names only.
function rangesOf(chains: readonly ServedChain[]) {
  return Object.fromEntries(
    Object.entries(namespaces.mainnet).map(([id, { chainId, contracts }]) => {
      const chain = chains.find((one) => one.id === chainId);
      if (chain === undefined) throw new Error(`There is no chain ${chainId} for ${id}.`);
      const startBlock =
        id === "basenames" ? firstBlockOf(chain, addressOf(id, "Registry")) : chain.firstBlock;
      const range = { startBlock, endBlock: chain.lastBlock };
      const patches = Object.keys(contracts).map((name) => [name, range]);
      return [id, { [chainId]: { contracts: Object.fromEntries(patches) } }];
    }),
  );
}

function firstBlockOf({ firstBlock, logs }: ServedChain, address: string): number {
  return firstBlock + logs.findIndex((block) => block.some((log) => log.address === address));
}
