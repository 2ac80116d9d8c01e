import type { Hex } from "viem";
import type { Contracts } from "./actions.ts";
import { buildBlock, type PlannedTransaction } from "./block-builder.ts";
import { createChain } from "./chain.ts";
import { createFaults } from "./faults.ts";
import { createMethods } from "./methods.ts";
import { recordedNames } from "./recorded-names.ts";
import type { Recording } from "./recording.ts";
import { createScenario } from "./scenario.ts";
import { serveRecording } from "./served-block.ts";
import { serveRpc } from "./server.ts";

/** A running node: its address, its chain, and the means to move both. */
export type DevNode = Awaited<ReturnType<typeof startNode>>;

/** What a node serves and where. */
export type NodeOptions = {
  recording: Recording;
  /** Contracts of the recording; without them the node mines empty blocks. */
  contracts?: Record<string, Hex> | undefined;
  /** TCP port on the loopback interface; 0 (the default) takes a free one. */
  port?: number | undefined;
  /** Blocks that `finalized` lies behind the head, 64 unless set. */
  finality?: number | undefined;
  /** Empty blocks in front of the recording and that many behind it; see createStandIns. */
  standIns?: number | undefined;
  /** Decides names, owners and records of what is mined. */
  seed?: number | undefined;
  /** Unix seconds. */
  clock?: (() => number) | undefined;
};

/** Serves a recording over JSON-RPC and mines blocks on top of it. Rejects when the port is taken. */
export async function startNode({
  recording,
  contracts,
  port = 0,
  finality,
  standIns,
  seed = 1,
  clock = () => Math.floor(Date.now() / 1000),
}: NodeOptions) {
  const { chainId } = recording;
  const chain = createChain({
    chainId,
    blocks: serveRecording(recording),
    finality,
    standIns,
  });
  const faults = createFaults();
  const scenario =
    contracts === undefined
      ? undefined
      : createScenario({
          contracts: contracts as Contracts,
          seed,
          recorded: recordedNames(recording, contracts as Contracts),
        });
  const plans = new Map<Hex, PlannedTransaction[]>();
  let mined = 0;
  let ticking: NodeJS.Timeout | undefined;
  // Blocks are built one after the other, whoever asks for them.
  let queue: Promise<unknown> = Promise.resolve();

  /** Mines one block now. Without transactions the scenario decides what happens in it. */
  function mineBlock(options: { transactions?: PlannedTransaction[]; timestamp?: number } = {}) {
    const done = queue.then(() => mineNow(options));
    queue = done.catch(() => undefined);
    return done;
  }

  async function mineNow({
    transactions,
    timestamp,
  }: {
    transactions?: PlannedTransaction[];
    timestamp?: number;
  }) {
    const parent = chain.block(chain.head());
    if (parent === undefined) throw new Error(`The head ${chain.head()} is not served.`);
    const time = Math.max(timestamp ?? clock(), parent.timestamp + 1);
    mined += 1;
    const planned = transactions ?? scenario?.next(time) ?? [];
    const block = await buildBlock({
      parent,
      chainId,
      timestamp: time,
      transactions: planned,
      entropy: `${seed}-${mined}`,
    });
    chain.append(block);
    plans.set(block.hash, planned);
    return block;
  }

  const rpc = await serveRpc({
    methods: createMethods(chain, recording),
    faults,
    port,
    control({ head, mine = 0 }) {
      if (head !== undefined) chain.setHead(head);
      for (let block = 0; block < mine; block++) void mineBlock();
      return { chainId: chain.chainId, head: chain.head(), tip: chain.tip() };
    },
  });

  return {
    chain,
    scenario,
    url: rpc.url,
    port: rpc.port,
    counts: rpc.counts,
    faults,
    mineBlock,

    /**
     * Mines `count` blocks whose timestamps end at the present and lie `seconds` apart: what a chain would
     * hold that had been alive so far.
     */
    async mineUpToNow({ count, seconds }: { count: number; seconds: number }) {
      const now = clock();
      for (let left = count - 1; left >= 0; left--) await mineBlock({ timestamp: now - left * seconds });
    },

    /**
     * Goes back `depth` blocks and mines as many others and one more, so that the new branch is the longer.
     * Unless `transactions` says what the new blocks hold, they hold what the dropped ones held, one block later.
     */
    async reorganise({
      depth,
      transactions,
    }: {
      depth: number;
      transactions?: ((position: number) => PlannedTransaction[]) | undefined;
    }) {
      await queue;
      const fork = chain.head() - depth;
      const dropped = chain.range(fork + 1, chain.head()).map(({ hash }) => plans.get(hash) ?? []);
      chain.setHead(fork);
      for (let position = 0; position <= depth; position++) {
        const again = position === 0 ? [] : (dropped[position - 1] ?? []);
        await mineBlock({ transactions: transactions?.(position) ?? again });
      }
    },

    /** Mines a block every `seconds` until the node is closed. */
    startMining(seconds: number) {
      clearInterval(ticking);
      ticking = setInterval(() => void mineBlock(), seconds * 1000);
    },

    stopMining: () => clearInterval(ticking),

    async close() {
      clearInterval(ticking);
      await queue;
      await rpc.close();
    },
  };
}
