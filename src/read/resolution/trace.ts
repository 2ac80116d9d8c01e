import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

type Attributes = Record<string, unknown>;

/** A resolution step as an OpenTelemetry span. Times are in microseconds. */
export type Span = {
  scope: "protocol-tracing";
  id: string;
  traceId: string;
  parentSpanContext?: { traceId: string; spanId: string };
  name: string;
  timestamp: number;
  duration: number;
  attributes: Attributes;
  status: { code: 1 | 2; message?: string };
  events: { name: string; attributes: Attributes; time: number }[];
  children: Span[];
};

type Within = { traceId: string; now: () => number; parentId?: string; spans: Span[] };

const steps = new AsyncLocalStorage<Within>();

/** Runs a resolution and collects its steps. `clock` returns milliseconds. */
export async function traced<T>(clock: () => number, run: () => Promise<T>): Promise<[T, Span[]]> {
  const spans: Span[] = [];
  const traceId = randomBytes(16).toString("hex");
  return [await steps.run({ traceId, now: () => Math.round(clock() * 1000), spans }, run), spans];
}

/** Runs a step of the current resolution, and records it if that is traced. `outcomeOf` returns the result to show. */
export async function span<T>(
  [protocol, step]: readonly [protocol: string, step: string],
  inputs: Attributes,
  run: () => Promise<T>,
  outcomeOf?: (result: T) => unknown,
): Promise<T> {
  const within = steps.getStore();
  if (within === undefined) return run();
  const { traceId, now, parentId } = within;
  const span: Span = {
    scope: "protocol-tracing",
    id: randomBytes(8).toString("hex"),
    traceId,
    ...(parentId ? { parentSpanContext: { traceId, spanId: parentId } } : {}),
    name: `${protocol}:${step}`,
    timestamp: now(),
    duration: 0,
    attributes: { "ens.protocol": protocol, "ens.protocol.step": step, ...inputs },
    status: { code: 1 },
    events: [],
    children: [],
  };
  within.spans.push(span);
  try {
    const result = await steps.run({ traceId, now, parentId: span.id, spans: span.children }, run);
    if (outcomeOf) {
      const attributes = { "ens.protocol.step.result": outcomeOf(result) };
      span.events.push({ name: step, attributes, time: now() });
    }
    return result;
  } catch (error) {
    span.status = { code: 2, message: error instanceof Error ? error.name : "Error" };
    throw error;
  } finally {
    span.duration = now() - span.timestamp;
  }
}
