import { closedQuery } from "../ens/parameters.ts";
import { buildEntryFilter, entryParameters, resolveNodes } from "../read/events/entry-filters.ts";
import { readReminders } from "../read/events/reminders.ts";
import { findPlace, formatFeedId, readFeed, readNewest, startOfFeed } from "./read.ts";
import type { FeedContext } from "./request.ts";
import type { ReadFeed } from "./webhooks/read.ts";
import type { ReadHookReminders } from "./webhooks/reminders.ts";

const words = closedQuery(entryParameters);

/**
 * Reads the feed for hooks, whose filters have the words of GET /v1/events. An id that is not of this index means to
 * refetch.
 */
export const hookReader =
  (context: FeedContext): ReadFeed =>
  async (after, { filter, finality, from, limit, signal }) => {
    const { source } = context.feed;
    const newest = await readNewest(source, signal);
    if (newest === undefined) return { messages: [], position: after };
    const { state, position } = newest;
    const beginning = from === "start" ? startOfFeed(state) : position;
    if (after === formatFeedId(position)) return { messages: [], position: after };
    const place = after === undefined ? beginning : await findPlace(source, state, after, signal);
    if (place === "unknown" || place === "gone")
      return { messages: [], position: formatFeedId(position), mustRefetch: true };
    const asked = { state, filter: buildEntryFilter(words.parse(filter), context), finality, limit };
    const { messages, end } = await readFeed(source, place, asked, signal);
    return { messages, position: formatFeedId(end) };
  };

/** Reads the reminders of hooks, by the words of their filters that are of names: the others are of events alone. */
export const reminderReader =
  (context: FeedContext): ReadHookReminders =>
  (after, { filter, reminders, limit, signal }) => {
    const query = words.parse(filter);
    const { address, namespace } = query;
    return readReminders(
      context.feed.source,
      after,
      { reminders, ...resolveNodes(query, context), address, namespace, limit },
      signal,
    );
  };
