import { randomUUID } from "node:crypto";
import type { Hook } from "../../config/webhooks-file.ts";
import type { HookState, Positions, StoredState } from "./positions.ts";

/**
 * A message of the feed: an event, the events that a reorganization reverted, or names that have their labels now; or a
 * reminder.
 */
export type FeedMessage = { id: string; event: "event" | "reverted" | "healed" | "reminder"; data: object };

/**
 * Reads the feed after an id, or from `from` on without one. Pass `position` to the next read, also if nothing matched;
 * at the end of the feed it is `after` itself. `mustRefetch`: the id is of another index, whose events differ.
 */
export type ReadFeed = (
  after: string | undefined,
  asked: {
    filter: Record<string, string>;
    finality: "latest" | "finalized";
    from: "latest" | "start";
    limit: number;
    signal: AbortSignal;
  },
) => Promise<{ messages: FeedMessage[]; position: string | undefined; mustRefetch?: boolean }>;

/** The clock of deliveries, in Unix milliseconds; tests have their own. */
export type Clock = {
  now(): number;
  pause(ms: number, signal: AbortSignal): Promise<unknown>;
  deadline(ms: number): AbortSignal;
};

/** How soon a hook looks for new messages. */
export const idleMs = 1_000;
// How soon it looks on behind a part of the feed in which nothing matched.
const furtherMs = 100;
/** How long a reading may take. */
export const readMs = 30_000;
/** How many messages are read at once. */
export const maxMessages = 200;
// Standard Webhooks: below 20 kB.
const maxBytes = 20_000;

/** What reading needs. `signal` ends it. */
export type HookReading = { positions: Positions; readFeed: ReadFeed; clock: Clock; signal: AbortSignal };

/** A hook's state after a step, undefined if another process changed it, and the milliseconds until the next one. */
export type Step = { stored: StoredState | undefined; ms: number };

/** Returns a function that reads what a hook has to be sent next, and stores it before it is sent. */
export function createReading(hook: Hook, { positions, readFeed, clock, signal }: HookReading) {
  const { name, filter, finality } = hook;
  // What was read and follows a position.
  let left: (Awaited<ReturnType<ReadFeed>> & { after: string | undefined }) | undefined;

  const read = (after: string | undefined, from: HookState["from"]) =>
    readFeed(after, {
      ...{ filter, finality, from, limit: maxMessages },
      signal: AbortSignal.any([signal, clock.deadline(readMs)]),
    });

  // Nothing that follows the receiver's own reading may be left out: the feed goes on from where it ends before that.
  async function refetch() {
    const { position } = await read(undefined, "latest");
    const body = JSON.stringify([{ id: position, event: "must-refetch", data: {} }]);
    return { body, messages: 1, position };
  }

  return async (stored: StoredState): Promise<Step> => {
    const { state } = stored;
    const save = async (changed: Partial<HookState>, ms: number) => ({
      stored: await positions.save(name, stored, { ...state, ...changed }),
      ms,
    });
    const found = left?.after === state.position && left ? left : await read(state.position, state.from);
    left = undefined;
    if (found.messages.length === 0 && !found.mustRefetch) {
      const { position = state.position } = found;
      if (position !== state.position) return save({ position }, furtherMs);
      return { stored: await withoutLag(name, stored, positions), ms: idleMs };
    }
    const next = found.mustRefetch ? await refetch() : packed(found.messages, found.position);
    const rest = found.messages.slice(next.messages);
    if (rest.length > 0) left = { messages: rest, position: found.position, after: next.position };
    const pending = { ...next, id: `msg_${randomUUID()}` };
    return save({ pending, behindSince: state.behindSince ?? clock.now() }, 0);
  };
}

/** Notes that nothing waits for a hook. */
export const withoutLag = async (name: string, stored: StoredState, positions: Positions) =>
  stored.state.behindSince === undefined
    ? stored
    : positions.save(name, stored, { ...stored.state, behindSince: undefined });

/**
 * The first messages as one body below 20 kB; one that is longer by itself goes alone. `end`: the position behind all
 * of them.
 */
export function packed(messages: readonly FeedMessage[], end: string | undefined) {
  const texts: string[] = [];
  let bytes = 1;
  for (const { id, event, data } of messages) {
    const text = JSON.stringify({ id, event, data });
    bytes += Buffer.byteLength(text) + 1;
    if (texts.length > 0 && bytes >= maxBytes) break;
    texts.push(text);
  }
  const last = messages[texts.length - 1]?.id;
  const position = texts.length === messages.length ? (end ?? last) : last;
  return { body: `[${texts.join(",")}]`, messages: texts.length, position };
}
