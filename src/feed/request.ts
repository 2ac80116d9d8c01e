import { choice, textParameter } from "../ens/parameters.ts";
import type { LookupContext } from "../read/names/source.ts";
import { refuse } from "../read/refusal.ts";
import type { Feed } from "./follow.ts";
import { type Finality, findPlace, formatFeedId, readNewest } from "./read.ts";

/** The context of the endpoints of the feed. */
export type FeedContext = LookupContext & { feed: Feed };

/** The parameters that say where in the feed a client goes on, and how final its events are. */
export const feedParameters = {
  after: textParameter("after", 600)
    .optional()
    .describe("The id of a message of the stream: continues after it"),
  finality: choice("finality", ["latest", "safe", "finalized"])
    .default("latest")
    .describe("`finalized`: events that no reorganization can revert; `safe` means the same"),
};

/** What a word means: the index knows no blocks that are safe alone. */
export const parseFinality = (word: "latest" | "safe" | Finality): Finality =>
  word === "latest" ? word : "finalized";

/**
 * The feed's state, its newest position, and that of an id, `gone` for an event of another index. Refuses made-up ids,
 * and a feed that has not begun.
 */
export async function openPlace({ feed }: FeedContext, id: string | undefined, signal: AbortSignal) {
  const newest = await readNewest(feed.source, signal);
  if (newest === undefined)
    return refuse("overloaded", "The feed begins a moment after the backfill. Try again in some seconds.");
  const place = id === undefined ? undefined : await findPlace(feed.source, newest.state, id, signal);
  if (place !== "unknown") return { ...newest, place };
  return refuse(
    "invalid_input",
    `after: no message has this id; the newest known one is ${formatFeedId(newest.position)}`,
  );
}
