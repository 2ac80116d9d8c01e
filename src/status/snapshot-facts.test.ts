import { describe, expect, test } from "vitest";
import type { CheckpointRow } from "../ponder/checkpoints.ts";
import type { SyncMetrics } from "../ponder/process.ts";
import {
  backfilledBefore,
  buildSnapshot,
  type ChainFacts,
  chainFacts,
  endOfChain,
  type FindBlock,
  statusChains,
} from "./snapshot.ts";
import { hasWaitingBlocks } from "./status.ts";

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
  reorganizations: null,
  isReady,
  latestCheckpoint: checkpoint(latest),
  safeCheckpoint: checkpoint(safe),
  finalizedCheckpoint: checkpoint(finalized),
});
const ready = (latest: string, safe = latest) => row(latest, safe, safe, true);

const idle: SyncMetrics = { isRealtime: false, isComplete: false };
const live: SyncMetrics = { ...idle, isRealtime: true };
const find: FindBlock = (_, number) => at(number);
const blind: FindBlock = () => undefined;
const chain = { chainId, startBlock: 100 };

test("the start of a chain is read from its first checkpoint, else the facts wait for a node to tell it", () => {
  expect(chainFacts(chain, row("100 first"), idle, blind)?.startBlock).toEqual(at(100));
  expect(chainFacts(chain, row("120 log"), idle, find)?.startBlock).toEqual(at(100));
  expect(chainFacts(chain, row("120 log"), idle, blind)).toBeUndefined();
  expect(chainFacts(chain, undefined, undefined, blind)).toBeUndefined();
});

test.each<[string, CheckpointRow | undefined, number | undefined]>([
  ["absent before the first event", row("100 first"), undefined],
  ["absent without a checkpoint", undefined, undefined],
  ["absent at a finalized block before the start", row("70 last"), undefined],
  ["the start block once that is processed", row("100 log"), 100],
  ["the start block of a chain that is followed", ready("100 last"), 100],
  ["the head of the row while following", ready("250 last", "200 last"), 250],
  ["the safe block after a restart, to which the tables were reverted", row("250 last", "200 last"), 200],
  ["not invented when the safe checkpoint is of another chain", row("250 last", "200 last 1"), undefined],
  ["the latest one before the safe checkpoint of another chain", row("180 last", "200 last 1"), 180],
])("the latest indexed block is %s", (_, given, number) => {
  const found = chainFacts(chain, given, idle, find)?.latestIndexedBlock;
  expect(found).toEqual(number === undefined ? undefined : at(number));
});

const noEnd: FindBlock = (_, number) => (number === 300 ? undefined : at(number));

test.each<[string, FindBlock, number, number | undefined]>([
  ["reported with its time", find, 250, 300],
  ["not reported while there is no such block", noEnd, 250, undefined],
  ["the indexed block itself once that is the end", noEnd, 300, 300],
  ["known of a chain that is past it", find, 305, 300],
])("the end of a chain is %s", (_, given, indexed, number) => {
  const facts = chainFacts({ ...chain, endBlock: 300 }, row(`${indexed} last`), live, given);
  expect(facts?.endBlock).toEqual(number && at(number));
});

test("an end that the chain is past is waited for, so that the cursor never has to return to it", () => {
  expect(chainFacts({ ...chain, endBlock: 300 }, row("305 last"), live, noEnd)).toBeUndefined();
});

test.each<[string, CheckpointRow, number | undefined, number | undefined]>([
  ["follows from the number of blocks that Ponder fetches", row("100 first"), 101, 200],
  ["is the last finalized block until then", row("150 last", "150 last", "190 last"), undefined, 190],
  ["is the last finalized block while Ponder fetches none", row("150 last", "150 last", "190 last"), 0, 190],
  ["is unknown by another chain's block", row("150 last", "150 last", "190 last 1"), undefined, undefined],
  ["is unknown before the start", row("70 last"), undefined, undefined],
])("the target of the backfill %s", (_, given, historicalTotalBlocks, number) => {
  const found = chainFacts(chain, given, { ...idle, historicalTotalBlocks }, find)?.backfillEndBlock;
  expect(found).toEqual(number === undefined ? undefined : at(number));
});

test.each([
  ["the last live block", 260, timeOf(260)],
  // Ponder then reports an older time.
  ["the end of the backfill before the first live block", 200, timeOf(123)],
])("the newest known block is %s", (_, syncBlock, syncBlockTimestamp) => {
  const metrics = { ...live, historicalTotalBlocks: 101, syncBlock, syncBlockTimestamp };
  expect(chainFacts(chain, row("200 last"), metrics, find)?.latestKnownBlock).toEqual(at(syncBlock));
});

test.each([
  [undefined, "backfill"],
  [idle, "backfill"],
  [live, "live"],
  [{ ...idle, isComplete: true }, "complete"],
  [{ isRealtime: true, isComplete: true }, "complete"],
] as const)("the sync with %j is %s", (metrics, sync) => {
  expect(chainFacts(chain, undefined, metrics, find)?.sync).toBe(sync);
});

describe("the second before which the backfill has processed all chains", () => {
  const figures = { historicalTotalSeconds: 900 };
  const facts = (metrics: SyncMetrics) => [chainFacts(chain, undefined, metrics, find)!];

  test("is unknown until the backfill is over", () => {
    expect(backfilledBefore(facts(idle), [{ ...idle, ...figures }])).toBe(0);
    expect(backfilledBefore(facts(live), [{ ...live, ...figures }])).toBe(1_700_001_900);
    const complete = { ...idle, isComplete: true, ...figures };
    expect(backfilledBefore(facts(complete), [complete])).toBe(1_700_001_900);
  });

  test("includes the second of the last end, if all chains have an end", () => {
    const done: SyncMetrics[] = [{ ...idle, isComplete: true, ...figures }];
    const ending = { ...facts(live)[0]!, endBlock: at(190), sync: "complete" as const };
    expect(backfilledBefore([ending], done)).toBe(1_700_001_901);
    expect(backfilledBefore([ending, facts(live)[0]!], done)).toBe(1_700_001_900);
    expect(backfilledBefore([{ ...ending, sync: "live" }], done)).toBe(1_700_001_900);
    expect(backfilledBefore([ending, { ...ending, endBlock: at(195) }], done)).toBe(1_700_001_900);
  });
});

test("a chain begins with its earliest contract, and ends with its last one if each has an end", () => {
  const mainnet = { id: 1, name: "mainnet" };
  const chains = [mainnet, { id: 8453, name: "base" }];
  const old = { mainnet: { startBlock: 3_327_417, endBlock: 9_380_410 }, base: { startBlock: 17_571_480 } };
  expect(statusChains(chains, [{ chain: { mainnet: { startBlock: 9_380_380 } } }, { chain: old }])).toEqual([
    { chainId: 1, startBlock: 3_327_417 },
    { chainId: 8453, startBlock: 17_571_480 },
  ]);
  const ending = [
    { chain: { mainnet: { startBlock: 20, endBlock: 90 } } },
    { chain: { mainnet: { startBlock: 10, endBlock: 100 } } },
  ];
  expect(statusChains(chains, ending)).toEqual([{ chainId: 1, startBlock: 10, endBlock: 100 }]);
});

test("the end of a range has its time once the status contains it", () => {
  const facts: ChainFacts = { chainId, startBlock: at(100), endBlock: at(300), sync: "live" };
  const snapshot = buildSnapshot([facts], 1_700_004_000);
  const ending = { ...chain, endBlock: 300 };
  expect(endOfChain(ending, snapshot)).toEqual(at(300));
  expect(endOfChain(ending, undefined)).toEqual({ number: 300 });
  expect(endOfChain(chain, snapshot)).toBeUndefined();
  expect(endOfChain(undefined, snapshot)).toBeUndefined();
});

// Healing lets new blocks come first; the newest one is indexed while the next is on its way.
test.each([
  ["live", 0, false],
  ["live", 1, false],
  ["live", 2, true],
  ["backfill", 2, false],
] as const)("of a %s chain whose node is %d blocks ahead: blocks wait, %s", (sync, ahead, expected) => {
  const facts = { chainId, startBlock: at(100), latestIndexedBlock: at(200) };
  const known =
    sync === "live" ? { latestKnownBlock: at(200 + ahead) } : { backfillEndBlock: at(200 + ahead) };
  expect(hasWaitingBlocks(buildSnapshot([{ ...facts, ...known, sync }], timeOf(300)))).toBe(expected);
  expect(hasWaitingBlocks(undefined)).toBe(false);
});
