import type { Hex } from "viem";
import type { PlannedTransaction } from "../chain/block.ts";
import type { Contracts, SecondLayer } from "../life/actions.ts";
import { type DevNode, startNode } from "../node.ts";
import { type ChainName, chainIds, recordingFolder, v2Folder } from "../recorded-chains.ts";
import { readAddresses, readRecording } from "../recording.ts";
import { type DemoChain, ownCalls, rootCalls } from "./calls.ts";
import { rootShowcase, secondShowcase } from "./showcase.ts";

// Ponder considers the last 30 blocks of these chains not final: with 31 new blocks all recorded ones are final.
const recentBlocks = 31;
const secondsPerBlock = 2;
// Ponder takes a tenth of a second for each new block in which something happens, and none for the others.
const busyBlocks = 6;

/** The chains of the demo, the root chain first; `begin` is what happens in the first block that they mine. */
export type DemoChains = { node: DevNode; begin: (now: number) => PlannedTransaction[] }[];

/** What the demo shows: all recorded chains but one, the ENS subgraph of the root chain, or the chain with ENSv2. */
export type DemoWorld = "everything" | "subgraph" | "ensv2";

/** Serves the chains of what the demo shows. */
export const openChains: Readonly<Record<DemoWorld, () => Promise<DemoChains>>> = {
  everything: openThreeChains,
  subgraph: openRootChain,
  ensv2: openSecondGeneration,
};

// The recorded root chain alone, which is all that the ENS subgraph knows.
async function openRootChain(): Promise<DemoChains> {
  const { recording, addresses } = readChain("root");
  const node = await startNode({ recording, contracts: addresses, seed: randomSeed() });
  return [{ node, begin: () => [] }];
}

// The recorded chain with the contracts of both generations. Its new blocks are empty.
async function openSecondGeneration(): Promise<DemoChains> {
  const node = await startNode({ recording: readRecording(v2Folder) });
  return [{ node, begin: () => [] }];
}

// The three recorded chains, with contracts that answer calls and names that lead from one to the other.
async function openThreeChains(): Promise<DemoChains> {
  const [base, linea] = [await openSecondChain("base"), await openSecondChain("linea")];
  const chain = readChain("root");
  const { recording, addresses } = chain;
  const node = await startNode({
    recording,
    contracts: addresses,
    seed: randomSeed(),
    calls: (own) => rootCalls(chain, own, { base, linea }),
  });
  const begin = (now: number) => rootShowcase(addresses as Contracts, now);
  return [
    { node, begin },
    { node: base.node, begin: (now) => secondShowcase(base.layer, now) },
    { node: linea.node, begin: (now) => secondShowcase(linea.layer, now) },
  ];
}

/** Mines the blocks of the last minute on each chain, then one every two seconds. */
export function goLive(chains: DemoChains): void {
  for (const { node, begin } of chains) {
    const timestamp = Math.floor(Date.now() / 1000) - recentBlocks * secondsPerBlock;
    node.mineBlock({ timestamp, transactions: begin(timestamp) });
    node.mineUpToNow({ count: recentBlocks, seconds: secondsPerBlock, busy: busyBlocks });
    node.startMining(secondsPerBlock);
  }
}

async function openSecondChain(name: "base" | "linea") {
  const { recording, addresses } = readChain(name);
  const layer = layerOf(name, addresses);
  const node = await startNode({
    recording,
    contracts: layer,
    seed: randomSeed(),
    calls: (chain) => ownCalls({ recording, addresses }, chain),
  });
  const contracts = ownCalls({ recording, addresses }, node.chain);
  return { node, chain: node.chain, layer, addresses, contracts };
}

function readChain(name: ChainName): DemoChain {
  const folder = recordingFolder(name);
  return { recording: readRecording(folder), addresses: readAddresses(folder) };
}

function layerOf(name: "base" | "linea", addresses: Readonly<Record<string, Hex>>): SecondLayer {
  const place = (contract: string) => {
    const address = addresses[contract];
    if (address === undefined) throw new Error(`The recording of ${name} lacks ${contract}.`);
    return address;
  };
  const isBase = name === "base";
  return {
    parent: isBase ? "base.eth" : "linea.eth",
    chainId: Number(chainIds[name]),
    registry: place("Registry"),
    registrar: place("BaseRegistrar"),
    controller: place(isBase ? "UpgradeableRegistrarController" : "EthRegistrarController"),
    resolver: place(isBase ? "L2Resolver2" : "DefaultPublicResolver"),
    reverseRegistrar: place("L2ReverseRegistrar"),
  };
}

const randomSeed = () => Math.floor(Math.random() * 2 ** 31);
