import { type Log, seeOperations } from "../log/json-log.ts";
import { processLog } from "./process.ts";
import { shared } from "./shared.ts";
import { createStartKeeper } from "./start-blocks.ts";

// The order in which Ponder follows all chains: by time of block, then by chain. cli/preload.mjs puts it in place of
// Ponder's own, which waits for the next block of every chain. docs/ponder.md#chains-that-pause describes it.

type OrderedChain = { id: number; name: string };
type SyncBlock = { number: string; timestamp: string };
type SyncEvent = {
  type: "block" | "reorg" | "finalize";
  block: SyncBlock;
  reorgedBlocks?: readonly SyncBlock[];
  /** Its events wait for a later block, so that few transactions put a chain that comes back in its place. */
  isHeld?: boolean;
};
type Item = { chain: OrderedChain; event: SyncEvent };
type SyncProgress = {
  current?: SyncBlock | undefined;
  isEnd(): boolean;
  getCheckpoint(of: { tag: "current" }): string;
};
type PerChainSync = ReadonlyMap<OrderedChain, { syncProgress: SyncProgress }>;
type Generator = AsyncGenerator<Item, unknown>;
type OrderOptions = {
  pauseMs?: number;
  now?: () => number;
  log?: Log;
  away?: Set<number>;
  silent?: Set<number>;
};

/**
 * The chains that are waited for, and `chain`. When a chain's blocks are replaced, rows stay up to the block that all
 * of these have reached.
 */
export function chainsInOrder<Sync extends PerChainSync>(
  perChainSync: Sync,
  chain: OrderedChain,
  away = shared().awayChains,
) {
  return new Map([...perChainSync].filter(([{ id }]) => id === chain.id || !away.has(id))) as unknown as Sync;
}

type Synced = {
  syncProgress: { getCheckpoint(of: { tag: "finalized" }): string };
  unfinalizedBlocks: readonly { block: SyncBlock }[];
};

/** The last block of a chain, as a checkpoint, whose rows remain once all rows after a checkpoint are reverted. */
export function headAt(
  perChainSync: ReadonlyMap<OrderedChain, Synced>,
  chain: OrderedChain,
  checkpoint: string,
): string {
  if (Number(checkpoint.slice(10, 26)) === chain.id) return checkpoint;
  const { syncProgress, unfinalizedBlocks } = perChainSync.get(chain) as Synced;
  const known = unfinalizedBlocks.map(({ block }) => encodeBlockEnd(block, chain));
  return known.findLast((one) => one <= checkpoint) ?? syncProgress.getCheckpoint({ tag: "finalized" });
}

/**
 * Merges what the chains' generators yield, blocks by time. A chain that lets the others wait for `pauseMs` is left out
 * of the order. Its later blocks are put in their place by a "reorg" of no blocks: at once when they are at most
 * `pauseMs` behind the others, else once in `pauseMs`. Rejects as a generator does.
 */
export async function* mergeInOrder(
  generators: readonly Generator[],
  perChainSync: PerChainSync,
  {
    pauseMs = shared().chainPauseMs,
    now = () => performance.now(),
    log = processLog(),
    away = shared().awayChains,
    silent = shared().silentChains,
  }: OrderOptions = {},
): AsyncGenerator<Item> {
  const keep = createStartKeeper();
  for (const [chain, { syncProgress }] of perChainSync) await keep(chain, syncProgress);
  const following = [...perChainSync].filter(([, { syncProgress }]) => !syncProgress.isEnd());
  const wakeUp = createWakeUp();
  // ponder: one generator for each chain that has not ended, in this order.
  const sources = following.flatMap(([chain, { syncProgress: progress }], index) => {
    const generator = generators[index];
    return generator ? createSource({ chain, progress, generator, now, wake: wakeUp.wake }) : [];
  });
  const timing = { pauseMs, now, log, away };
  for (const id of silent) away.add(id);
  // All events up to here are executed, and none after it.
  let reached = "";
  for (;;) {
    for (const source of sources) source.ask(away);
    const dueIn = Math.min(leaveOut(sources, timing), comeBack(sources, timing));
    const source = pickNext(sources, away);
    if (source === undefined) {
      if (sources.every(({ isDone, items }) => isDone && items.length === 0)) return;
      await wakeUp.wait(dueIn);
      continue;
    }
    const { chain, progress } = source;
    const isLater = isLaterThanOthers(source, sources);
    const event = source.take(away);
    source.ask(away);
    const lowest = () =>
      [...chainsInOrder(perChainSync, chain, away).values()]
        .map(({ syncProgress }) => syncProgress.getCheckpoint({ tag: "current" }))
        .reduce((one, other) => (one < other ? one : other));
    if (event.type === "block") {
      const at = encodeBlockEnd(event.block, chain);
      if (at < reached) {
        yield { chain, event: { type: "reorg", block: progress.current as SyncBlock, reorgedBlocks: [] } };
        reached = lowest();
      }
      // Not before anything else: what becomes final must have been executed.
      if (!isLater && source.openItems(away)[0]?.event.type === "block") event.isHeld = true;
      else reached = at;
    }
    if (event.type === "finalize") await keep(chain, progress, event.block);
    yield { chain, event };
    if (event.type === "reorg") reached = lowest();
  }
}

type EventSource = ReturnType<typeof createSource>;
type Timing = Required<Omit<OrderOptions, "silent">>;

function createSource({
  generator,
  now,
  wake,
  ...of
}: { chain: OrderedChain; progress: SyncProgress; generator: Generator } & {
  now: () => number;
  wake: () => void;
}) {
  let isAsked = false;
  let failure: { error: unknown } | undefined;
  const openItems = (away: ReadonlySet<number>) =>
    away.has(of.chain.id) ? source.items.slice(0, source.due) : source.items;
  const source = {
    ...of,
    items: [] as { event: SyncEvent; at: number }[],
    isDone: false,
    heardAt: now(),
    /** When it was left out, or its blocks were last put in their place. */
    putAt: 0,
    /** How many items are put in their place although it is left out. */
    due: 0,
    /** Asks for what comes next; of a chain that is left out for all there is. Throws what the generator threw. */
    ask(away: ReadonlySet<number>) {
      if (failure) throw failure.error;
      if (isAsked || source.isDone || (source.items.length > 0 && !away.has(of.chain.id))) return;
      isAsked = true;
      const settle = () => {
        isAsked = false;
        wake();
      };
      generator
        .next()
        .then(({ done, value }) => {
          source.heardAt = now();
          if (done) source.isDone = true;
          else source.items.push({ event: (value as Item).event, at: now() });
        })
        .catch((error: unknown) => {
          failure = { error };
        })
        .finally(settle);
    },
    openItems,
    take(away: ReadonlySet<number>): SyncEvent {
      if (away.has(of.chain.id)) source.due -= 1;
      return (source.items.shift() as { event: SyncEvent }).event;
    },
  };
  return source;
}

const readCurrentCheckpoint = ({ progress }: EventSource) => progress.getCheckpoint({ tag: "current" });

// ponder: the end of a block as a checkpoint, which `parseCheckpoint` describes.
const encodeBlockEnd = ({ timestamp, number }: SyncBlock, { id }: OrderedChain) =>
  String(Number(timestamp)).padStart(10, "0") +
  String(id).padStart(16, "0") +
  String(Number(number)).padStart(16, "0") +
  "9".repeat(33);

const encodeHead = ({ items: [first], chain }: EventSource) =>
  first ? encodeBlockEnd(first.event.block, chain) : "";

// The chain whose event comes next. An event that is not a block comes at once.
function pickNext(sources: readonly EventSource[], away: ReadonlySet<number>): EventSource | undefined {
  const open = sources.filter((source) => source.openItems(away).length > 0);
  const other = open.find(({ items }) => items[0]?.event.type !== "block");
  if (other !== undefined || open.length === 0) return other;
  const first = open.reduce((one, next) => (encodeHead(next) < encodeHead(one) ? next : one));
  const isUnknown = sources.some(
    (source) => isWaitedFor(source, away) && readCurrentCheckpoint(source) < encodeHead(first),
  );
  return isUnknown ? undefined : first;
}

const isWaitedFor = ({ isDone, items, chain }: EventSource, away: ReadonlySet<number>) =>
  !isDone && items.length === 0 && !away.has(chain.id);

// Whether a source's next block is after all that the others have shown.
function isLaterThanOthers(source: EventSource, sources: readonly EventSource[]): boolean {
  const [first] = source.items;
  if (first?.event.type !== "block") return true;
  return sources.every((other) => other === source || readCurrentCheckpoint(other) < encodeHead(source));
}

// Leaves out chains that let others wait for too long. Returns the milliseconds until the next one is due.
function leaveOut(sources: readonly EventSource[], { pauseMs, now, log, away }: Timing): number {
  const waiting = Math.min(...sources.flatMap((source) => source.openItems(away)[0]?.at ?? []));
  if (waiting === Infinity) return Infinity;
  let dueIn = Infinity;
  for (const source of sources.filter((one) => isWaitedFor(one, away))) {
    const left = Math.max(source.heardAt, waiting) + pauseMs - now();
    if (left > 0) {
      dueIn = Math.min(dueIn, left);
      continue;
    }
    const { chain, progress } = source;
    away.add(chain.id);
    source.putAt = now();
    log("warn", "The chain has no new blocks. The other chains continue without it", {
      ...{ chain: chain.name, block: Number(progress.current?.number) },
      section: seeOperations("When a chain pauses"),
    });
  }
  return dueIn;
}

// Puts the blocks of chains that were left out in their place. Returns the milliseconds until the next ones are due.
function comeBack(sources: readonly EventSource[], { pauseMs, now, log, away }: Timing): number {
  const others = sources.filter(({ chain }) => !away.has(chain.id));
  const front = Math.max(...others.map((source) => Number(readCurrentCheckpoint(source).slice(0, 10))));
  let dueIn = Infinity;
  for (const source of sources.filter(({ chain, items }) => away.has(chain.id) && items.length > 0)) {
    const newest = source.items.findLast(({ event }) => event.type === "block")?.event.block;
    if (source.isDone || (newest && (front - Number(newest.timestamp)) * 1_000 <= pauseMs)) {
      away.delete(source.chain.id);
      source.due = 0;
      log("info", "The chain has resumed", { chain: source.chain.name });
      continue;
    }
    const left = source.due > 0 ? Infinity : source.putAt + pauseMs - now();
    if (left > 0) dueIn = Math.min(dueIn, left);
    else {
      source.due = source.items.length;
      source.putAt = now();
    }
  }
  return dueIn;
}

function createWakeUp() {
  let isAwake = false;
  let wake: (() => void) | undefined;
  return {
    wake() {
      isAwake = true;
      wake?.();
    },
    async wait(milliseconds: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (isAwake) resolve();
      const timer = milliseconds === Infinity ? undefined : setTimeout(resolve, Math.ceil(milliseconds));
      timer?.unref();
      await promise;
      clearTimeout(timer);
      isAwake = false;
    },
  };
}
