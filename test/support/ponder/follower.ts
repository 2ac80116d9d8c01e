import type { Answer, RecordedCall } from "../../../devnet/recording.ts";
import type { BlockRange } from "../../../src/rpc/nodes.ts";

/** A client of one URL, as Ponder uses it. */
export type Backend = { request(body: { method: string; params: unknown[] }): Promise<unknown> };

/**
 * The logs and the times of blocks that a follower of a chain would index; `ended`: the refusal at which it gave up.
 */
export type Followed = { rows: Map<string, number>; ended?: string };

// ponder: how often a request is sent and a range begun.
const tries = 10;
const chunk = 20;
const hex = (number: number) => `0x${number.toString(16)}`;

/**
 * Requests a chain as Ponder does, without its waits: up to `finalized` ranges of logs of some contracts and of any
 * contract, then the blocks that have some; from there on each newest block and its logs. A row is a log with the time
 * of its block, and its block.
 */
export async function follow(
  backends: readonly Backend[],
  { finalized, last, contracts, events, calls, moveHead }: FollowedChain,
): Promise<Followed> {
  const rows = new Map<string, number>();
  const ask = createAsk(backends);
  const keep = (block: Answer, logs: readonly Answer[]) => {
    for (const log of logs) rows.set(rowOf(block, log), Number(block["number"]));
  };
  try {
    await ask("eth_getBlockByNumber", "latest", false);
    await ask("eth_getBlockByNumber", hex(finalized), false);
    for (let from = 0; from <= finalized; from += chunk) {
      const to = Math.min(from + chunk - 1, finalized);
      const range = { fromBlock: hex(from), toBlock: hex(to) };
      await repeated(async () => {
        const answers = await Promise.all([
          ask("eth_getLogs", { ...range, address: contracts }),
          ask("eth_getLogs", { ...range, topics: [events] }),
        ]);
        const logs = Map.groupBy(answers.flat() as Answer[], (log) => Number(log["blockNumber"]));
        const blocks = await Promise.all(
          [...logs.keys()].map((number) => ask("eth_getBlockByNumber", hex(number), true)),
        );
        for (const block of blocks as Answer[]) keep(block, sound(block, logs.get(Number(block["number"]))));
      });
    }
    for (const { to, data, block } of calls) {
      const result = await ask("eth_call", { to, data }, block).catch(String);
      rows.set([to, data, block, result].join(), Number(block));
    }
    for (let head = finalized + 1; head <= last; head++) {
      moveHead(head);
      await repeated(async () => {
        const block = (await ask("eth_getBlockByNumber", "latest", true)) as Answer;
        if (Number(block["number"]) !== head) throw new Error("It is behind.");
        const logs = (await ask("eth_getLogs", { blockHash: block["hash"] })) as Answer[];
        keep(
          block,
          sound(block, logs).filter((log) => isWanted(log, { contracts, events })),
        );
      });
    }
    return { rows };
  } catch (error) {
    return { rows, ended: String(error) };
  }
}

/** What a follower reads of a chain, and how its head moves on after the backfill. */
export type FollowedChain = {
  finalized: number;
  last: number;
  contracts: readonly string[];
  events: readonly string[];
  /** Calls that rules make because of logs of the backfill. */
  calls: readonly RecordedCall[];
  moveHead: (block: number) => void;
};

/** Blocks of the rows that only one of two has. */
export function differingRows(one: Followed, other: Followed): number[] {
  const only = (a: Followed, b: Followed) =>
    [...a.rows].flatMap(([row, block]) => (b.rows.has(row) ? [] : [block]));
  return [...new Set([...only(one, other), ...only(other, one)])];
}

/** Whether a block is in one of the ranges. */
export const isWithin = (block: number, ranges: readonly BlockRange[]): boolean =>
  ranges.some(({ from, to }) => from <= block && block <= to);

// ponder: validateLogsAndBlock of rpc/actions.ts.
function sound(block: Answer, logs: readonly Answer[] = []): readonly Answer[] {
  const transactions = block["transactions"] as Answer[];
  if (logs.length === 0 && /[^0]/.test(String(block["logsBloom"]).slice(2)))
    throw new Error("It lacks logs.");
  for (const log of logs) {
    const sent = transactions.find(({ transactionIndex }) => transactionIndex === log["transactionIndex"]);
    if (log["blockHash"] !== block["hash"]) throw new Error("It has a log of another block.");
    if (sent?.["hash"] !== log["transactionHash"]) throw new Error("It has a log of another transaction.");
  }
  return logs;
}

const isWanted = (log: Answer, { contracts, events }: Pick<FollowedChain, "contracts" | "events">) =>
  contracts.includes(String(log["address"])) || events.includes((log["topics"] as string[])[0] ?? "");

const rowOf = (block: Answer, log: Answer) =>
  [
    block["timestamp"],
    Number(log["logIndex"]),
    log["blockHash"],
    log["transactionHash"],
    log["address"],
    log["topics"],
    log["data"],
  ].join();

function createAsk(backends: readonly Backend[]) {
  let turn = 0;
  return async (method: string, ...params: unknown[]): Promise<unknown> => {
    for (let i = 1; ; i++) {
      const backend = backends[turn++ % backends.length] as Backend;
      try {
        return await backend.request({ method, params });
      } catch (error) {
        // ponder: does not send a request again that fails with this code.
        if (i === tries || (error as { code?: number }).code === -32_700) throw error;
      }
    }
  };
}

async function repeated(work: () => Promise<void>): Promise<void> {
  for (let i = 1; ; i++) {
    try {
      return await work();
    } catch (error) {
      if (i === tries) throw error;
    }
  }
}
