import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { z } from "zod/v4";
import type { Answers, AnyReply, Endpoint } from "./endpoint.ts";
import { ApiError, errorResponse } from "./errors.ts";
import { createGate, type GateContext } from "./gate.ts";

const mostBodyBytes = 1_000_000;

/** Adds an endpoint to the app: asks the gate, parses requests by the endpoint's schemas, sends its replies and errors. */
export function mount<C>(
  app: Hono,
  endpoint: Endpoint<C>,
  context: C & GateContext,
  log: (message: string) => void,
): void {
  const { needs, envelope, answers, body: bodySchema } = endpoint;
  // A call has the types of the endpoint's own schemas, with which it is parsed.
  const handle = endpoint.handle(context) as (call: object) => AnyReply | Promise<AnyReply>;
  const refusalOf = createGate(needs, context);

  const respond = async (c: Context): Promise<Response> => {
    try {
      const current = needs.index === undefined ? undefined : context.status.current();
      const refusal = refusalOf(current);
      if (refusal !== undefined && !needs.isCheckedAfterInput) return c.json(envelope.body(refusal), 503);
      const input = parseUrl(c, endpoint);
      const body = bodySchema && parse(bodySchema, await readJson(c));
      if (refusal !== undefined) return c.json(envelope.body(refusal), 503);
      const call = { params: input.params, query: input.query, body, current, request: c.req };
      return toResponse(c, await handle(call), answers);
    } catch (error) {
      return errorResponse(error, c, log, envelope);
    }
  };

  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1");
  if (endpoint.method === "get") app.get(path, respond);
  else app.post(path, bodyLimit({ maxSize: mostBodyBytes, onError: tooLarge }), respond);
}

// The path is parsed before the query, and each reports all that is wrong with it.
function parseUrl(c: Context, { params, query }: Pick<Endpoint<never>, "params" | "query">) {
  return {
    params: params && parse(params, c.req.param()),
    query: query && parse(query, queryOf(c)),
  };
}

// A parameter that is given several times is a list.
function queryOf(c: Context): Record<string, string | string[] | undefined> {
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length > 1 ? values : values[0]]),
  );
}

async function readJson(c: Context): Promise<unknown> {
  const text = await c.req.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(400, { message: "Invalid Input", details: { errors: ["The body must be JSON"] } });
  }
}

function parse(schema: z.ZodType, input: unknown): unknown {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new ApiError(400, { message: "Invalid Input", details: z.treeifyError(result.error) });
}

function toResponse(c: Context, reply: AnyReply, answers: Answers): Response {
  if (!("text" in reply)) return c.json(reply.body, reply.status, reply.headers);
  const type = answers[reply.status]?.type ?? "application/json";
  return c.body(reply.text, reply.status, { "content-type": type, ...reply.headers });
}

function tooLarge(c: Context): Response {
  return c.json({ message: `The body has more than ${mostBodyBytes} bytes` }, 413);
}
