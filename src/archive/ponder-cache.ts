import { hasTable, type Statement } from "../ponder/sql-client.ts";
import { headerQuantities } from "../rpc/block-proofs.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, toHex } from "../rpc/nodes.ts";
import { ArchiveError, type ArchiveFilter, factoryKey, type Manifest } from "./manifest.ts";
import { archivedBlock } from "./record.ts";
import { type ArchivedBlock, keptFields } from "./segment.ts";

// Ponder's cache of a chain, in the words of archives.

/** What the cache has all logs of, in blocks without a gap. */
export type CachedPart = BlockRange & { filter: ArchiveFilter };

/** What a chain's cache has all logs of; contracts that factories deployed go into `children`. */
export async function cachedParts(
  run: Statement,
  { chainId, children }: Pick<Manifest, "chainId" | "children">,
): Promise<CachedPart[]> {
  const byRanges = new Map<string, { filter: ArchiveFilter; ranges: BlockRange[] }>();
  for (const { addresses, topics, ranges } of await cachedFilters(run, chainId)) {
    const [event = null, ...otherTopics] = topics;
    // No filter of this project names a second topic.
    if (otherTopics.some((topic) => topic !== null)) continue;
    if (addresses !== null && !Array.isArray(addresses))
      children[factoryKey(addresses)] = await cachedChildren(run, chainId, addresses.event);
    const key = JSON.stringify([addresses, ranges]);
    const known = byRanges.get(key);
    if (known === undefined)
      byRanges.set(key, { filter: { addresses, topics: event === null ? null : [event] }, ranges });
    else if (event === null) known.filter.topics = null;
    else known.filter.topics?.push(event);
  }
  return [...byRanges.values()].flatMap(({ filter, ranges }) =>
    ranges.map((range) => ({ ...range, filter })),
  );
}

// ponder: a filter is stored as "log_<chain>_<address>_<four topics>_<receipts>", its blocks a to b as [a, b + 1].
async function cachedFilters(run: Statement, chainId: number) {
  if (!(await hasTable(run, "ponder_sync.intervals"))) return [];
  const { rows } = await run(
    "SELECT fragment_id AS id, blocks::text FROM ponder_sync.intervals WHERE chain_id = $1 AND starts_with(fragment_id, 'log_')",
    [chainId],
  );
  return rows.map(({ id, blocks }) => {
    const parts = String(id).split("_");
    const [address = "null", event] = parts.slice(2, -5);
    const addresses = address === "null" ? null : [address];
    const intervals = JSON.parse(`[${String(blocks).slice(1, -1)}]`) as [number, number][];
    return {
      addresses: event === undefined ? addresses : { factory: address, event },
      topics: parts.slice(-5, -1).map((topic) => (topic === "null" ? null : topic)),
      ranges: intervals.map(([from, end]): BlockRange => ({ from, to: end - 1 })),
    };
  });
}

async function cachedChildren(run: Statement, chainId: number, event: string): Promise<string[]> {
  const { rows } = await run(
    `SELECT DISTINCT lower(address) AS address FROM ponder_sync.factory_addresses child
    JOIN ponder_sync.factories ON factories.id = child.factory_id
    WHERE child.chain_id = $1 AND factory ->> 'eventSelector' = $2 ORDER BY 1`,
    [chainId, event],
  );
  return rows.map(({ address }) => String(address));
}

/** The first cached logs of a range, in order, as a node returns them. */
export async function cachedLogs(
  run: Statement,
  chainId: number,
  { from, to }: BlockRange,
  most = Number.MAX_SAFE_INTEGER,
): Promise<RpcLog[]> {
  const { rows } = await run(
    `SELECT block_number::text AS block, log_index, block_hash, transaction_hash, transaction_index, address, data,
      array_remove(ARRAY[topic0, topic1, topic2, topic3], NULL) AS topics
    FROM ponder_sync.logs WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3 ORDER BY block_number, log_index LIMIT $4`,
    [chainId, from, to, most],
  );
  return rows.map((row) => ({
    blockNumber: toHex(Number(row["block"])),
    logIndex: toHex(Number(row["log_index"])),
    blockHash: String(row["block_hash"]),
    transactionHash: String(row["transaction_hash"]),
    transactionIndex: toHex(Number(row["transaction_index"])),
    address: String(row["address"]),
    data: String(row["data"]),
    topics: row["topics"] as string[],
  }));
}

/** The cached blocks of these logs, in order, with the logs and their transactions. Throws an ArchiveError if they do not fit. */
export async function cachedBlocks(
  run: Statement,
  chainId: number,
  all: readonly RpcLog[],
): Promise<ArchivedBlock[]> {
  const logs = Map.groupBy(all, ({ blockNumber }) => Number(blockNumber));
  const numbers = [...logs.keys()];
  const of = async (table: string, column: string) => {
    const found = await run(
      `SELECT * FROM ponder_sync.${table} WHERE chain_id = $1 AND ${column} BETWEEN $2 AND $3`,
      [chainId, numbers[0] ?? 0, numbers.at(-1) ?? 0],
    );
    return Map.groupBy(found.rows, (row) => Number(row[column]));
  };
  const [headers, transactions] = [await of("blocks", "number"), await of("transactions", "block_number")];
  return [...logs].map(([number, own]) => {
    const header = headers.get(number)?.[0];
    if (header === undefined)
      throw new ArchiveError(`The cache has logs of block ${number}, but not the block.`);
    const kept = (transactions.get(number) ?? []).map(transactionOf);
    return archivedBlock({ ...headerOf(header), transactions: kept }, own);
  });
}

type Row = Record<string, unknown>;

const quantities = new Set([...headerQuantities, "size", "totalDifficulty"]);

/** A header by a row of Ponder's cache, whose columns are the fields of a header in snake case, quantities as numbers. */
function headerOf(row: Row): ArchivedBlock["header"] {
  const kept = keptFields.flatMap((field) => {
    const value = row[field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
    if (value === null || value === undefined) return [];
    return [[field, quantities.has(field) ? `0x${BigInt(String(value)).toString(16)}` : String(value)]];
  });
  return Object.fromEntries(kept) as ArchivedBlock["header"];
}

const transactionOf = (row: Row) => ({
  transactionIndex: toHex(Number(row["transaction_index"])),
  hash: String(row["hash"]),
  from: String(row["from"]),
  ...(row["to"] === null ? {} : { to: String(row["to"]) }),
});
