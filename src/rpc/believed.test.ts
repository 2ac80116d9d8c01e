import { expect, test, vi } from "vitest";
import { believedOfUrls, createBelieve } from "./believed.ts";

const calls = "what contracts return to handlers";

test.each([
  [1, 0.01, ["logs of the backfill beyond a sample of 1 %", calls]],
  [1, 0, ["logs of the backfill", calls]],
  [1, 1, ["that logs of the backfill lack no block", "which blocks of the backfill are the chain's", calls]],
  [2, 0.005, ["logs of the backfill beyond a sample of 0.5 %"]],
  [2, 0, ["logs of the backfill", calls]],
  [3, 1, []],
])("%i URLs, with a share of %d compared", (urls, share, believed) => {
  expect(believedOfUrls(urls, share)).toEqual(believed);
});

test("what is believed is written once, together, and kept for the status page", () => {
  const log = vi.fn();
  const believed = new Set<string>();
  const believe = createBelieve({ chain: "mainnet", log, believed });
  believe(["logs", calls]);
  believe([calls, "headers"], "info");
  believe([calls]);
  expect(log.mock.calls.map(([level, message, { chain }]) => [level, message, chain])).toEqual([
    ["warn", `Accepted without proof: logs; ${calls}`, "mainnet"],
    ["info", "Accepted without proof: headers", "mainnet"],
  ]);
  expect([...believed]).toEqual(["logs", calls, "headers"]);
});
