import { setTimeout as pause } from "node:timers/promises";
import type { Registry } from "prom-client";
import type { Hook } from "../../config/webhooks-file.ts";
import { type Log, seeOperations } from "../../log/json-log.ts";
import type { Statement } from "../../ponder/sql-client.ts";
import { addWebhookMetrics, type HookStatus } from "./metrics.ts";
import { type HookState, openPositions, type Pending, type StoredState } from "./positions.ts";
import { post } from "./post.ts";
import { type Clock, createReading, type HookReading, idleMs, type ReadFeed, type Step } from "./read.ts";
import { type ReadHookReminders, withReminders } from "./reminders.ts";

// Delivers the feed and reminders to the hooks of WEBHOOKS_FILE, one loop for each hook. The messages come from
// src/feed; this folder reads, signs and sends them, and stores how far each hook is.

// Svix' schedule, seconds before each attempt; then the hook is paused.
const attempts = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];
const answerMs = 15_000;
const faultMs = 5_000;
const holdMs = 15_000;

const systemClock: Clock = {
  now: Date.now,
  pause: (ms, signal) => pause(ms, undefined, { signal, ref: false }),
  deadline: (ms) => AbortSignal.timeout(ms),
};

/** What startWebhooks needs. `schema`: of the index that delivers. `isReady`: whether its backfill is complete. */
type WebhookOptions = {
  hooks: readonly Hook[];
  readFeed: ReadFeed;
  readReminders: ReadHookReminders;
  database: { run: Statement; namespace: string; schema: string };
  isReady(): boolean;
  log: Log;
  registry?: Registry | undefined;
  clock?: Clock;
  /** How soon a hook notices what `npm run webhooks` changed. */
  waitingMs?: number;
};

/**
 * Delivers the feed to each hook, in order and at least once, while no other index of the namespace does. Returns how
 * to stop it, and the status of the hooks.
 */
export function startWebhooks(options: WebhookOptions) {
  const { hooks, database, isReady, registry, clock = systemClock, waitingMs = 10_000 } = options;
  const positions = openPositions(database.run, database.namespace);
  const stopped = new AbortController();
  const tools = { ...options, clock, waitingMs, positions, signal: stopped.signal };
  const names = hooks.map(({ name }) => name);
  let held: ReadonlySet<string> = new Set();
  const deliveries = hooks.map((hook) => createDelivery(hook, tools));
  const status = () => deliveries.map((one) => one.status(held.has(one.name)));
  if (registry !== undefined) addWebhookMetrics(registry, status);

  const hold = async () => {
    if (!isReady()) return idleMs;
    if (held.size === 0) await positions.prepare(hooks);
    held = await positions.hold(names, database.schema);
    return holdMs;
  };
  // Another deliverer takes over at once, after a hold that is under way. A database that is away lets it wait.
  const release = () =>
    held.size === 0 ? undefined : positions.release(database.schema).catch(() => undefined);
  const loops = () => [
    runRounds(hold, "Webhooks: the database cannot be used", tools).then(release),
    ...deliveries.map(({ name, step }) => {
      const next = async () => (held.has(name) ? step() : idleMs);
      return runRounds(next, `Webhook ${name}: the feed or the database cannot be used`, tools);
    }),
  ];
  const stop = () => stopped.abort();
  return { stop, status, ended: Promise.all(hooks.length === 0 ? [] : loops()) };
}

type Tools = HookReading & { log: Log; readReminders: ReadHookReminders; waitingMs: number };

/** Repeats work, which returns how many milliseconds it pauses. Logs the first failure in a row. Never rejects. */
async function runRounds(work: () => Promise<number>, what: string, { signal, log, clock }: Tools) {
  let isFailing = false;
  while (!signal.aborted) {
    let ms = faultMs;
    try {
      ms = await work();
      isFailing = false;
    } catch (error) {
      const section = seeOperations("When a dependency is unavailable");
      if (!isFailing && !signal.aborted) log("warn", `${what}, retrying: ${error}`, { section });
      isFailing = true;
    }
    if (ms > 0) await clock.pause(ms, signal).catch(() => undefined);
  }
}

// A hook's status, and a function that takes it one step further: reads what is next, or attempts to deliver it.
function createDelivery(hook: Hook, tools: Tools) {
  const { name } = hook;
  const { positions, clock, waitingMs, log, signal } = tools;
  const fill = withReminders(hook, tools, createReading(hook, tools));
  const counts = { delivered: 0, failed: 0 };
  let current: HookState | undefined;
  // As this process stored it last; others change it only through its version.
  let kept: StoredState | undefined;

  async function attempt(stored: StoredState, pending: Pending): Promise<Step> {
    const { state } = stored;
    const by = { at: new Date(clock.now()), signal: AbortSignal.any([signal, clock.deadline(answerMs)]) };
    const fault = await post(hook, pending, by);
    const save = async (next: HookState) => ({ stored: await positions.save(name, stored, next), ms: 0 });
    if (fault === undefined) {
      counts.delivered += pending.messages;
      const { from, reminders, behindSince } = state;
      return save({
        position: pending.position,
        from: pending.position === undefined ? from : "latest",
        reminders: pending.reminders ?? reminders,
        ...{ failures: 0, behindSince },
      });
    }
    // An attempt that the end of the process cuts off is none.
    if (signal.aborted) return { stored, ms: 0 };
    counts.failed += 1;
    const failures = state.failures + 1;
    const delay = attempts[failures];
    const nextAt = delay === undefined ? undefined : clock.now() + delay * 1_000;
    const failed: HookState = { ...state, failures, fault, nextAt };
    if (failures === 2)
      log("warn", `Webhook ${name} fails, retrying: ${fault}.`, {
        section: seeOperations("When a dependency is unavailable"),
      });
    if (delay !== undefined) return save(failed);
    const reason = `${failures} attempts failed, the last one because ${fault}`;
    log("error", `Webhook ${name} is paused: ${reason}.`, {
      section: seeOperations("When a webhook is paused"),
    });
    return save({ ...failed, paused: { at: clock.now(), reason } });
  }

  return {
    name,
    async step(): Promise<number> {
      const before = kept ?? (await positions.read(name));
      kept = undefined;
      const { paused, pending, failures, nextAt = 0 } = before.state;
      const left = nextAt - clock.now();
      // The clock was set back behind the last attempt, which may have been refused for it, if more is left than the
      // whole delay.
      const isDue = left > (attempts[failures] ?? 0) * 1_000;
      const wait = paused === undefined ? Math.min(isDue ? 0 : left, waitingMs) : waitingMs;
      const go = () => (pending === undefined ? fill(before) : attempt(before, pending));
      const { stored, ms } = wait > 0 ? { stored: before, ms: wait } : await go();
      current = (stored ?? before).state;
      if (ms === 0) kept = stored;
      return ms;
    },
    status(isHeld: boolean): HookStatus {
      const { fault, paused, behindSince = clock.now() } = (isHeld && current) || {};
      const lagSeconds = Math.max(0, (clock.now() - behindSince) / 1_000);
      return { name, isHeld, fault, paused, lagSeconds, ...counts };
    },
  };
}
