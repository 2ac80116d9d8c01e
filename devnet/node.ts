import type { Hex } from "viem";
import type { ContractCalls } from "./calls/contracts.ts";
import { recordedBlocks } from "./chain/block.ts";
import { type Chain, createChain } from "./chain/chain.ts";
import { createMiner } from "./chain/miner.ts";
import type { Contracts, SecondLayer } from "./life/actions.ts";
import { createScenario } from "./life/scenario.ts";
import type { Recording } from "./recording.ts";
import { createMethods } from "./rpc/methods.ts";
import { createFaults, serveRpc } from "./rpc/server.ts";

/** A running node: its address, its chain, and the means to change both. */
export type DevNode = Awaited<ReturnType<typeof startNode>>;

/** What a node serves and where. */
export type NodeOptions = {
  recording: Recording;
  /** Contracts of the recording; without them the node mines empty blocks. */
  contracts?: Record<string, Hex> | SecondLayer | undefined;
  /** TCP port on the loopback interface; 0 (the default) takes a free one. */
  port?: number | undefined;
  /** Blocks from `finalized` to the head, 64 unless set. */
  finality?: number | undefined;
  /** Empty blocks before the recording, and that many after it; see createChain. */
  standIns?: number | undefined;
  /** Determines names, owners and records of mined transactions. */
  seed?: number | undefined;
  /** Unix seconds. */
  clock?: (() => number) | undefined;
  /** What contracts of the chain return for calls that were not recorded. */
  calls?: ((chain: Chain) => ContractCalls) | undefined;
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
  calls,
}: NodeOptions) {
  const { chainId } = recording;
  const chain = createChain({ chainId, blocks: recordedBlocks(recording), finality, standIns });
  const faults = createFaults();
  const scenario = contracts && createScenario({ contracts: contracts as Contracts | SecondLayer, seed });
  const miner = createMiner({ chain, plan: (time) => scenario?.next(time) ?? [], seed, clock });
  const rpc = await serveRpc({
    methods: createMethods(chain, recording, calls?.(chain)),
    faults,
    port,
    control({ head, mine = 0 }) {
      if (head !== undefined) chain.setHead(head);
      for (let block = 0; block < mine; block++) miner.mineBlock();
      return { chainId, head: chain.head(), tip: chain.tip() };
    },
  });
  return {
    ...miner,
    chain,
    scenario,
    url: rpc.url,
    port: rpc.port,
    /** How often each method was called since the start. */
    counts: rpc.counts,
    faults,
    async close() {
      miner.stopMining();
      await rpc.close();
    },
  };
}
