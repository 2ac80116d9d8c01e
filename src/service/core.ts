import { db, publicClients } from "ponder:api";
import type { Hex } from "viem";
import { getBlock } from "viem/actions";
import { openApiKeys } from "../api/kit/api-keys.ts";
import { readConfig } from "../config/environment.ts";
import { contractSources } from "../config/sources.ts";
import { addGauge } from "../ponder/gauge.ts";
import {
  mapOwnStacksOnly,
  metricsRegistry,
  ponderProcess,
  processLog,
  shareMetricsText,
} from "../ponder/process.ts";
import { findSqlClient } from "../ponder/sql-client.ts";
import type { HashOf } from "../read/as-of.ts";
import { createChainBlocks, type ReadBlock } from "../read/chain-blocks.ts";
import { createChainClients } from "../read/resolution/chain-clients.ts";
import { createDatabase } from "../read/sql/client.ts";
import { openReadServers } from "../status/read-servers.ts";
import { statusChains } from "../status/snapshot.ts";
import { readVersions } from "../status/versions.ts";

// What every job and endpoint of a process uses: the configuration, Ponder, the log, the database, blocks of the
// chains.

/** The parts of a process that need nothing of each other's state. */
export type Core = ReturnType<typeof openCore>;

/** Opens them. Throws ConfigurationError. */
export function openCore() {
  const config = readConfig();
  const ponder = ponderProcess(globalThis);
  const log = processLog();
  mapOwnStacksOnly();
  const registry = metricsRegistry();
  if (registry !== undefined) shareMetricsText(registry, Date.now);
  const keys = config.apiKeys && openApiKeys({ ...config.apiKeys, log, registry });
  if (keys !== undefined) ponder.onStop(keys.stop);

  const ownClient = findSqlClient(db);
  const { readUrls: urls, readLagSeconds: lagSeconds } = config;
  let onFailure = () => undefined as unknown;
  const servers =
    !ponder.isIndexer && "connect" in ownClient && urls.length > 0
      ? openReadServers(ownClient, { urls, lagSeconds, log, onFailure: () => void onFailure() })
      : undefined;
  const sqlClient = servers?.pool ?? ownClient;
  const sharedSchema = config.sharesSessions ? ponder.schema : undefined;
  const database = createDatabase(sqlClient, config.subgraphLimits, sharedSchema);
  const waiting = { name: "nsindex_statements_waiting", help: "Statements that wait in the queue" };
  addGauge(registry, waiting, (gauge) => gauge.set(database.waiting()));

  const readBlock = createReadBlock(config.chains, (chainId) => ponder.ofChain(publicClients, chainId));
  const blocks = createChainBlocks(readBlock, { log });
  const hashOf: HashOf = (chainId, block) => blocks.peekHashes(chainId, block)?.hash;
  return {
    ...{ config, ponder, log, registry, keys, sqlClient, database, readBlock, blocks, hashOf },
    clients: publicClients,
    versions: readVersions(),
    /** The range of blocks of each chain. */
    chains: statusChains(config.chains, Object.values(contractSources(config))),
    readSaved: servers?.read,
    /** Calls `refresh` when the server that a reader reads from fails. */
    whenServerFails: (refresh: () => unknown) => {
      onFailure = refresh;
    },
  };
}

type Clients = (chainId: number) => (typeof publicClients)[keyof typeof publicClients] | undefined;

function createReadBlock(chains: Parameters<typeof createChainClients>[0], clientOf: Clients): ReadBlock {
  // A hash that no node knows must not count as a fault of the node that indexing asks.
  const unchecked = createChainClients(chains);
  return async (chainId, by) => {
    const client = "number" in by ? clientOf(chainId) : unchecked(chainId);
    if (client === undefined) return undefined;
    const asked = "number" in by ? { blockNumber: BigInt(by.number) } : { blockHash: by.hash as Hex };
    const block = await getBlock(client, asked).catch((error) => {
      if (error instanceof Error && error.name === "BlockNotFoundError") return undefined;
      throw error;
    });
    if (block === undefined) return undefined;
    const { hash, parentHash } = block;
    return { number: Number(block.number), hash, parentHash, timestamp: Number(block.timestamp) };
  };
}
