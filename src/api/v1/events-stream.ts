import { z } from "zod/v4";
import { closedQuery, textParameter } from "../../ens/parameters.ts";
import { formatMessage } from "../../feed/follow.ts";
import { type FeedPosition, positionOfBlock, startOfFeed } from "../../feed/read.ts";
import { type FeedContext, feedParameters, openPlace, parseFinality } from "../../feed/request.ts";
import { buildEntryFilter, entryParameters } from "../../read/events/entry-filters.ts";
import { refuse } from "../../read/refusal.ts";
import { findIndexedBlock } from "../../status/types.ts";
import { endpoint } from "../kit/endpoint.ts";
import { errorSchema } from "./contract.ts";
import { notFoundAnswer, ofLookup } from "./lists.ts";

const query = closedQuery({
  ...entryParameters,
  ...feedParameters,
  from: textParameter("from", 40)
    .regex(/^(latest|start|[1-9]\d{0,14}:\d{1,9})$/, {
      error: "from must be latest, start or <chain id>:<block>",
    })
    .optional()
    .describe("Where a client without an id starts: `latest`, `start` or `<chain id>:<block>`, inclusive"),
});

/** GET /v1/events/stream. */
export const eventStream = endpoint({
  ...ofLookup,
  path: "/v1/events/stream",
  summary: "Stream of name events",
  description:
    "Server-Sent Events: each name event once, in the order of processing, then new events as they happen. The header `Last-Event-ID` or `after` continues exactly after a message. See docs/events.md.",
  query,
  isCached: false,
  answers: {
    200: {
      description:
        "Messages `event` (an entry of `/v1/events` with `data` and `raw`), `reverted`, `healed`, `heartbeat` and `must-refetch`",
      schema: z.string(),
      type: "text/event-stream",
    },
    404: notFoundAnswer,
    503: { description: "Too many streams, or the feed has not started", schema: errorSchema },
  },
  handle: async ({ query, request, client, renew, current }, context: FeedContext) => {
    const { feed } = context;
    const filter = buildEntryFilter(query, context);
    const refuseIfFull = () => {
      if (feed.isFull(client)) refuse("overloaded", "Too many streams are open. Try again later.");
    };
    refuseIfFull();
    const { signal, headers } = request.raw;
    const id = headers.get("last-event-id") || query.after;
    const { state, position, place } = await openPlace(context, id, signal);
    const { chains } = current.snapshot.omnichainSnapshot;
    const after = place ?? (await beginningOf(query.from ?? "latest"));
    const finality = parseFinality(query.finality);
    // Others may have begun meanwhile.
    refuseIfFull();
    return {
      status: 200,
      stream:
        after === "gone"
          ? mustRefetch()
          : feed.stream({ state, filter, finality, after, client, renew, signal }),
      headers: { "cache-control": "no-store", "x-accel-buffering": "no" },
    };

    async function beginningOf(from: string): Promise<FeedPosition> {
      if (from === "latest") return position;
      if (from === "start") return startOfFeed(state);
      const [chain = 0, block = 0] = from.split(":").map(Number);
      const head = findIndexedBlock(chains[String(chain)]);
      if (head === undefined)
        return refuse(
          "invalid_input",
          `from: chain ${chain} is not indexed; indexed: ${Object.keys(chains).join(", ")}`,
        );
      if (block > head.number)
        return refuse("invalid_input", `from: block ${block} is beyond the last indexed one, ${head.number}`);
      return (await positionOfBlock(feed.source, state, { chain, block }, signal)) ?? position;
    }
  },
});

async function* mustRefetch() {
  yield formatMessage("must-refetch", {
    reason:
      "The event of this id is not in the index that is served now. Read /v1 anew and begin without an id.",
  });
}
