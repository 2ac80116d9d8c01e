import { createConfig } from "ponder";
import { archivedUrls } from "./src/archive/front.ts";
import { archivedResults } from "./src/archive/results.ts";
import { entriesForRate, type IndexedChain } from "./src/config/chains.ts";
import { readConfig } from "./src/config/environment.ts";
import { type ContractSources, contractSources } from "./src/config/sources.ts";
import { rewriteLog } from "./src/ponder/log-entries.ts";
import { PooledConnection } from "./src/ponder/pooled-connection.ts";
import { processLog } from "./src/ponder/process.ts";
import { type StartBlock, shared } from "./src/ponder/shared.ts";
import { createBelieve } from "./src/rpc/believed.ts";
import { checkedUrls } from "./src/rpc/checked-rpc.ts";
import { openAnswerCount } from "./src/rpc/nodes.ts";
import { isDuringOutage } from "./src/rpc/outage.ts";
import { urlsWithStart } from "./src/rpc/start-blocks.ts";

const config = readConfig();
const url = `http://${config.host ?? "localhost"}:${config.port}/`;
rewriteLog({ schema: config.databaseSchema, url, isReported: isDuringOutage });
const log = processLog();
const count = openAnswerCount();
shared().chainPauseMs = config.chainPauseSeconds * 1_000;
const sources = contractSources(config);

const { archive } = config;
const { needsProofs } = config;
const urlsOf = ({ id, name, isLocal, rpc, trustedBlock }: IndexedChain) => {
  const believed = new Set<string>();
  shared().believed.set(name, believed);
  const believe = createBelieve({ chain: name, log, believed });
  const urls = checkedUrls(entriesForRate(rpc.http, config.rpcRequestsPerSecond), {
    chain: name,
    chainId: id,
    isPublic: isLocal !== true,
    crossCheckShare: config.rpcCrossCheckPercent / 100,
    ...{ needsProofs, trustedBlock },
    log,
    count,
    believe,
    reportUnverified: (ranges) => {
      shared().unverified.set(id, ranges);
      return shared().storeUnverified?.();
    },
    random: Math.random,
    now: Date.now,
  });
  if (archive === undefined) return urls;
  const opened = (found: string) => void shared().archives.set(name, found);
  const proofs = { needsProofs, trustedBlock };
  const options = { location: archive, chain: name, chainId: id, ...proofs, log, opened, believe };
  shared().otherResults.set(id, archivedResults(options));
  return archivedUrls(urls, options);
};

// Of the launcher: the blocks that the index knows, by chain id.
const startBlocks: Record<number, StartBlock[]> = JSON.parse(process.env["START_BLOCKS"] ?? "{}");
const withStart = (urls: string[], { id, name }: IndexedChain) =>
  urlsWithStart(urls, {
    ...{ chain: name, chainId: id, blocks: startBlocks[id] ?? [] },
    ...{ silent: shared().silentChains, log, now: Date.now },
  });

const chains = Object.fromEntries(
  config.chains.map(({ rpc, ...chain }) => [
    chain.name,
    {
      id: chain.id,
      rpc: withStart(urlsOf({ ...chain, rpc }), { ...chain, rpc }),
      // ponder: it reads the blooms of heads from a websocket unchecked.
      ...(rpc.ws === undefined || needsProofs ? {} : { ws: rpc.ws }),
      disableCache: !config.keepsRpcCache,
    },
  ]),
);

// The sources depend on the environment, so Ponder's types cannot know their keys.
export default createConfig({
  database: {
    kind: "postgres",
    connectionString: config.databaseUrl,
    // ponder: passes it on to its pools, whose connections are then of this class.
    ...(config.sharesSessions ? { poolConfig: { Client: PooledConnection } as object } : {}),
  },
  ordering: "omnichain",
  chains,
  contracts: sources as never,
}) as unknown as {
  chains: Record<string, { id: number }>;
  contracts: ContractSources;
  accounts: Record<never, never>;
  blocks: Record<never, never>;
};
