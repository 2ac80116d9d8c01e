import { toEventSelector, zeroHash } from "viem";
import { chainName } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import type { Role } from "../../src/deployments/deployment.ts";
import { deployedContracts } from "../../src/deployments/namespaces.ts";
import type { BlockRef } from "../../src/ponder/checkpoints.ts";
import { hasTable, type Statement } from "../../src/ponder/sql-client.ts";
import { createRandom } from "../samples.ts";
import type { Asked } from "./questions.ts";

// Missing rows cannot be sampled: the events of the RPC cache say which rows have to exist.

const registrarTransfer = "Transfer(address,address,uint256)";

/**
 * Events by role of their contract. Each has a row in a history, such as `domain_event`, and its subject has a row,
 * such as in `domain`.
 */
const events = {
  registry: { "NewOwner(bytes32,bytes32,address)": "domain", "Transfer(bytes32,address)": "domain" },
  baseRegistrar: {
    "NameRegistered(uint256,address,uint256)": "registration",
    [registrarTransfer]: "registration",
  },
  nameWrapper: { "NameWrapped(bytes32,bytes,address,uint32,uint64)": "domain" },
  staticResolver: { "AddrChanged(bytes32,address)": "resolver" },
} as const satisfies { [R in Role]?: Record<string, string> };
const roles = Object.keys(events) as (keyof typeof events)[];

type Kind = { chainId: number; emitter: string; startBlock: number; event: string; row: string };

/** Events of the contracts that the index follows, except the old registry, whose later events it ignores. */
function listKinds({ datasources, plugins, rootChainId, chains }: Config): Kind[] {
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
    return Object.entries(events[role]).map(([event, row]) => ({ chainId, emitter, startBlock, event, row }));
  });
}

// The next 50 logs from each point, of all contracts: the next one of a single contract may be far away. A mint has no
// row yet, as it comes before its registration.
const cachedEvents = `WITH picked AS (
  SELECT DISTINCT log.* FROM unnest($1::bigint[]) point CROSS JOIN LATERAL (
    SELECT block_number, log_index, address, topic0, topic1 FROM ponder_sync.logs
    WHERE chain_id = $2 AND block_number BETWEEN point AND $3 ORDER BY block_number, log_index LIMIT 50) log
), event AS (
  SELECT kind.*, block_number AS block, log_index AS index, concat_ws('-', $4::text, block_number, log_index) AS id
  FROM picked JOIN unnest($5::text[], $6::text[], $7::text[], $8::text[]) kind (emitter, topic, name, "row")
    ON address = emitter AND topic0 = topic
  WHERE topic0 <> '${toEventSelector(registrarTransfer)}' OR topic1 <> '${zeroHash}'
)`;

const lookUp = (row: string) =>
  `SELECT event.*, history.id IS NULL AS lacks_history, history.id IS NOT NULL AND subject.id IS NULL AS lacks_row
    FROM event LEFT JOIN ${row}_event history ON history.id = event.id LEFT JOIN ${row} subject ON subject.id = history.${row}_id
    WHERE "row" = '${row}'`;

const statement = `${cachedEvents} ${["domain", "registration", "resolver"].map(lookUp).join(" UNION ALL ")} ORDER BY block, index`;

type Tools = { config: Config; heads: ReadonlyMap<number, BlockRef>; asked: Asked };

/**
 * Looks up events of the RPC cache behind random blocks. Returns their number, and a text for each that lacks a row.
 * Looks up none for an index of a part of the chain.
 */
export async function findMissingRows(run: Statement, { config, heads, asked }: Tools) {
  const found = { looked: 0, missing: [] as string[] };
  const isPart = config.blockRange.startBlock !== undefined;
  if (isPart || asked.samples === 0 || !(await hasTable(run, "ponder_sync.logs"))) return found;
  const random = createRandom(asked.seed);
  for (const [chainId, kinds] of Map.groupBy(listKinds(config), ({ chainId }) => chainId)) {
    const head = heads.get(chainId)?.number ?? -1;
    const first = Math.min(...kinds.map(({ startBlock }) => startBlock));
    const points = Array.from({ length: asked.samples }, () =>
      Math.floor(first + random() * Math.max(0, head + 1 - first)),
    );
    const { rows } = await run(statement, [
      ...[points, chainId, head, config.isSubgraphCompatible ? null : String(chainId)],
      kinds.map(({ emitter }) => emitter),
      kinds.map(({ event }) => toEventSelector(`event ${event}`)),
      kinds.map(({ event }) => event.split("(")[0]),
      kinds.map(({ row }) => row),
    ]);
    found.looked += rows.length;
    for (const { row, name, block, index, emitter, lacks_history, lacks_row } of rows)
      if (lacks_history || lacks_row)
        found.missing.push(
          `${row}${lacks_history ? "_event" : ""}: no row of ${name} in block ${block}, log ${index} of ${emitter} on ${chainName(chainId)}`,
        );
  }
  return found;
}
