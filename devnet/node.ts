import type { ContractCalls } from "./calls.ts";
import { type Block, buildBlock, type PlannedTransaction, recordedBlocks } from "./chain/block.ts";
import { type Chain, createChain } from "./chain/chain.ts";
import type { Recording } from "./recording.ts";
import { createMethods } from "./rpc/methods.ts";
import { createFaults, serveRpc } from "./rpc/server.ts";

/** A running node: its address, its chain, and the means to change both. */
export type DevNode = Awaited<ReturnType<typeof startNode>>;

/** What a node serves and where. */
export type NodeOptions = {
  recording: Recording;
  /** What happens in a mined block at a time (Unix seconds); by default nothing. */
  life?: ((now: number) => PlannedTransaction[]) | undefined;
  /** TCP port on the loopback interface; 0 (the default) takes a free one. */
  port?: number | undefined;
  /** Empty blocks before the recording, and that many after it; see createChain. */
  standIns?: number | undefined;
  /** What contracts of the chain return for calls that were not recorded. */
  calls?: ((chain: Chain) => ContractCalls) | undefined;
};

type Planned = { timestamp: number; transactions: PlannedTransaction[] };

/** Serves a recording over JSON-RPC and mines blocks on top of it. Rejects when the port is taken. */
export async function startNode({ recording, life = () => [], port = 0, standIns, calls }: NodeOptions) {
  const { chainId } = recording;
  const chain = createChain({ chainId, blocks: recordedBlocks(recording), standIns });
  const faults = createFaults();
  let mined = 0;
  let ticking: NodeJS.Timeout | undefined;

  /**
   * Mines a block on the head, later than that: at the current time, with what the chain's life brings, unless given.
   */
  function mineBlock({ timestamp, transactions }: Partial<Planned> = {}) {
    const parent = chain.block(chain.head());
    if (parent === undefined) throw new Error(`The head ${chain.head()} is not served.`);
    const time = Math.max(timestamp ?? Math.floor(Date.now() / 1000), parent.timestamp + 1);
    mined += 1;
    const planned = transactions ?? life(time);
    const block: Block = buildBlock({
      ...{ parent, chainId, timestamp: time, entropy: String(mined) },
      // The nonce keeps equal transactions of two blocks apart.
      transactions: planned.map((one, index) => ({ nonce: mined * 1_000 + index, ...one })),
    });
    chain.append(block);
    return block;
  }

  const rpc = await serveRpc({
    methods: createMethods(chain, recording, calls?.(chain)),
    faults,
    port,
    control({ head, mine = 0 }) {
      if (head !== undefined) chain.setHead(head);
      for (let block = 0; block < mine; block++) mineBlock();
      return { chainId, head: chain.head(), tip: chain.tip() };
    },
  });
  return {
    chain,
    mineBlock,
    /** Mines a block every `seconds` until the node is closed. */
    startMining(seconds: number) {
      clearInterval(ticking);
      ticking = setInterval(mineBlock, seconds * 1000);
    },
    url: rpc.url,
    port: rpc.port,
    /** How often each method was called since the start. */
    counts: rpc.counts,
    faults,
    async close() {
      clearInterval(ticking);
      await rpc.close();
    },
  };
}
