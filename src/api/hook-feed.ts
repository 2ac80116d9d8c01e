import { entryParameters, feedFilterOf } from "./endpoints/v1-history.ts";
import { idOf, placeOf, readFeed, readNewest, startOfFeed } from "./feed/read.ts";
import type { FeedContext } from "./feed/request.ts";
import { closedQuery } from "./names/contract.ts";
import { nameIn } from "./names/lists.ts";
import { readReminders } from "./names/reminders.ts";
import type { ReadFeed } from "./webhooks/read.ts";
import type { ReadHookReminders } from "./webhooks/reminders.ts";

const words = closedQuery(entryParameters);

/** Reads the feed for hooks, whose filters have the words of GET /v1/events. An id that is not of this index means to refetch. */
export const hookReader =
  (context: FeedContext): ReadFeed =>
  async (after, { filter, finality, from, limit, signal }) => {
    const { source } = context.feed;
    const newest = await readNewest(source, signal);
    if (newest === undefined) return { messages: [], position: after };
    const { state, position } = newest;
    const beginning = from === "start" ? startOfFeed(state) : position;
    const place = after === undefined ? beginning : await placeOf(source, state, after, signal);
    if (place === "unknown" || place === "gone")
      return { messages: [], position: idOf(position), mustRefetch: true };
    const asked = { state, filter: feedFilterOf(words.parse(filter), context), finality, limit };
    const { messages, end } = await readFeed(source, place, asked, signal);
    return { messages, position: idOf(end) };
  };

/** Reads the reminders of hooks, by the words of their filters that are of names: the others are of events alone. */
export const reminderReader =
  ({ feed }: FeedContext): ReadHookReminders =>
  (after, { filter, reminders, limit, signal }) => {
    const { name, address, namespace } = words.parse(filter);
    const node = name === undefined ? undefined : nameIn(name).node;
    return readReminders(feed.source, after, { reminders, node, address, namespace, limit }, signal);
  };
