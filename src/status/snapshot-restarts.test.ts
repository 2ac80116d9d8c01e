import fc from "fast-check";
import { expect, test } from "vitest";
import { brokenInvariants } from "../../test/support/watch-status.ts";
import type { CheckpointRow } from "../ponder/checkpoints.ts";
import type { SyncMetrics } from "../ponder/process.ts";
import { createIndexerStatus, createStatusSource } from "./status.ts";

type Block = { chainId: number; number: number; timestamp: number; hasEvent: boolean };
type ModelChain = {
  chainId: number;
  startBlock: number;
  endBlock: number | undefined;
  blocks: Block[];
  finality: number;
};

const pad = (value: number, digits: number) => String(value).padStart(digits, "0");
const encode = ({ timestamp, chainId, number }: Block, fill: "0" | "9" | "log") =>
  `${pad(timestamp, 10)}${pad(chainId, 16)}${pad(number, 16)}${fill === "log" ? `${"0".repeat(16)}5${"0".repeat(16)}` : fill.repeat(33)}`;

/** A stand-in for Ponder: writes the checkpoints and figures that Ponder 0.17 writes, in omnichain order. */
function createModel(chains: ModelChain[]) {
  const rows = new Map<number, Omit<CheckpointRow, "isReady">>();
  const metrics = new Map<number, SyncMetrics>();
  let isReady = false;
  // Everything up to and including this checkpoint is in the database.
  let processed = "";

  const write = (chainId: number, change: Partial<CheckpointRow>) => {
    rows.set(chainId, {
      ...(rows.get(chainId) ?? { chainId, reorganizations: null, ...all("") }),
      ...change,
    });
  };
  const report = (chainId: number, change: Partial<SyncMetrics>) =>
    metrics.set(chainId, { isRealtime: false, isComplete: false, ...metrics.get(chainId), ...change });
  const safe = () =>
    [...rows.values()]
      .map((row) => row.safeCheckpoint)
      .sort()
      .at(-1) ?? "";
  // What `restoreHeads` does at each start.
  const restore = (chain: ModelChain, safe: string, latest: string) => {
    if (latest <= safe) return;
    const cached = chain.blocks.findLast((block) => block.hasEvent && encode(block, "9") <= safe);
    const isOwn = safe.slice(10, 26) === pad(chain.chainId, 16);
    const found = cached ? encode(cached, "9") : `${pad(0, 10)}${pad(chain.chainId, 16)}${"0".repeat(49)}`;
    write(chain.chainId, { latestCheckpoint: isOwn ? safe : found });
  };
  const all = (checkpoint: string) => ({
    latestCheckpoint: checkpoint,
    safeCheckpoint: checkpoint,
    finalizedCheckpoint: checkpoint,
  });
  const blockOf = (chain: ModelChain, number: number) => chain.blocks[number]!;
  const finalized = (chain: ModelChain) => blockOf(chain, chain.blocks.length - 1 - chain.finality);
  const start = (chain: ModelChain) => blockOf(chain, chain.startBlock);
  const last = (chain: ModelChain) =>
    Math.min(finalized(chain).number, chain.endBlock ?? Number.POSITIVE_INFINITY);
  const omnichainTo = () => {
    const marks = chains.map((chain) => encode(finalized(chain), "9"));
    const ends = chains.map((chain) =>
      chain.endBlock === undefined ? undefined : encode(blockOf(chain, chain.endBlock), "9"),
    );
    const earliest = marks.sort()[0]!;
    const latestEnd = ends.includes(undefined) ? undefined : (ends.sort().at(-1) as string);
    return latestEnd !== undefined && latestEnd < earliest ? latestEnd : earliest;
  };
  const between = (after: string, to: string) =>
    chains
      .flatMap((chain) =>
        chain.blocks.slice(chain.startBlock, chain.endBlock === undefined ? undefined : chain.endBlock + 1),
      )
      .filter((block) => encode(block, "log") > after && encode(block, "log") <= to)
      .sort((a, b) => (encode(a, "log") < encode(b, "log") ? -1 : 1));

  return {
    state: () => [...rows.values()].map((row) => ({ ...row, isReady })),
    metrics: () => metrics,
    findBlock: (chainId: number, number: number) => {
      const { timestamp } = blockOf(chains.find((chain) => chain.chainId === chainId)!, number);
      return { timestamp, number };
    },
    /** Highest block of the chain whose events are in the database. */
    truth(chainId: number) {
      const chain = chains.find((candidate) => candidate.chainId === chainId)!;
      return chain.blocks.findLast((block) => encode(block, "log") <= processed)?.number ?? -1;
    },
    boot() {
      isReady = false;
      processed = safe();
      for (const chain of chains) {
        const row = rows.get(chain.chainId);
        if (row !== undefined) restore(chain, row.safeCheckpoint, row.latestCheckpoint);
      }
      metrics.clear();
      for (const { chainId } of chains) report(chainId, {});
    },
    begin() {
      const from = Math.min(...chains.map((chain) => start(chain).timestamp));
      const seconds = Math.max(Number(omnichainTo().slice(0, 10)) - from, 0);
      for (const chain of chains) {
        const total = Math.max(last(chain) - chain.startBlock + 1, 0);
        report(chain.chainId, {
          historicalTotalBlocks: total,
          historicalTotalSeconds: seconds,
          syncBlock: finalized(chain).number,
          syncBlockTimestamp: start(chain).timestamp,
        });
        if (!rows.has(chain.chainId)) {
          const first = [encode(start(chain), "0"), encode(finalized(chain), "9")].sort()[0]!;
          write(chain.chainId, all(first));
        }
      }
    },
    /** Indexes up to `count` blocks of history and commits. */
    batch(count: number) {
      const blocks = between(processed, omnichainTo()).slice(0, count);
      for (const chain of chains) {
        const event = blocks.findLast((block) => block.chainId === chain.chainId && block.hasEvent);
        if (event !== undefined) write(chain.chainId, all(encode(event, "log")));
      }
      processed = blocks.length === 0 ? processed : encode(blocks.at(-1)!, "log");
    },
    goLive() {
      this.batch(Number.POSITIVE_INFINITY);
      if (omnichainTo() > processed) processed = omnichainTo();
      isReady = true;
      for (const chain of chains) {
        const isComplete = chain.endBlock !== undefined && last(chain) === chain.endBlock;
        report(chain.chainId, { isComplete, isRealtime: !isComplete });
      }
    },
    /** Indexes up to `count` live blocks, each in a transaction of its own. */
    follow(count: number) {
      const blocks = chains
        .filter((chain) => metrics.get(chain.chainId)?.isRealtime)
        .flatMap((chain) => chain.blocks.slice(finalized(chain).number + 1))
        .filter((block) => encode(block, "9") > processed)
        .sort((a, b) => (encode(a, "9") < encode(b, "9") ? -1 : 1));
      for (const block of blocks.slice(0, count)) {
        report(block.chainId, { syncBlock: block.number, syncBlockTimestamp: block.timestamp });
        write(block.chainId, { latestCheckpoint: encode(block, "9") });
        processed = encode(block, "9");
      }
    },
    /** Finalizes all chains at one checkpoint, which belongs to one of them. */
    finalize(pick: number) {
      const marks = between("", processed);
      const block = marks[pick % Math.max(marks.length, 1)];
      if (block === undefined || encode(block, "9") <= safe() || encode(block, "9") > processed) return;
      for (const chain of chains) {
        write(chain.chainId, { safeCheckpoint: encode(block, "9"), finalizedCheckpoint: encode(block, "9") });
      }
    },
  };
}

const modelChain = (chainId: number): fc.Arbitrary<ModelChain> =>
  fc
    .record({
      genesis: fc.integer({ min: 0, max: 300 }),
      gaps: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 12, maxLength: 40 }),
      eventful: fc.array(fc.boolean(), { minLength: 41, maxLength: 41 }),
      start: fc.integer({ min: 0, max: 11 }),
      length: fc.option(fc.nat(20), { nil: undefined }),
      finality: fc.integer({ min: 0, max: 10 }),
    })
    .map(({ genesis, gaps, eventful, start, length, finality }) => {
      let timestamp = 1_700_000_000 + genesis;
      const blocks = [0, ...gaps].map((gap, number) => {
        timestamp += gap;
        return { chainId, number, timestamp, hasEvent: eventful[number] ?? false };
      });
      const endBlock = length === undefined ? undefined : Math.min(start + length, blocks.length - 1);
      return { chainId, startBlock: start, endBlock, blocks, finality };
    });

const steps = fc.array(
  fc.record({ kind: fc.constantFrom("batch", "follow", "finalize", "live", "kill"), count: fc.nat(12) }),
  { maxLength: 40 },
);

const someChains = fc
  .integer({ min: 1, max: 3 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => modelChain(index + 1))));

// The one coincidence that Ponder's metrics cannot distinguish: all chains have an end, and the last of them falls into
// the very second of another chain's finalized block.
function endsTogetherWithFinality(chains: ModelChain[]): boolean {
  const ends = chains.map(({ blocks, endBlock }) => (endBlock === undefined ? undefined : blocks[endBlock]!));
  if (chains.length === 1 || ends.includes(undefined)) return false;
  const last = Math.max(...ends.map((end) => end!.timestamp));
  return chains.some(({ blocks, finality }) => blocks[blocks.length - 1 - finality]!.timestamp === last);
}

function observe(chains: ModelChain[], model: ReturnType<typeof createModel>) {
  const logged: string[] = [];
  const read = createIndexerStatus({
    chains,
    readCheckpoints: async () => model.state(),
    readMetrics: async () => model.metrics(),
    findBlock: model.findBlock,
    clock: () => 1_700_000_000_000,
  });
  const source = createStatusSource({
    read,
    readHeads: async () => "",
    log: (_, message) => logged.push(message),
  });
  let cursor = Number.NEGATIVE_INFINITY;
  return async () => {
    await source.refresh();
    expect(logged).toEqual([]);
    const snapshot = source.current()?.snapshot;
    if (snapshot === undefined) return;
    expect(brokenInvariants(snapshot)).toEqual([]);
    expect(snapshot.slowestChainIndexingCursor).toBeGreaterThanOrEqual(cursor);
    cursor = snapshot.slowestChainIndexingCursor;
    for (const [chainId, chain] of Object.entries(snapshot.omnichainSnapshot.chains)) {
      if (chain.chainStatus === "chain-queued") continue;
      const isAtStart = chain.latestIndexedBlock.number === chain.config.startBlock.number;
      // A chain that is at its start may share that second with the chain that brought the cursor there.
      if (!isAtStart)
        expect(chain.latestIndexedBlock.number).toBeLessThanOrEqual(model.truth(Number(chainId)));
    }
  };
}

test("through backfill, live blocks, finalization and restarts no snapshot is dropped, goes back or claims too much", async () => {
  await fc.assert(
    fc.asyncProperty(someChains, steps, async (chains, sequence) => {
      fc.pre(!endsTogetherWithFinality(chains));
      const model = createModel(chains);
      let phase: "backfill" | "live" = "backfill";
      model.boot();
      let look = observe(chains, model);
      await look();
      model.begin();
      await look();
      for (const { kind, count } of sequence) {
        if (kind === "batch" && phase === "backfill") model.batch(count);
        if (kind === "follow" && phase === "live") model.follow(count);
        if (kind === "finalize" && phase === "live") model.finalize(count * 7);
        if (kind === "live" && phase === "backfill") {
          model.goLive();
          phase = "live";
        }
        if (kind === "kill") {
          phase = "backfill";
          model.boot();
          look = observe(chains, model);
          await look();
          model.begin();
        }
        await look();
      }
    }),
    { numRuns: 1000 },
  );
});
