import { concat, type Hex, keccak256, toEventSelector, zeroHash } from "viem";
import { chainName } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import type { Role } from "../../src/deployments/deployment.ts";
import { deployedContracts, managedNameOf } from "../../src/deployments/namespaces.ts";
import { multichainNaming, subgraphNaming } from "../../src/indexing/naming.ts";
import { hasTable, type Statement } from "../../src/ponder/sql-client.ts";
import { randomOf } from "../samples.ts";
import type { Asked, Heads } from "./questions.ts";

// Rows that are missing cannot be sampled: the events of the RPC cache say which there have to be.

type Topics = readonly (Hex | null)[];

const under = (parent: Hex | null | undefined, labelhash: Hex | null | undefined) =>
  parent && labelhash ? keccak256(concat([parent, labelhash])) : undefined;
const firstTopic = ([node]: Topics) => node ?? undefined;

/**
 * Events of which each leaves a row of what it is about, and one of its history; and the node, by the topics behind the event's and the
 * name whose subnames the contract issues. Undefined for events that leave no rows.
 */
type EventKind = {
  event: string;
  row: "domain" | "registration" | "resolver";
  nodeOf: (topics: Topics, managed: Hex) => Hex | undefined;
};

const newOwner = "NewOwner(bytes32,bytes32,address)";
const registered = "NameRegistered(uint256,address,uint256)";
const kinds = {
  registry: [
    { event: newOwner, row: "domain", nodeOf: ([parent, label]) => under(parent, label) },
    { event: "Transfer(bytes32,address)", row: "domain", nodeOf: firstTopic },
  ],
  baseRegistrar: [
    { event: registered, row: "registration", nodeOf: ([label], managed) => under(managed, label) },
    {
      ...{ event: "Transfer(address,address,uint256)", row: "registration" },
      // A first mint comes before the registration.
      nodeOf: ([from, , label], managed) => (Number(from) === 0 ? undefined : under(managed, label)),
    },
  ],
  nameWrapper: [
    { event: "NameWrapped(bytes32,bytes,address,uint32,uint64)", row: "domain", nodeOf: firstTopic },
  ],
  staticResolver: [{ event: "AddrChanged(bytes32,address)", row: "resolver", nodeOf: firstTopic }],
} as const satisfies { [R in Role]?: readonly EventKind[] };
const roles = Object.keys(kinds) as (keyof typeof kinds)[];

/** Events of one kind of a contract. */
type Kind = EventKind & { chainId: number; emitter: Hex; startBlock: number; managed: Hex };

/** The kinds of the contracts that the index follows; not of the old registry, whose later events it ignores. */
function kindsOf({ datasources, plugins, rootChainId, chains }: Config): Kind[] {
  return deployedContracts(datasources, roles).flatMap((deployed): Kind[] => {
    const { group, datasourceId, name, contract, chainId, address: emitter } = deployed;
    const isFollowed = !("plugin" in group) || plugins.some((plugin) => plugin === group.plugin);
    const { role } = contract;
    const isRead =
      role === "registry"
        ? contract.generation !== "old"
        : role === "baseRegistrar" || chainId === rootChainId;
    if (!emitter || !isFollowed || !isRead || !chains.some(({ id }) => id === chainId)) return [];
    const startBlock = datasources[datasourceId]?.contracts[name]?.startBlock ?? 0;
    const managed = role === "baseRegistrar" ? managedNameOf(datasources, datasourceId).node : zeroHash;
    return kinds[role].map((kind) => ({ ...kind, chainId, emitter, startBlock, managed }));
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

function eventsIn(logs: readonly CachedLog[], { emitter, event, nodeOf, managed }: Kind): Found[] {
  const selector = toEventSelector(`event ${event}`);
  return logs.flatMap(({ block, index, address, topics: [topic, ...topics] }) => {
    const node = address === emitter && topic === selector ? nodeOf(topics, managed) : undefined;
    return node === undefined ? [] : [{ block, index, node }];
  });
}

async function lackingOf(
  run: Statement,
  { chainId, emitter, event, row }: Kind,
  { events, config }: { events: readonly Found[]; config: Config },
): Promise<string[]> {
  const naming = config.isSubgraphCompatible ? subgraphNaming : multichainNaming;
  const idOf = ({ block, index }: Found) => naming.eventId(chainId, block, index);
  const idsIn = async (table: string, column: string, ids: readonly string[]) => {
    const ofResolver = table === "resolver" ? ` AND address = '${emitter}'` : "";
    const statement = `SELECT ${column} AS id FROM ${table} WHERE ${column} = ANY($1::text[])${ofResolver}`;
    return new Set((await run(statement, [ids])).rows.map(({ id }) => id));
  };
  const history = `${row}_event`;
  const stored = await idsIn(history, "id", events.map(idOf));
  const column = row === "domain" ? "id" : "domain_id";
  const nodes = events.map(({ node }) => node);
  const known = await idsIn(row, column, nodes);
  const name = event.split("(")[0];
  return events.flatMap((one) =>
    [...(stored.has(idOf(one)) ? [] : [history]), ...(known.has(one.node) ? [] : [row])].map(
      (table) =>
        `${table}: no row of ${name} in block ${one.block}, log ${one.index} of ${emitter} on ${chainName(chainId)} (node ${one.node})`,
    ),
  );
}
