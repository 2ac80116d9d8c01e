import type { Registry } from "prom-client";
import { forClient } from "../http/turn.ts";
import type { Log } from "../log/json-log.ts";
import { repeat } from "../operations/repeat.ts";
import { addGauge } from "../ponder/gauge.ts";
import type { FeedState } from "./log.ts";
import {
  type FeedPage,
  type FeedPosition,
  type FeedRequest,
  type FeedSource,
  formatFeedId,
  type LogItem,
  type Message,
  readFeed,
  readItems,
  readNewest,
  toMessages,
} from "./read.ts";

const pollMs = 250;
const maxHeld = 2_000;
// Long pages are held in memory while clients read them, so that few streams have them at a time. The first page is
// short anyway: clients may read a few messages and go.
const pageRows = { short: 100, long: 1_000 } as const;
const maxLong = 16;
const sliceCharacters = 65_536;

/** What a stream asks for. `client`: as the queue of statements knows it. `renew`: whether it may go on. */
export type StreamRequest = Omit<FeedRequest, "limit"> & {
  after: FeedPosition;
  client: string;
  renew: () => boolean;
  signal: AbortSignal;
};

/** The newest rows of the log. `items` are contiguous, the first after the row `from`. */
type LogRows = { state: FeedState; from: number; items: LogItem[] };

type FeedSources = { source: FeedSource; log: Log; registry?: Registry | undefined };

type FollowOptions = FeedSources & {
  /** Open streams of all clients together. */
  maxStreams?: number;
  /** Milliseconds after which an idle stream sends a heartbeat, and each asks whether its client may go on. */
  heartbeatMs?: number;
};

// The newest rows of the log, read for all streams of the process together while there are any.
function createTail({ source, log }: FeedSources) {
  const waiting = new Set<() => void>();
  const tail = {
    rows: undefined as LogRows | undefined,
    streams: new Map<string, number>(),
    longPages: 0,
    isOpen: true,
    change,
    readSoon,
    stop,
  };
  const stopPolling = repeat(poll, {
    everyMs: pollMs,
    log,
    failure: "Could not read the feed of name events",
    fields: {},
  });

  async function poll(): Promise<void> {
    const former = tail.streams.size === 0 ? undefined : tail.rows;
    tail.rows = former;
    if (tail.streams.size === 0) return;
    const signal = AbortSignal.timeout(30_000);
    tail.rows = former ? await readOn(source, former, signal) : await readEnd(source, signal);
    if (tail.rows !== former) wakeAll();
  }

  function wakeAll(): void {
    for (const wake of [...waiting]) wake();
  }

  /** Resolves after the next change, after `ms`, or once the client is gone. */
  function change(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const timer = setTimeout(wake, ms);
    waiting.add(wake);
    signal.addEventListener("abort", wake);
    return promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(wake);
      signal.removeEventListener("abort", wake);
    });
  }

  function readSoon(): void {
    stopPolling.soon();
  }

  function stop(): void {
    tail.isOpen = false;
    stopPolling();
    wakeAll();
  }

  return tail;
}

async function readEnd(source: FeedSource, signal: AbortSignal): Promise<LogRows | undefined> {
  const newest = await readNewest(source, signal);
  return newest && { state: newest.state, from: newest.position.seq ?? 0, items: [] };
}

// The same rows if nothing has changed.
async function readOn(
  source: FeedSource,
  former: LogRows,
  signal: AbortSignal,
): Promise<LogRows | undefined> {
  const { from, items } = former;
  const { state, items: next } = await readItems(source, from + items.length, 500, signal);
  if (state?.index !== former.state.index) return readEnd(source, signal);
  if (state.final === former.state.final && next.length === 0) return former;
  const all = [...items, ...next];
  for (const { row } of next) {
    const taken = row.reverts === null ? undefined : all[row.reverts - from - 1];
    if (taken) taken.row.isReverted = true;
  }
  const dropped = Math.max(0, all.length - maxHeld);
  return { state, from: from + dropped, items: all.slice(dropped) };
}

type LogTail = ReturnType<typeof createTail>;

async function readPageAfter(
  after: FeedPosition,
  request: StreamRequest,
  { source, tail, isLive, limit }: Pick<Opened, "source" | "tail"> & { isLive: boolean; limit: number },
): Promise<FeedPage> {
  const { filter, finality, client, signal } = request;
  const { from, items, ...newest } = tail.rows ?? { ...request, from: Number.POSITIVE_INFINITY, items: [] };
  // The rows may have been read before the stream began.
  const state = newest.state.final < request.state.final ? request.state : newest.state;
  if (isLive && after.seq !== null && after.seq >= from) {
    const { namespaces } = source;
    const next = items.slice(after.seq - from);
    return { ...toMessages(next, { state, after, filter, finality, namespaces }), isAtEnd: true };
  }
  const asked = { state, filter, finality, limit };
  return forClient(client, () => readFeed(source, after, asked, signal));
}

type Opened = {
  source: FeedSource;
  tail: LogTail;
  longPages: ReturnType<typeof openLongPages>;
  heartbeatMs: number;
};

// Takes a place among the streams with long pages, or leaves it; returns whether the stream has one.
function openLongPages(tail: LogTail) {
  let isLong = false;
  return (isWanted: boolean): boolean => {
    if (isWanted === isLong || (isWanted && tail.longPages >= maxLong)) return isLong;
    tail.longPages += isWanted ? 1 : -1;
    isLong = isWanted;
    return isLong;
  };
}

async function* follow(request: StreamRequest, opened: Opened): AsyncGenerator<string> {
  const { finality, signal } = request;
  const { tail, heartbeatMs } = opened;
  let position = request.after;
  let isLive = false;
  let sentAt = performance.now();
  let admittedAt = sentAt;
  const isAdmitted = () => {
    if (performance.now() - admittedAt < heartbeatMs) return true;
    admittedAt = performance.now();
    return request.renew();
  };
  const progress = () => {
    const { rows } = tail;
    return rows && (finality === "latest" ? rows.from + rows.items.length : rows.state.final);
  };
  // Ids of another index mean other places.
  const mayGoOn = () =>
    tail.isOpen &&
    !signal.aborted &&
    (tail.rows?.state.index ?? position.index) === position.index &&
    isAdmitted();
  const read = (limit: number) => {
    const [before, page] = [progress(), readPageAfter(position, request, { ...opened, isLive, limit })];
    // It may fail while the page before is sent.
    page.catch(() => undefined);
    return { before, page };
  };
  let next: ReturnType<typeof read> | undefined;
  while (mayGoOn()) {
    const { before, page: reading } = next ?? read(pageRows.short);
    const page = await reading;
    position = page.end;
    // While a page is sent the next one is read.
    next = opened.longPages(!page.isAtEnd) ? read(pageRows.long) : undefined;
    for (const text of sliceMessages(page.messages)) {
      yield text;
      sentAt = performance.now();
    }
    const left = () => sentAt + heartbeatMs - performance.now();
    // The first says that from now on messages are of what happens.
    if (left() <= 0 || (page.isAtEnd && !isLive)) {
      isLive ||= page.isAtEnd;
      yield formatMessage("heartbeat", {}, formatFeedId(position));
      sentAt = performance.now();
    }
    while (page.isAtEnd && mayGoOn() && progress() === before && left() > 0)
      await tail.change(left(), signal);
  }
}

const texts = new WeakMap<Message, string>();

// Messages as texts of about a slice. Streams share those of entries that they share.
function* sliceMessages(messages: readonly Message[]): Generator<string> {
  let slice = "";
  for (const message of messages) {
    const text = texts.get(message) ?? formatMessage(message.event, message.data, message.id);
    texts.set(message, text);
    slice += text;
    if (slice.length < sliceCharacters) continue;
    yield slice;
    slice = "";
  }
  if (slice !== "") yield slice;
}

/** The feed of a process. */
export type Feed = ReturnType<typeof openFeed>;

/**
 * Opens the feed of a process. While there are streams one statement reads what is new for all of them, some times a
 * second.
 */
export function openFeed({ source, log, registry, maxStreams = 2_000, heartbeatMs = 15_000 }: FollowOptions) {
  const tail = createTail({ source, log });
  const streamsOf = (client: string) => tail.streams.get(client) ?? 0;
  const streams = () => [...tail.streams.values()].reduce((sum, one) => sum + one, 0);
  const count = (client: string, change: 1 | -1) => {
    const left = streamsOf(client) + change;
    if (left === 0) tail.streams.delete(client);
    else tail.streams.set(client, left);
  };
  const metric = { name: "nsindex_event_streams", help: "Open streams of name events" };
  addGauge(registry, metric, (gauge) => gauge.set(streams()));
  return {
    source,
    /** How many streams are open. */
    streams,
    /**
     * Whether a client has its share of streams: as many as are free for others. One without a stream gets any free
     * one.
     */
    isFull: (client: string) => streamsOf(client) >= maxStreams - streams(),
    /**
     * The messages after a position as Server-Sent Events, with heartbeats, until the client is gone, this process
     * serves another index, or a statement fails: the client resumes by its last id.
     */
    async *stream(request: StreamRequest): AsyncGenerator<string> {
      count(request.client, 1);
      if (tail.rows?.state.index !== request.state.index) tail.rows = undefined;
      const longPages = openLongPages(tail);
      try {
        yield* follow(request, { source, tail, longPages, heartbeatMs });
      } catch (error) {
        const reason = error instanceof Error ? error.message : error;
        if (!request.signal.aborted) log("warn", `A stream of name events ended: ${reason}`);
      } finally {
        longPages(false);
        count(request.client, -1);
      }
    },
    /** Reads at once what the log has, for a process that knows of new rows. */
    readSoon: tail.readSoon,
    /** Ends all streams. */
    stop: tail.stop,
  };
}

/** A message as Server-Sent Events have it. */
export const formatMessage = (event: string, data: object, id?: string) =>
  `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
