import { expect, test } from "vitest";
import { span, traced } from "./trace.ts";

/** A clock that goes on by 1.5 ms at each look. */
function ticking() {
  let now = 1_700_000_000_000;
  return () => {
    now += 1.5;
    return now;
  };
}

test("records steps within steps, with inputs, times in microseconds and results", async () => {
  const [value, spans] = await traced(ticking(), () =>
    span(["outer", "whole"], { name: "alice.eth" }, async () => {
      await span(
        ["inner", "first"],
        {},
        async () => ({ resolver: "0xa1" }),
        ({ resolver }) => resolver,
      );
      return span(["inner", "second"], {}, async () => "done");
    }),
  );
  expect(value).toBe("done");

  const [root] = spans;
  const id = /^[0-9a-f]{16}$/;
  const traceId = root?.traceId;
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(spans).toEqual([
    {
      scope: "protocol-tracing",
      id: expect.stringMatching(id),
      traceId,
      name: "outer:whole",
      timestamp: 1_700_000_000_001_500,
      duration: 9_000,
      attributes: { "ens.protocol": "outer", "ens.protocol.step": "whole", name: "alice.eth" },
      status: { code: 1 },
      events: [],
      children: [
        {
          scope: "protocol-tracing",
          id: expect.stringMatching(id),
          traceId,
          parentSpanContext: { traceId, spanId: root?.id },
          name: "inner:first",
          timestamp: 1_700_000_000_003_000,
          duration: 3_000,
          attributes: { "ens.protocol": "inner", "ens.protocol.step": "first" },
          status: { code: 1 },
          events: [
            {
              name: "first",
              attributes: { "ens.protocol.step.result": "0xa1" },
              time: 1_700_000_000_004_500,
            },
          ],
          children: [],
        },
        expect.objectContaining({ name: "inner:second", timestamp: 1_700_000_000_007_500, duration: 1_500 }),
      ],
    },
  ]);
});

test("marks the steps that fail by the kind of the error, whose text may hold the URL of a node", async () => {
  const failing = () =>
    span(["outer", "whole"], {}, () =>
      span(["inner", "first"], {}, async () => {
        throw new TypeError("https://rpc.example/v2/secret-key");
      }),
    );
  const [, spans] = await traced(ticking(), () =>
    failing().catch((error) => expect(error).toBeInstanceOf(TypeError)),
  );
  const status = { code: 2, message: "TypeError" };
  expect(spans[0]).toMatchObject({ status, children: [{ status }] });
  expect(JSON.stringify(spans)).not.toContain("secret");
});
