import { randomBytes } from "node:crypto";

type Attributes = Record<string, unknown>;

/** A step of a resolution in the form of OpenTelemetry. Times in microseconds. */
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

type Step<T> = (within: Tracer) => Promise<T>;

/** Runs steps and records them; steps within a step use the tracer that it passes. */
export type Tracer = {
  span: <T>(protocol: string, step: string, inputs: Attributes, run: Step<T>) => Promise<T>;
  /** Records the outcome of the step that this tracer belongs to. */
  result(outcome: unknown): void;
};

/** A tracer and the spans that it collects. `clock` gives milliseconds. */
export function createTrace(clock: () => number): { tracer: Tracer; spans: Span[] } {
  const spans: Span[] = [];
  const traceId = randomBytes(16).toString("hex");
  const now = () => Math.round(clock() * 1000);

  const tracerOf = (siblings: Span[], parent: Span | undefined): Tracer => ({
    async span(protocol, step, inputs, run) {
      const span: Span = {
        scope: "protocol-tracing",
        id: randomBytes(8).toString("hex"),
        traceId,
        ...(parent ? { parentSpanContext: { traceId, spanId: parent.id } } : {}),
        name: `${protocol}:${step}`,
        timestamp: now(),
        duration: 0,
        attributes: { "ens.protocol": protocol, "ens.protocol.step": step, ...inputs },
        status: { code: 1 },
        events: [],
        children: [],
      };
      siblings.push(span);
      try {
        return await run(tracerOf(span.children, span));
      } catch (error) {
        span.status = { code: 2, message: error instanceof Error ? error.name : "Error" };
        throw error;
      } finally {
        span.duration = now() - span.timestamp;
      }
    },
    result(outcome) {
      parent?.events.push({
        name: String(parent.attributes["ens.protocol.step"]),
        attributes: { "ens.protocol.step.result": outcome },
        time: now(),
      });
    },
  });
  return { tracer: tracerOf(spans, undefined), spans };
}
