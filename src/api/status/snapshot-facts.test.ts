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

// `<block> <first | log | last> <chain>`: where in a block.
function checkpoint(place: string): string {
  const [number = "", within = "last", id = String(chainId)] = place.split(" ");
  const rest = { first: "0".repeat(33), log: `${"0".repeat(15)}75${"0".repeat(15)}9`, last: "9".repeat(33) };
  return `${timeOf(Number(number))}${id.padStart(16, "0")}${number.padStart(16, "0")}${rest[within as "last"]}`;
}

const row = (latest: string, safe = latest, finalized = safe, isReady = false): CheckpointRow => ({
  chainId,
  isReady,
  latestCheckpoint: checkpoint(latest),
  safeCheckpoint: checkpoint(safe),
  finalizedCheckpoint: checkpoint(finalized),
});
const ready = (latest: string, safe = latest) => row(latest, safe, safe, true);

const idle: SyncMetrics = { isRealtime: false, isComplete: false };
const live: SyncMetrics = { ...idle, isRealtime: true };
const context: FactsContext = { endsAhead: new Set(), findBlock: (_, number) => at(number) };
const blind: FactsContext = { ...context, findBlock: () => undefined };
const chain = { chainId, startBlock: 100 };

describe("the start of a chain", () => {
  test("is read from its first checkpoint, without a node", () => {
    expect(chainFacts(chain, row("100 first"), idle, blind)?.startBlock).toEqual(at(100));
  });

  test("is requested from a node otherwise, and the facts wait for it", () => {
    expect(chainFacts(chain, row("120 log"), idle, context)?.startBlock).toEqual(at(100));
    expect(chainFacts(chain, row("120 log"), idle, blind)).toBeUndefined();
    expect(chainFacts(chain, undefined, undefined, blind)).toBeUndefined();
  });
});

test.each<[string, CheckpointRow | undefined, number | undefined]>([
  ["absent before the first event", row("100 first"), undefined],
  ["absent without a checkpoint", undefined, undefined],
  ["absent at a finalized block before the start", row("70 last"), undefined],
  ["the start block once that is processed", row("100 log"), 100],
  ["the start block of a chain that is followed", ready("100 last"), 100],
  ["the head of the row while following", ready("250 last", "200 last"), 250],
  ["the safe block after a restart, to which the tables were taken back", row("250 last", "200 last"), 200],
  ["not invented when the safe checkpoint is of another chain", row("250 last", "200 last 1"), undefined],
  ["the latest one before the safe checkpoint of another chain", row("180 last", "200 last 1"), 180],
])("the latest indexed block is %s", (_, given, number) => {
  const found = chainFacts(chain, given, idle, context)?.latestIndexedBlock;
  expect(found).toEqual(number === undefined ? undefined : at(number));
});

describe("the end of a chain", () => {
  const ending = { ...chain, endBlock: 300 };
  const noEnd: FactsContext = { ...context, findBlock: (_, n) => (n === 300 ? undefined : at(n)) };
  const missed: FactsContext = { ...context, endsAhead: new Set([chainId]) };

  test.each<[string, FactsContext, number, boolean]>([
    ["reported with its time", context, 250, true],
    ["not reported while there is no such block", noEnd, 250, false],
    ["not reported while it was missing when the chain went live", missed, 299, false],
    ["reported then once it is indexed", missed, 300, true],
    ["the indexed block itself once that is the end", noEnd, 300, true],
    ["known of a chain that is past it", context, 305, true],
  ])("is %s", (_, given, indexed, isKnown) => {
    const facts = chainFacts(ending, row(`${indexed} last`), live, given);
    expect(facts?.endBlock).toEqual(isKnown ? at(300) : undefined);
  });

  test("is waited for when the chain is past it, so that the cursor never has to return to it", () => {
    expect(chainFacts(ending, row("305 last"), live, noEnd)).toBeUndefined();
  });

  test("counts as missing only for chains that are live", () => {
    const facts = (metrics: SyncMetrics) => chainFacts(ending, row("250 last"), metrics, noEnd)!;
    expect(findEndsAhead([facts(live)], [ending], new Set())).toEqual(new Set([chainId]));
    expect(findEndsAhead([facts(idle)], [ending], new Set())).toEqual(new Set());
    expect(findEndsAhead([facts(live)], [chain], new Set([10]))).toEqual(new Set([10]));
  });
});

test.each<[string, CheckpointRow, number | undefined, number | undefined]>([
  ["follows from the number of blocks that Ponder fetches", row("100 first"), 101, 200],
  ["is the last finalized block until then", row("150 last", "150 last", "190 last"), undefined, 190],
  ["is the last finalized block while Ponder fetches none", row("150 last", "150 last", "190 last"), 0, 190],
  ["is unknown by another chain's block", row("150 last", "150 last", "190 last 1"), undefined, undefined],
  ["is unknown before the start", row("70 last"), undefined, undefined],
])("the target of the backfill %s", (_, given, historicalTotalBlocks, number) => {
  const found = chainFacts(chain, given, { ...idle, historicalTotalBlocks }, context)?.backfillEndBlock;
  expect(found).toEqual(number === undefined ? undefined : at(number));
});

test.each([
  ["the last live block", 260, timeOf(260)],
  // Ponder then reports an older time.
  ["the end of the backfill before the first live block", 200, timeOf(123)],
])("the newest known block is %s", (_, syncBlock, syncBlockTimestamp) => {
  const metrics = { ...live, historicalTotalBlocks: 101, syncBlock, syncBlockTimestamp };
  expect(chainFacts(chain, row("200 last"), metrics, context)?.latestKnownBlock).toEqual(at(syncBlock));
});

test.each([
  [undefined, "backfill"],
  [idle, "backfill"],
  [live, "live"],
  [{ ...idle, isComplete: true }, "complete"],
  [{ isRealtime: true, isComplete: true }, "complete"],
] as const)("the sync with %j is %s", (metrics, sync) => {
  expect(chainFacts(chain, undefined, metrics, context)?.sync).toBe(sync);
});

describe("the second before which all chains are processed", () => {
  const facts = [chainFacts(chain, undefined, undefined, context)!];
  const state = (...rows: CheckpointRow[]) => rows;

  test("is unknown before the first event", () => {
    expect(processedBefore(facts, state(), [idle])).toBeUndefined();
    expect(processedBefore(facts, state(row("100 first")), [idle])).toBeUndefined();
    expect(processedBefore(facts, state(row("70 last")), [idle])).toBeUndefined();
  });

  test("is that of the safe checkpoint, also of another chain's", () => {
    expect(processedBefore(facts, state(row("150 log")), [idle])).toBe(1_700_001_500);
    const foreign = row("250 last", "40 last 1");
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
