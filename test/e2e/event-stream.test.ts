import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasAnvil } from "../support/anvil.ts";
import { startFeedHistory } from "../support/feed-history.ts";
import { seeds } from "../support/rounds.ts";
import { startWorld } from "../support/world.ts";

// Readers of the stream of events while a chain reorganizes, processes are killed, connections end, and another index
// takes over.

describe.runIf(hasAnvil())("readers of the stream hold what is listed", () => {
  let history: Awaited<ReturnType<typeof startFeedHistory>>;
  beforeAll(async () => {
    history = await startFeedHistory(startWorld);
  });
  afterAll(() => history?.close());

  test.each(seeds)("after reorganizations, kills, switches and broken connections, seed %i", async (seed) => {
    const { wrong, latest } = await history.run(seed);
    expect(wrong).toBe(0);
    expect(latest.reverted).toBeGreaterThan(0);
  });
});
