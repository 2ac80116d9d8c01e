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
  const id = expect.stringMatching(/^[0-9a-f]{16}$/);
  const traceId = root?.traceId;
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  const spanOf = (protocol: string, step: string, [from, to]: [number, number], more: object) => ({
    ...{ scope: "protocol-tracing", id, traceId, name: `${protocol}:${step}`, status: { code: 1 } },
    ...{ timestamp: 1_700_000_000_000_000 + from, duration: to - from, events: [], children: [] },
    attributes: { "ens.protocol": protocol, "ens.protocol.step": step },
    ...more,
  });
  const parentSpanContext = { traceId, spanId: root?.id };
  const attributes = { "ens.protocol.step.result": "0xa1" };
  const events = [{ name: "first", attributes, time: 1_700_000_000_004_500 }];
  expect(spans).toEqual([
    spanOf("outer", "whole", [1_500, 10_500], {
      attributes: { "ens.protocol": "outer", "ens.protocol.step": "whole", name: "alice.eth" },
      children: [
        spanOf("inner", "first", [3_000, 6_000], { parentSpanContext, events }),
        spanOf("inner", "second", [7_500, 9_000], { parentSpanContext }),
      ],
    }),
  ]);
});

test("marks the steps that fail by the kind of the error, whose text may hold the URL of a node", async () => {
  const [, spans] = await traced(ticking(), () =>
    span(["outer", "whole"], {}, () =>
      span(["inner", "first"], {}, () => Promise.reject(new TypeError("https://rpc.example/v2/secret-key"))),
    ).catch((error) => expect(error).toBeInstanceOf(TypeError)),
  );
  const status = { code: 2, message: "TypeError" };
  expect(spans[0]).toMatchObject({ status, children: [{ status }] });
  expect(JSON.stringify(spans)).not.toContain("secret");
});
