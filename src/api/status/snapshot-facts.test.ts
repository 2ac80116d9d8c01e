import { describe, expect, test } from "vitest";
import type { BlockRef, CheckpointRow } from "../../ponder/checkpoints.ts";
import type { SyncMetrics } from "../../ponder/process.ts";
import {
  type ChainFacts,
  chainFacts,
  createFindBlock,
  createSnapshot,
  endOfChain,
  type FactsContext,
  findEndsAhead,
  omnichainSnapshot,
  processedBefore,
  statusChains,
} from "./snapshot.ts";

const chainId = 8453;
const timeOf = (number: number) => 1_700_000_000 + number * 10;
const at = (number: number) => ({ timestamp: timeOf(number), number });

const checkpoint = (number: number, fill: "first" | "log" | "last", chain = chainId) =>
  `${timeOf(number)}${String(chain).padStart(16, "0")}${String(number).padStart(16, "0")}${
    { first: "0".repeat(33), log: `${"0".repeat(15)}75${"0".repeat(15)}9`, last: "9".repeat(33) }[fill]
  }`;

const row = (all: string, rest: Partial<CheckpointRow> = {}): CheckpointRow => ({
  chainId,
  isReady: false,
  latestCheckpoint: all,
  safeCheckpoint: all,
  finalizedCheckpoint: all,
  ...rest,
});

const idle: SyncMetrics = { isRealtime: false, isComplete: false };
const live: SyncMetrics = { ...idle, isRealtime: true };
const context: FactsContext = {
  endsAhead: new Set(),
  findBlock: (_, number) => at(number),
};
const blind: FactsContext = { ...context, findBlock: () => undefined };
const chain = { chainId, startBlock: 100 };

describe("the start of a chain", () => {
  test("is read from its first checkpoint, without a node", () => {
    expect(chainFacts(chain, row(checkpoint(100, "first")), idle, blind)?.startBlock).toEqual({
      timestamp: 1_700_001_000,
      number: 100,
    });
  });

  test("is requested from a node otherwise, and the facts wait for it", () => {
    const facts = chainFacts(chain, row(checkpoint(120, "log")), idle, context);
    expect(facts?.startBlock).toEqual({ timestamp: 1_700_001_000, number: 100 });
    expect(chainFacts(chain, row(checkpoint(120, "log")), idle, blind)).toBeUndefined();
    expect(chainFacts(chain, undefined, undefined, blind)).toBeUndefined();
  });
});

describe("the latest indexed block", () => {
  const indexed = (given: CheckpointRow) => chainFacts(chain, given, idle, context)?.latestIndexedBlock;

  test("is absent before the first event", () => {
    expect(indexed(row(checkpoint(100, "first")))).toBeUndefined();
    expect(chainFacts(chain, undefined, undefined, context)?.latestIndexedBlock).toBeUndefined();
  });

  test("is absent while Ponder is at a finalized block before the start", () => {
    expect(indexed(row(checkpoint(70, "last")))).toBeUndefined();
  });

  test("is the start block once that is processed", () => {
    expect(indexed(row(checkpoint(100, "log")))).toEqual({ timestamp: 1_700_001_000, number: 100 });
    expect(indexed(row(checkpoint(100, "last"), { isReady: true }))?.number).toBe(100);
  });

  test("is the head of the row while following", () => {
    const following = row(checkpoint(250, "last"), {
      isReady: true,
      safeCheckpoint: checkpoint(200, "last"),
    });
    expect(indexed(following)).toEqual({ timestamp: 1_700_002_500, number: 250 });
  });

  test("is the safe block after a restart, to which the tables were taken back", () => {
    const left = row(checkpoint(250, "last"), { safeCheckpoint: checkpoint(200, "last") });
    expect(indexed(left)).toEqual({ timestamp: 1_700_002_000, number: 200 });
  });

  test("is not invented when the safe checkpoint is of another chain", () => {
    const foreign = row(checkpoint(250, "last"), { safeCheckpoint: checkpoint(200, "last", 1) });
    expect(indexed(foreign)).toBeUndefined();
    expect(indexed({ ...foreign, latestCheckpoint: checkpoint(180, "last") })?.number).toBe(180);
  });
});

describe("the end of a chain", () => {
  const ending = { ...chain, endBlock: 300 };
  const endOf = (rest: Partial<FactsContext>, indexedNumber = 250, metrics = live) =>
    chainFacts(ending, row(checkpoint(indexedNumber, "last")), metrics, { ...context, ...rest })?.endBlock;

  test("is reported with its time", () => {
    expect(endOf({})).toEqual({ timestamp: 1_700_003_000, number: 300 });
  });

  test("is not reported while there is no such block", () => {
    expect(endOf({ findBlock: (_, number) => (number === 300 ? undefined : at(number)) })).toBeUndefined();
  });

  test("that was missing when the chain went live is reported once it is indexed", () => {
    expect(endOf({ endsAhead: new Set([chainId]) }, 299)).toBeUndefined();
    expect(endOf({ endsAhead: new Set([chainId]) }, 300)).toEqual({ timestamp: 1_700_003_000, number: 300 });
  });

  test("is the indexed block itself once that is the end", () => {
    expect(endOf({ findBlock: (_, n) => (n === 300 ? undefined : at(n)) }, 300)).toEqual({
      timestamp: 1_700_003_000,
      number: 300,
    });
  });

  test("is waited for when the chain is past it, so that the cursor never has to return to it", () => {
    const past = (rest: Partial<FactsContext>) =>
      chainFacts(ending, row(checkpoint(305, "last")), live, { ...context, ...rest });
    expect(past({ findBlock: (_, n) => (n === 300 ? undefined : at(n)) })).toBeUndefined();
    expect(past({})?.endBlock).toEqual({ timestamp: 1_700_003_000, number: 300 });
  });

  test("counts as missing only for chains that are live", () => {
    const noEnd: FactsContext = { ...context, findBlock: (_, n) => (n === 300 ? undefined : at(n)) };
    const facts = (metrics: SyncMetrics) => chainFacts(ending, row(checkpoint(250, "last")), metrics, noEnd);
    expect(findEndsAhead([facts(live)!], [ending], new Set())).toEqual(new Set([chainId]));
    expect(findEndsAhead([facts(idle)!], [ending], new Set())).toEqual(new Set());
    expect(findEndsAhead([facts(live)!], [chain], new Set([10]))).toEqual(new Set([10]));
  });
});

describe("the target of the backfill", () => {
  const target = (given: CheckpointRow, metrics: SyncMetrics, rest: FactsContext = context) =>
    chainFacts(chain, given, metrics, rest)?.backfillEndBlock;

  test("follows from the number of blocks that Ponder fetches", () => {
    expect(target(row(checkpoint(100, "first")), { ...idle, historicalTotalBlocks: 101 })).toEqual({
      timestamp: 1_700_002_000,
      number: 200,
    });
  });

  test("is the last finalized block until Ponder reports the target", () => {
    const restarted = row(checkpoint(150, "last"), { finalizedCheckpoint: checkpoint(190, "last") });
    expect(target(restarted, idle)).toEqual({ timestamp: 1_700_001_900, number: 190 });
    expect(target(restarted, { ...idle, historicalTotalBlocks: 0 })?.number).toBe(190);
  });

  test("is unknown when the finalized checkpoint is one of another chain or before the start", () => {
    expect(
      target(row(checkpoint(150, "last"), { finalizedCheckpoint: checkpoint(190, "last", 1) }), idle),
    ).toBeUndefined();
    expect(target(row(checkpoint(70, "last")), idle)).toBeUndefined();
  });
});

describe("the newest known block", () => {
  const known = (metrics: Partial<SyncMetrics>) =>
    chainFacts(
      chain,
      row(checkpoint(200, "last")),
      { ...live, historicalTotalBlocks: 101, ...metrics },
      context,
    )?.latestKnownBlock;

  test("is the last live block", () => {
    expect(known({ syncBlock: 260, syncBlockTimestamp: 1_700_002_600 })).toEqual({
      timestamp: 1_700_002_600,
      number: 260,
    });
  });

  test("is the end of the backfill before the first live block, since Ponder then reports an older time", () => {
    expect(known({ syncBlock: 200, syncBlockTimestamp: 1_700_001_230 })).toEqual({
      timestamp: 1_700_002_000,
      number: 200,
    });
  });
});

describe("what the chain's sync does", () => {
  test.each([
    [undefined, "backfill"],
    [idle, "backfill"],
    [live, "live"],
    [{ ...idle, isComplete: true }, "complete"],
    [{ isRealtime: true, isComplete: true }, "complete"],
  ] as const)("%j is %s", (metrics, sync) => {
    expect(chainFacts(chain, undefined, metrics, context)?.sync).toBe(sync);
  });
});

describe("the second before which all chains are processed", () => {
  const facts = [chainFacts(chain, undefined, undefined, context)!];
  const state = (...rows: CheckpointRow[]) => rows;

  test("is unknown before the first event", () => {
    expect(processedBefore(facts, state(), [idle])).toBeUndefined();
    expect(processedBefore(facts, state(row(checkpoint(100, "first"))), [idle])).toBeUndefined();
    expect(processedBefore(facts, state(row(checkpoint(70, "last"))), [idle])).toBeUndefined();
  });

  test("is that of the safe checkpoint, also of another chain's", () => {
    expect(processedBefore(facts, state(row(checkpoint(150, "log"))), [idle])).toBe(1_700_001_500);
    const foreign = row(checkpoint(250, "last"), { safeCheckpoint: checkpoint(40, "last", 1) });
    expect(processedBefore(facts, state(foreign), [idle])).toBe(1_700_000_400);
  });

  test("is the end of the backfill once a chain has continued from there", () => {
    const figures = { historicalTotalSeconds: 900 };
    expect(processedBefore(facts, state(), [{ ...idle, ...figures }])).toBeUndefined();
    expect(processedBefore(facts, state(), [{ ...live, ...figures }])).toBe(1_700_001_900);
    expect(processedBefore(facts, state(), [{ ...idle, isComplete: true, ...figures }])).toBe(1_700_001_900);
  });

  test("includes the second of the last end, if all chains have an end", () => {
    const done: SyncMetrics[] = [{ ...idle, isComplete: true, historicalTotalSeconds: 900 }];
    const ending = { ...facts[0]!, endBlock: at(190), sync: "complete" as const };
    expect(processedBefore([ending], state(), done)).toBe(1_700_001_901);
    expect(processedBefore([ending, facts[0]!], state(), done)).toBe(1_700_001_900);
    expect(processedBefore([{ ...ending, sync: "live" }], state(), done)).toBe(1_700_001_900);
    expect(processedBefore([ending, { ...ending, endBlock: at(195) }], state(), done)).toBe(1_700_001_900);
  });
});

describe("the range of a chain", () => {
  const chains = [
    { id: 1, name: "mainnet" },
    { id: 8453, name: "base" },
  ];

  test("a chain begins with its earliest contract and has no end while one contract has none", () => {
    expect(
      statusChains(chains, [
        { chain: { mainnet: { startBlock: 9_380_380 } } },
        {
          chain: {
            mainnet: { startBlock: 3_327_417, endBlock: 9_380_410 },
            base: { startBlock: 17_571_480 },
          },
        },
      ]),
    ).toEqual([
      { chainId: 1, startBlock: 3_327_417 },
      { chainId: 8453, startBlock: 17_571_480 },
    ]);
  });

  test("a chain ends with its last contract if each has an end", () => {
    expect(
      statusChains(chains, [
        { chain: { mainnet: { startBlock: 20, endBlock: 90 } } },
        { chain: { mainnet: { startBlock: 10, endBlock: 100 } } },
      ]),
    ).toEqual([{ chainId: 1, startBlock: 10, endBlock: 100 }]);
  });
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

function chainOf(blocks: Map<number, BlockRef | Error>) {
  const asked: string[] = [];
  const failures: string[] = [];
  let now = 0;
  const findBlock = createFindBlock(
    async (chainId, number) => {
      asked.push(`${chainId}:${number}`);
      const block = blocks.get(number);
      if (block instanceof Error) throw block;
      return block;
    },
    { clock: () => now, onFailure: (chainId, number) => failures.push(`${chainId}:${number}`) },
  );
  const ask = async (number: number, atMs = now) => {
    now = atMs;
    const block = findBlock(1, number);
    await settled();
    return block;
  };
  return { asked, failures, ask };
}

test("the end of a range has its time once the status contains it", () => {
  const endBlock = { timestamp: 1_700_003_000, number: 300 };
  const facts: ChainFacts = { chainId, startBlock: at(100), endBlock, sync: "live" };
  const snapshot = createSnapshot(omnichainSnapshot([facts], undefined)!, 1_700_004_000);
  const ending = { ...chain, endBlock: 300 };
  expect(endOfChain(ending, snapshot)).toEqual(endBlock);
  expect(endOfChain(ending, undefined)).toEqual({ number: 300 });
  expect(endOfChain(chain, snapshot)).toBeUndefined();
  expect(endOfChain(undefined, snapshot)).toBeUndefined();
});

test("fetches a block in the background, once", async () => {
  const { asked, ask } = chainOf(new Map([[7, { timestamp: 70, number: 7 }]]));
  expect(await ask(7)).toBeUndefined();
  expect(await ask(7)).toEqual({ timestamp: 70, number: 7 });
  expect(await ask(7, 1_000_000)).toEqual({ timestamp: 70, number: 7 });
  expect(asked).toEqual(["1:7"]);
});

test.each([
  ["that does not respond", new Error("down"), 3],
  ["that has no such block yet", undefined, 0],
])("asks a node %s again every five seconds, until it has the block", async (_, answer, failed) => {
  const blocks = new Map(answer ? [[7, answer as BlockRef | Error]] : []);
  const { asked, failures, ask } = chainOf(blocks);
  const counts: number[] = [];
  for (const time of [0, 4_999, 5_000, 9_999, 10_000]) {
    expect(await ask(7, time)).toBeUndefined();
    counts.push(asked.length);
  }
  expect([counts, failures.length]).toEqual([[1, 1, 2, 2, 3], failed]);
  blocks.set(7, { timestamp: 70, number: 7 });
  await ask(7, 15_000);
  expect(await ask(7)).toEqual({ timestamp: 70, number: 7 });
});

test("does not send two requests at the same time", async () => {
  let calls = 0;
  const fetchBlock = () => {
    calls += 1;
    return new Promise<undefined>(() => undefined);
  };
  const findBlock = createFindBlock(fetchBlock, { onFailure: () => undefined });
  for (const chain of [1, 1, 2]) findBlock(chain, 7);
  await settled();
  expect(calls).toBe(2);
});
