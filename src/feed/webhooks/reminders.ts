import { randomUUID } from "node:crypto";
import type { Hook } from "../../config/webhooks-file.ts";
import type { ReminderPlace, readReminders } from "../../read/events/reminders.ts";
import type { HookState, StoredState } from "./positions.ts";
import { type HookReading, idleMs, maxMessages, packed, readMs, type Step, withoutLag } from "./read.ts";

/** Reads the reminders of a hook behind a place, as `readReminders` does. */
export type ReadHookReminders = (
  after: ReminderPlace | undefined,
  asked: Pick<Hook, "filter" | "reminders"> & { limit: number; signal: AbortSignal },
) => ReturnType<typeof readReminders>;

type Reminder = NonNullable<Awaited<ReturnType<ReadHookReminders>>>["reminders"][number];

type Fill = (stored: StoredState) => Promise<Step>;

/**
 * Adds reminders to what fills a hook's next delivery: both take turns, so that neither waits for the end of the other.
 * A place is stored with the delivery, and so nothing is read twice.
 */
export function withReminders(
  { name, filter, reminders, events }: Hook,
  { positions, clock, signal, readReminders }: HookReading & { readReminders: ReadHookReminders },
  fill: Fill,
): Fill {
  if (reminders.length === 0) return fill;
  let isTurnOfEvents = false;

  async function remind(stored: StoredState): Promise<Step | undefined> {
    const { state } = stored;
    const found = await readReminders(state.reminders, {
      ...{ filter, reminders, limit: maxMessages },
      signal: AbortSignal.any([signal, clock.deadline(readMs)]),
    });
    if (found === undefined) return undefined;
    const save = async (changed: Partial<HookState>) => ({
      stored: await positions.save(name, stored, { ...state, ...changed }),
      ms: 0,
    });
    if (found.reminders.length === 0) return save({ reminders: found.place });
    const { body, messages } = packed(found.reminders.map(buildMessage), undefined);
    const isWhole = messages === found.reminders.length;
    const pending = {
      ...{ body, messages, id: `msg_${randomUUID()}`, position: state.position },
      reminders: isWhole ? found.place : found.reminders[messages - 1]?.place,
    };
    return save({ pending, behindSince: state.behindSince ?? clock.now() });
  }

  return async (stored) => {
    const isRemindersTurn = !isTurnOfEvents;
    // Events have the next turn, also if reading reminders fails.
    isTurnOfEvents = isRemindersTurn;
    const reminded = isRemindersTurn ? await remind(stored) : undefined;
    if (reminded !== undefined) return reminded;
    isTurnOfEvents = false;
    const ms = isRemindersTurn ? idleMs : 0;
    if (!events) return { stored: await withoutLag(name, stored, positions), ms };
    const filled = await fill(stored);
    return { ...filled, ms: Math.min(filled.ms, ms) };
  };
}

/** The id of a reminder's message: of its kind, moment and name. */
const buildMessage = ({ data, place: [moment, , node] }: Reminder) => ({
  id: `reminder-${data.reminder}-${moment}-${node}`,
  event: "reminder" as const,
  data,
});

/** The place before a reminder's moment by the id of its message; undefined for another id. */
export function placeOfReminder(id: string): ReminderPlace | undefined {
  const [, moment] = /^reminder-\w+-(\d{1,12})-0x[0-9a-f]{64}$/.exec(id) ?? [];
  return moment === undefined ? undefined : [moment, "", ""];
}
