import { Gauge } from "prom-client";
import type { IndexedChain } from "../config/chains.ts";
import type { Log } from "../log/json-log.ts";
import {
  type Contradiction,
  type FetchHash,
  finalizedBlock,
  findContradiction,
  keepHash,
  requestHash,
} from "./finalized-blocks.ts";
import { metricsRegistry } from "./process.ts";
import type { Statement } from "./sql-client.ts";

const firstPause = 2_000;
// At most three requests for each chain: fewer than one a minute.
const longestPause = 200_000;
const metric = "names_chain_contradicts_index";

/** Compares the finalized blocks that the index rests on with the nodes while it runs. */
export type ChainWatch = {
  /** The first contradiction that was found and still holds; undefined while chains and index agree. */
  current(): Contradiction | undefined;
  /** The same for clients: since when it is known (Unix seconds), and a sentence. */
  fault(): { since: number; reason: string } | undefined;
  /** Compares each chain once and keeps the hashes of newly finalized blocks; never rejects. */
  look(): Promise<void>;
  /** Looks at once, then at growing intervals up to 200 seconds, until `stop`. */
  start(): void;
  stop(): void;
};

type Options = { chains: readonly IndexedChain[]; run: Statement; schema: string; log: Log };

/** Watches chains; a contradiction is logged once and shown by the metric `names_chain_contradicts_index`. */
export function createChainWatch({ chains, run, schema, log }: Options): ChainWatch {
  // With those of nodes that have not caught up, which are on no other chain as far as is known.
  const found = new Map<number, Contradiction>();
  const kept = new Map<number, number | undefined>();
  const failing = new Set<number>();
  let since: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;
  showMetric(chains, (chainId) => isContradicted(found.get(chainId)));

  async function lookAt(chain: IndexedChain): Promise<void> {
    const fetchHash = (number: number) => firstHash(chain, number);
    const before = found.get(chain.id);
    if (before !== undefined && (await fetchHash(before.block)) === before.theirs) return;
    const now = await findContradiction(run, chain.id, fetchHash);
    if (now === undefined) {
      found.delete(chain.id);
      kept.set(chain.id, await keepFinalized({ run, schema }, chain.id, fetchHash, kept.get(chain.id)));
      return;
    }
    found.set(chain.id, now);
    if (isContradicted(now) && !isContradicted(before)) log("error", messageOf(now), { chain_id: chain.id });
  }

  async function look(): Promise<void> {
    await Promise.all(
      chains.map(async (chain) => {
        try {
          await lookAt(chain);
          failing.delete(chain.id);
        } catch (error) {
          // An outage of nodes or database says nothing about the chain.
          if (!isOpen || failing.has(chain.id)) return;
          failing.add(chain.id);
          const reason = error instanceof Error ? error.message : String(error);
          log("warn", `Could not compare the chain with the index, will try again: ${reason}`, {
            chain_id: chain.id,
          });
        }
      }),
    );
  }

  const loop = async (pause: number) => {
    await look();
    if (isOpen) timer = setTimeout(() => void loop(Math.min(pause * 2, longestPause)), pause).unref();
  };

  const current = () => [...found.values()].find(isContradicted);
  return {
    current,
    fault: () => {
      const contradiction = current();
      since = contradiction && (since ?? Math.floor(Date.now() / 1000));
      return since === undefined || contradiction === undefined
        ? undefined
        : { since, reason: sentenceOf(contradiction) };
    },
    look,
    start: () => void loop(firstPause),
    stop: () => {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}

const isContradicted = (found: Contradiction | undefined) => found?.theirs !== undefined;

/** Keeps the hash of the finalized block unless it is that of `last`; returns the newest block whose hash is kept. */
async function keepFinalized(
  { run, schema }: Pick<Options, "run" | "schema">,
  chainId: number,
  fetchHash: FetchHash,
  last: number | undefined,
): Promise<number | undefined> {
  const finalized = await finalizedBlock(run, schema, chainId);
  if (finalized === undefined || finalized === last) return last;
  // Block 0 identifies a test chain that was recreated before its first event.
  for (const number of last === undefined ? [0, finalized] : [finalized]) {
    const hash = await fetchHash(number);
    if (hash === undefined) return last;
    await keepHash(run, chainId, { number, hash });
  }
  return finalized;
}

async function firstHash({ rpc }: IndexedChain, number: number): Promise<string | undefined> {
  const [first = "", ...others] = rpc.http;
  let answer = requestHash(first, number);
  for (const url of others) answer = answer.catch(() => requestHash(url, number));
  return answer;
}

function sentenceOf({ chainId, block, ours, theirs }: Contradiction): string {
  return `The chain contradicts the index: block ${block} of chain ${chainId} is ${ours} in the index, ${theirs} at the node.`;
}

function messageOf(contradiction: Contradiction): string {
  const { from, chainId } = contradiction;
  return (
    `${sentenceOf(contradiction)} Stop the index, run ` +
    `"npm run cache -- purge --chain ${chainId} --from ${from}" and build a new index. ` +
    'See "When the chain contradicts the index" in docs/operations.md.'
  );
}

function showMetric(chains: readonly IndexedChain[], isShown: (chainId: number) => boolean): void {
  const registry = metricsRegistry();
  if (registry === undefined) return;
  // A hot reload loads the API again over the same registry.
  registry.removeSingleMetric(metric);
  new Gauge({
    name: metric,
    help: "1 if a finalized block of the index is not on the chain of the node",
    labelNames: ["chain_id"],
    registers: [registry],
    collect() {
      for (const { id } of chains) this.set({ chain_id: id }, isShown(id) ? 1 : 0);
    },
  });
}
