import type { Healed, HistoryEntry, Name, Reverted } from "./types.generated.ts";

type Message<Event extends string, Data> = { id: string | undefined; event: Event; data: Data };

type Change = Message<"event", HistoryEntry> | Message<"reverted", Reverted> | Message<"healed", Healed>;

/** A message of the stream of events (docs/events.md). `id`: a stream goes on after it; the last one has none. */
export type StreamMessage =
  | Change
  | Message<"heartbeat", Record<string, never>>
  | Message<"must-refetch", { reason: string }>;

/** A deadline of a name, with the members of its row. Times are Unix seconds. */
export type Reminder = Name & { reminder: string; due_at: string; late: boolean };

/** A message of a webhook (docs/webhooks.md). */
export type WebhookMessage =
  | Change
  | Message<"reminder", Reminder>
  | Message<"must-refetch" | "test", Record<string, never>>;
