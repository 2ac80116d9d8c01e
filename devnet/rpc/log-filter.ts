import type { Block, BlockLog } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import { invalidParams, RpcError } from "./rpc-error.ts";

/** Logs that an `eth_getLogs` filter selects, in chain order (Ethereum JSON-RPC). */
export function filterLogs(chain: Chain, filter: unknown): BlockLog[] {
  if (typeof filter !== "object" || filter === null) throw invalidParams("the filter must be an object");
  const { blockHash, fromBlock, toBlock, address, topics } = filter as Record<string, unknown>;
  const blocks = blockHash === undefined ? range(chain, fromBlock, toBlock) : [blockOf(chain, blockHash)];
  const addresses = wantedSet("address", address);
  const wanted = topicSets(topics);
  return blocks.flatMap(({ logs }) => logs.filter((log) => matches(log, addresses, wanted)));
}

function matches(log: BlockLog, addresses: Set<string> | undefined, wanted: (Set<string> | undefined)[]) {
  if (addresses !== undefined && !addresses.has(log.address)) return false;
  return wanted.every((set, position) => {
    const topic = log.topics[position];
    // A filter with more positions than a log has topics does not match it, even where the position is null.
    return topic !== undefined && (set === undefined || set.has(topic));
  });
}

function range(chain: Chain, fromBlock: unknown, toBlock: unknown): Block[] {
  const from = chain.numberOf(fromBlock);
  const to = chain.numberOf(toBlock);
  if (from === undefined || to === undefined)
    throw invalidParams("fromBlock and toBlock must be tags or hex");
  if (from > to) throw invalidParams("fromBlock is after toBlock");
  return chain.range(from, to);
}

function blockOf(chain: Chain, hash: unknown): Block {
  const block = typeof hash === "string" ? chain.blockWithHash(hash) : undefined;
  if (block === undefined) throw new RpcError({ code: -32000, message: "unknown block" });
  return block;
}

function topicSets(topics: unknown): (Set<string> | undefined)[] {
  if (topics === undefined || topics === null) return [];
  if (!Array.isArray(topics) || topics.length > 4) throw invalidParams("topics must be a list of at most 4");
  return topics.map((topic) => wantedSet("topics", topic));
}

/** Lower-cased values that a position may have; undefined if any matches. An empty list means any, as in geth. */
function wantedSet(field: string, value: unknown): Set<string> | undefined {
  if (value === undefined || value === null) return undefined;
  const values: unknown[] = Array.isArray(value) ? value : [value];
  if (values.length === 0) return undefined;
  return new Set(
    values.map((item) => {
      if (typeof item !== "string") throw invalidParams(`${field} must be hex strings`);
      return item.toLowerCase();
    }),
  );
}
