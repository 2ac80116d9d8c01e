import { differingLogs, type LogsQuery, matches, type RpcLog } from "../rpc/log-answers.ts";
import type { BlockRange, RpcRequest } from "../rpc/nodes.ts";
import { askLogs, distinctLogs } from "./record.ts";
import { type ArchivedBlock, keptHeader } from "./segment.ts";

// How stored blocks differ from those of a node, in sentences; `store` is where they are.

/** Asks a node. Rejects if it does not answer. */
export type Ask = (body: RpcRequest) => Promise<unknown>;

type Store = "archive" | "cache";
type NodeBlock = Record<string, unknown> & { transactions?: Record<string, unknown>[] };

// Not every node returns them.
const otherFields = ["size", "totalDifficulty"];

/** What differs between a block and the node's, of its header and its transactions. */
export async function blockDifferences(
  ask: Ask,
  store: Store,
  { header, transactions }: ArchivedBlock,
): Promise<string[]> {
  const body = { method: "eth_getBlockByNumber", params: [header.number, true] };
  const theirs = ((await ask(body)) ?? {}) as NodeBlock;
  const name = `Block ${Number(header.number)}`;
  if (theirs["hash"] !== header.hash)
    return [`${name} is ${header.hash} in the ${store}, ${theirs["hash"] ?? "not there"} at the node.`];
  const other = keptHeader(theirs);
  const problems = Object.entries(header)
    .filter(([field, value]) => !otherFields.includes(field) && !isSame(value, other[field] ?? value))
    .map(([field]) => `${name} has another ${field} in the ${store} than at the node.`);
  const sent = new Map(theirs.transactions?.map((one) => [Number(one["transactionIndex"]), one]));
  for (const { transactionIndex, hash, from, to } of transactions) {
    const index = Number(transactionIndex);
    const one = sent.get(index);
    if (!isSame(hash, one?.["hash"]) || !isSame(from, one?.["from"]) || !isSame(to, one?.["to"] ?? null))
      problems.push(
        `Transaction ${index} of ${name.toLowerCase()} is not the same in the ${store} and at the node.`,
      );
  }
  return problems;
}

const isSame = (one: unknown, other: unknown) => String(one).toLowerCase() === String(other).toLowerCase();

/** The node's logs that any of the queries asks for: one request for all contracts that are named, and one for events of any. */
export async function nodeLogs(
  ask: Ask,
  range: BlockRange,
  queries: readonly LogsQuery[],
): Promise<RpcLog[]> {
  const logsOf = (some: readonly LogsQuery[], addresses: readonly string[] | null) => {
    const topics = some.map(({ topics: [events] }) => events);
    const events = topics.includes(undefined) ? null : topics.flatMap((of) => [...(of ?? [])]);
    return some.length === 0 ? [] : askLogs(ask, range, addresses, events && [...new Set(events)]);
  };
  const known = queries.filter(({ addresses }) => addresses !== undefined);
  const addresses = new Set(known.flatMap((query) => [...(query.addresses ?? [])]));
  const any = queries.filter((query) => query.addresses === undefined);
  const found = [...(await logsOf(known, [...addresses])), ...(await logsOf(any, null))];
  return distinctLogs(found.filter((log) => queries.some((query) => matches(log, query))));
}

/** Logs that only the store has, or the node. */
export function logDifferences(store: Store, own: readonly RpcLog[], theirs: readonly RpcLog[]): string[] {
  return differingLogs(own, theirs).map((log) => {
    const { logIndex, blockNumber, address, topics } = log;
    const name = `Log ${Number(logIndex)} of block ${Number(blockNumber)}, of ${address} (${topics[0] ?? "no event"}),`;
    return `${name} is ${own.includes(log) ? "too many" : "missing"} in the ${store}.`;
  });
}
