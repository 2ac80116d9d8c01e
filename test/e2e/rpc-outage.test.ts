import { expect, test } from "vitest";
import { startWorld } from "../support/world.ts";

// Beside the two lines: a check that was under way, say.
const mostLines = 5;

test("an outage of all RPC URLs while live is a line when it begins and one when it ends", async () => {
  const world = await startWorld({ head: 1600 });
  try {
    const service = world.start();
    await world.waitForIndex();
    const before = service.lastLines(Number.POSITIVE_INFINITY).length;
    world.node.faults.set({ down: true });
    await world.waitFor("requests to fail again and again", async () => {
      const metrics = await (await fetch(`${world.url}/metrics`)).text();
      const counts = metrics.matchAll(/^ponder_rpc_request_error_total\{.*\} (\d+)$/gm);
      const failed = [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
      return failed >= 40 ? { done: failed } : { state: `${failed} failed` };
    });
    world.node.faults.set({ down: false });
    world.node.chain.setHead(1666);
    await world.waitForIndex();

    const lines = service.lastLines(Number.POSITIVE_INFINITY).slice(before);
    const outage = lines.filter((line) => /RPC URL answers/.test(line));
    expect(outage).toEqual([
      expect.stringMatching(
        / WARN +No RPC URL answers\. Indexing waits chain=\S+ hostnames=127\.0\.0\.1 reason=/,
      ),
      expect.stringMatching(/ INFO +An RPC URL answers again chain=\S+ hostname=127\.0\.0\.1 seconds=\d+$/),
    ]);
    const others = lines.filter((line) => !/ INFO +(Indexed block|Finalized|Detected)/i.test(line));
    expect(others.length, others.join("\n")).toBeLessThanOrEqual(mostLines);
  } finally {
    await world.close();
  }
});
