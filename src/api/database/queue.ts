import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { createLane, type LaneLimits } from "./lanes.ts";

/** How many statements run and wait, and from when on one counts as slow. */
export type QueueLimits = Omit<LaneLimits, "spare"> & {
  /** Milliseconds that a statement may take beside the quick ones. */
  quickMs: number;
  /** Further places, only for statements whose text took next to no time lately. */
  short: number;
  /** Statements that run for longer, at the same time; one of them only for clients that have none. 0: no limit of time. */
  slow: number;
  /** Slow statements that wait, of all clients; of one client half of them. */
  slowQueue: number;
};

/** Lanes in the order in which a statement that is stopped in one passes through them. */
type Lane = "short" | "quick" | "slow";

/** What a statement may do from when its turn comes. */
export type Turn = {
  lane: Lane;
  /** Milliseconds after which it asks whether it may go on; none if it need not. */
  quickMs: number | undefined;
  /** Whether it may go on. If not it is to be stopped, and may ask for a turn after this lane. */
  mayGoOn(): boolean;
  end(): void;
};

// Statements that were slow are remembered for so long, by client: what is slow with one's values may be quick with another's.
const slowForMs = 60_000;
const mostSlow = 2_000;
const patience = 5;
// The part of the time of quick ones that a short one takes, and how much longer its least time counts as with each further run.
const shortPart = 1 / 20;
const forgetting = 1.1;

const clients = new AsyncLocalStorage<string>();

/** The client whose request is worked on here, as named to `forClient`; undefined for the service's own work. */
export const currentClient = () => clients.getStore();

/**
 * The one queue for statements, in three lanes: one that has taken longer than `quickMs` goes on only on one of the places for
 * slow ones, so that quick ones wait for quick ones alone. What was slow lately begins there; what was quick lately has
 * `patience` times as long, since it may wait for a processor. Where the quick ones have no place, statements that took next to
 * no time lately, whoever asked, have places of their own. Statements that no client asked for (the service's own) are
 * neither slow nor refused.
 */
export function createQueue(limits: QueueLimits, clock = performance.now.bind(performance)) {
  const { short, slow } = limits;
  const known = createKnown(limits.quickMs);
  const turns = createTurns(limits, known, clock);

  return {
    /** Runs a task whose statements, later ones too, count as those of the client with this name. */
    forClient: <T>(name: string, task: () => T): T => clients.run(name, task),

    /**
     * Waits for a turn of the statement `sql`, in a lane after the one that it was `stoppedIn`. Throws BusyError, or the reason of
     * `signal` once aborted.
     */
    async turn(sql: string, signal: AbortSignal, stoppedIn?: Lane): Promise<Turn> {
      const client = currentClient();
      if (client === undefined || slow === 0) {
        const end = await turns.quickLane.turn(client, signal);
        return { lane: "quick", quickMs: undefined, mayGoOn: () => true, end };
      }
      const text = sql.length < longText ? sql : hash("sha1", sql);
      const asked = { client, text, key: `${client} ${text}` };
      if (stoppedIn === "quick") known.slow.set(asked.key, 1);
      if (known.slow.has(asked.key)) return turns.slow(asked, signal);
      signal.throwIfAborted();
      let leave = turns.quickLane.enter(client);
      if (leave === undefined && short > 0 && stoppedIn === undefined && known.isShort(text))
        return turns.short(asked, signal);
      leave ??= await turns.quickLane.turn(client, signal);
      // Others like it may have been slow while it waited.
      if (known.slow.has(asked.key)) {
        leave();
        return turns.slow(asked, signal);
      }
      return turns.quick(asked, leave);
    },
  };
}

/** A statement of a client: its text, and what is known of this client's statements with it. */
type Asked = { client: string; text: string; key: string };

type Clock = () => number;

/** The turns of statements in each lane. */
function createTurns(limits: QueueLimits, known: ReturnType<typeof createKnown>, clock: Clock) {
  const { quickMs, short, slow, slowQueue } = limits;
  const quickLane = createLane(limits);
  const shortLane = createLane({ ...limits, concurrency: short });
  const slowLane = createLane({
    concurrency: Math.max(1, slow - 1),
    spare: slow > 1 ? 1 : 0,
    queue: slowQueue,
    queuePerClient: Math.ceil(slowQueue / 2),
  });

  async function slowTurn({ client, key }: Asked, signal: AbortSignal): Promise<Turn> {
    const leave = await slowLane.turn(client, signal);
    const since = clock();
    const end = () => {
      if (clock() - since < quickMs) known.slow.delete(key);
      leave();
    };
    return { lane: "slow", quickMs: undefined, mayGoOn: () => true, end };
  }

  async function shortTurn({ client, text }: Asked, signal: AbortSignal): Promise<Turn> {
    const leave = await shortLane.turn(client, signal);
    const since = clock();
    let isShort = true;
    const end = () => {
      if (isShort) known.note(text, clock() - since);
      leave();
    };
    const mayGoOn = () => {
      isShort = false;
      known.forget(text);
      return false;
    };
    return { lane: "short", quickMs: quickMs / 2, mayGoOn, end };
  }

  function quickTurn({ client, text, key }: Asked, entered: () => void): Turn {
    let leave = entered;
    const since = clock();
    const end = () => {
      const took = clock() - since;
      known.note(text, took);
      if (took < quickMs && !known.slow.has(key)) known.quick.set(key, 1);
      leave();
    };
    const mayGoOn = () => {
      known.quick.delete(key);
      known.slow.set(key, 1);
      const leaveSlow = slowLane.enter(client);
      if (leaveSlow === undefined) return false;
      leave();
      leave = leaveSlow;
      return true;
    };
    return { lane: "quick", quickMs: known.quick.has(key) ? quickMs * patience : quickMs, mayGoOn, end };
  }

  return { quickLane, slow: slowTurn, short: shortTurn, quick: quickTurn };
}

/** What is known of statements: who was slow and who quick by client and text, and by text alone how little time they take. */
function createKnown(quickMs: number) {
  // A statement may wait for a processor, so the least of late counts.
  const least = new LRUCache<string, number>({ max: mostSlow });
  return {
    slow: new LRUCache<string, number>({ max: mostSlow, ttl: slowForMs }),
    quick: new LRUCache<string, number>({ max: mostSlow, ttl: slowForMs }),
    isShort: (text: string) => (least.get(text) ?? quickMs) <= quickMs * shortPart,
    forget: (text: string) => least.delete(text),
    note(text: string, took: number) {
      least.set(text, Math.min(took, (least.get(text) ?? took) * forgetting));
    },
  };
}

// Texts from here on are told apart by their hash.
const longText = 1_000;
