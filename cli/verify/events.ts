import { concat, type Hex, keccak256, toEventSelector } from "viem";
import { chainName } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { deployedContracts, managedNameOf } from "../../src/deployments/namespaces.ts";
import { multichainNaming, subgraphNaming } from "../../src/indexing/naming.ts";
import { hasTable, type Statement } from "../../src/ponder/sql-client.ts";
import { randomOf } from "../cache.ts";
import type { Asked, Heads } from "./questions.ts";

// Rows that are missing cannot be sampled: the events of the RPC cache say which there have to be.

type Topics = readonly (Hex | null)[];

/** A kind of event of which each leaves a row of history, and a row of what it is about. */
type Kind = {
  chainId: number;
  emitter: Hex;
  startBlock: number;
  event: string;
  history: "domain_event" | "registration_event" | "resolver_event";
  row: "domain" | "registration" | "resolver";
  /** The node, by the topics behind the event's; undefined for events that leave no rows. */
  nodeOf: (topics: Topics) => Hex | undefined;
};

const firstTopic = ([node]: Topics) => node ?? undefined;
const under = (parent: Hex | null | undefined, labelhash: Hex | null | undefined) =>
  parent && labelhash ? keccak256(concat([parent, labelhash])) : undefined;
const roles = ["registry", "baseRegistrar", "nameWrapper", "staticResolver"] as const;

/** The kinds of the contracts that the index follows; not of the old registry, whose later events it ignores. */
function kindsOf({ datasources, plugins, rootChainId, chains }: Config): Kind[] {
  return deployedContracts(datasources, roles).flatMap((deployed): Kind[] => {
    const { group, datasourceId, name, contract, chainId, address } = deployed;
    const isFollowed = !("plugin" in group) || plugins.some((plugin) => plugin === group.plugin);
    if (address === undefined || !isFollowed || !chains.some(({ id }) => id === chainId)) return [];
    const startBlock = datasources[datasourceId]?.contracts[name]?.startBlock ?? 0;
    const source = { chainId, emitter: address, startBlock };
    const { role } = contract;
    if (role === "registry") {
      const kind = { ...source, history: "domain_event", row: "domain" } as const;
      if (contract.generation === "old") return [];
      return [
        {
          ...kind,
          event: "NewOwner(bytes32,bytes32,address)",
          nodeOf: ([parent, label]) => under(parent, label),
        },
        { ...kind, event: "Transfer(bytes32,address)", nodeOf: firstTopic },
      ];
    }
    if (role === "baseRegistrar") {
      const kind = { ...source, history: "registration_event", row: "registration" } as const;
      const { node } = managedNameOf(datasources, datasourceId);
      return [
        {
          ...kind,
          event: "NameRegistered(uint256,address,uint256)",
          nodeOf: ([label]) => under(node, label),
        },
        {
          ...kind,
          event: "Transfer(address,address,uint256)",
          // A first mint comes before the registration.
          nodeOf: ([from, , label]) => (Number(from) === 0 ? undefined : under(node, label)),
        },
      ];
    }
    if (chainId !== rootChainId) return [];
    if (role === "nameWrapper") {
      const event = "NameWrapped(bytes32,bytes,address,uint32,uint64)";
      return [{ ...source, event, history: "domain_event", row: "domain", nodeOf: firstTopic }];
    }
    const event = "AddrChanged(bytes32,address)";
    return [{ ...source, event, history: "resolver_event", row: "resolver", nodeOf: firstTopic }];
  });
}

type Tools = { config: Config; heads: Heads; asked: Asked };

/**
 * How many events of the RPC cache behind random blocks were looked up, and for each that lacks a row what is missing, for people. None of an index of a
 * part of the chain, and none with `--block`.
 */
export async function missingRows(run: Statement, { config, heads, asked }: Tools) {
  const found = { looked: 0, missing: [] as string[] };
  const isWhole = config.blockRange.startBlock === undefined && asked.block === undefined;
  if (!isWhole || asked.samples === 0 || !(await hasTable(run, "ponder_sync.logs"))) return found;
  const random = randomOf(asked.seed);
  const kinds = Map.groupBy(kindsOf(config), ({ chainId }) => chainId);
  for (const [chainId, ofChain] of kinds) {
    const head = heads.get(chainId)?.number ?? -1;
    const first = Math.min(...ofChain.map(({ startBlock }) => startBlock));
    const points = Array.from({ length: asked.samples }, () =>
      Math.floor(first + random() * Math.max(0, head + 1 - first)),
    );
    const logs = await logsBehind(run, chainId, points, head);
    for (const kind of ofChain) {
      const events = eventsIn(logs, kind);
      found.looked += events.length;
      found.missing.push(...(await lackingOf(run, kind, { events, config })));
    }
  }
  return found;
}

type CachedLog = { block: number; index: number; address: string; topics: Topics };

const logsBehindPoint = 50;

// The next logs behind each block, of all contracts: those of one may be far away.
async function logsBehind(run: Statement, chainId: number, points: readonly number[], head: number) {
  const { rows } = await run(
    `SELECT DISTINCT picked.* FROM unnest($1::bigint[]) point CROSS JOIN LATERAL
      (SELECT block_number::text AS block, log_index AS index, address, topic0, topic1, topic2, topic3 FROM ponder_sync.logs
        WHERE chain_id = $2 AND block_number BETWEEN point AND $3 ORDER BY block_number, log_index LIMIT ${logsBehindPoint}) picked`,
    [points, chainId, head],
  );
  return rows.map(({ block, index, address, topic0, topic1, topic2, topic3 }): CachedLog => {
    const topics = [topic0, topic1, topic2, topic3] as Topics;
    return { block: Number(block), index: Number(index), address: String(address), topics };
  });
}

type Found = { block: number; index: number; node: Hex };

function eventsIn(logs: readonly CachedLog[], { emitter, event, nodeOf }: Kind): Found[] {
  const selector = toEventSelector(`event ${event}`);
  return logs.flatMap(({ block, index, address, topics: [topic, ...topics] }) => {
    const node = address === emitter && topic === selector ? nodeOf(topics) : undefined;
    return node === undefined ? [] : [{ block, index, node }];
  });
}

async function lackingOf(
  run: Statement,
  { chainId, emitter, event, history, row }: Kind,
  { events, config }: { events: readonly Found[]; config: Config },
): Promise<string[]> {
  const naming = config.isSubgraphCompatible ? subgraphNaming : multichainNaming;
  const idOf = ({ block, index }: Found) => naming.eventId(chainId, block, index);
  const idsIn = async (statement: string, values: unknown[]) =>
    new Set((await run(statement, values)).rows.map(({ id }) => id));
  const stored = await idsIn(`SELECT id FROM ${history} WHERE id = ANY($1::text[])`, [events.map(idOf)]);
  const column = row === "domain" ? "id" : "domain_id";
  const more = row === "resolver" ? " AND address = $2" : "";
  const nodes = events.map(({ node }) => node);
  const known = await idsIn(`SELECT ${column} AS id FROM ${row} WHERE ${column} = ANY($1::text[])${more}`, [
    nodes,
    ...(row === "resolver" ? [emitter] : []),
  ]);
  const name = event.split("(")[0];
  return events.flatMap((one) =>
    [...(stored.has(idOf(one)) ? [] : [history]), ...(known.has(one.node) ? [] : [row])].map(
      (table) =>
        `${table}: no row of ${name} in block ${one.block}, log ${one.index} of ${emitter} on ${chainName(chainId)} (node ${one.node})`,
    ),
  );
}
