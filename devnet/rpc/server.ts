import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod/v4";
import { createRandom } from "../random.ts";
import { RpcError, type RpcMethod } from "./methods.ts";

/** Serves HTTP on the loopback interface; `wanted` 0 takes a free port. Rejects when the port is taken. */
export async function listen(handler: RequestListener, wanted = 0) {
  const server = createServer(handler);
  server.keepAliveTimeout = 30_000;
  server.listen(wanted, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** Closes the port and drops open connections. */
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

// Which share of the requests fails, with which HTTP status; `methods` limits it to requests that contain one of them.
const failure = z
  .object({
    rate: z.number().min(0).max(1).default(1),
    status: z.number().int().min(400).max(599).default(503),
    methods: z.array(z.string()).optional(),
    seed: z.number().int().min(1).default(1),
  })
  .strict();

// Faults a caller can set: a response delay in milliseconds, a failing share, a node that hangs up.
const faultsSchema = z
  .object({
    delayMs: z.number().int().min(0).max(600_000).optional(),
    fail: failure.nullable().optional(),
    down: z.boolean().optional(),
  })
  .strict();

/** State of the injected faults; with the same seed the same requests fail. */
export function createFaults() {
  const current = { delayMs: 0, down: false, fail: undefined as z.infer<typeof failure> | undefined };
  let random = createRandom(1);

  return {
    set(change: z.input<typeof faultsSchema>) {
      const { fail, ...others } = faultsSchema.parse(change);
      Object.assign(current, others, fail === undefined ? {} : { fail: fail ?? undefined });
      if (fail !== undefined) random = createRandom(fail?.seed ?? 1);
    },

    current: () => ({ ...current }),

    /** HTTP status that a request with these methods fails with; undefined when it succeeds. */
    statusFor(methods: readonly string[]): number | undefined {
      const { fail } = current;
      const isMeant = fail?.methods === undefined || methods.some((method) => fail.methods?.includes(method));
      return fail !== undefined && isMeant && random.fraction() < fail.rate ? fail.status : undefined;
    },
  };
}

// Body of a `POST /control`: faults, a new head, a number of blocks to mine now.
const controlSchema = faultsSchema.extend({
  head: z.number().int().min(0).optional(),
  mine: z.number().int().min(0).max(10_000).optional(),
});

type Control = z.infer<typeof controlSchema>;

/** What a server serves: methods, faults to inject, and what a `POST /control` changes. */
type RpcService = {
  methods: ReadonlyMap<string, RpcMethod>;
  faults?: ReturnType<typeof createFaults>;
  /** Applies a change; returns the chain's state, for the response. */
  control?: (change: Control) => object;
  port?: number;
};

/**
 * Serves the methods over HTTP on the loopback interface: `POST /` for JSON-RPC, single and batch; `GET /control` for
 * counters; `POST /control` to change head and faults. `port` 0 takes a free one. Rejects when the port is taken.
 */
export async function serveRpc({
  methods,
  faults = createFaults(),
  control = () => ({}),
  port = 0,
}: RpcService) {
  const counts = new Map<string, number>();

  async function answerCalls(request: IncomingMessage, response: ServerResponse) {
    if (faults.current().down) return void request.socket.destroy();
    const { success, data } = requestSchema.safeParse(parseJson(await text(request)));
    if (!success) return send(response, 200, buildError(null, -32600, "invalid request"));
    const calls = [data].flat();
    for (const { method } of calls) counts.set(method, (counts.get(method) ?? 0) + 1);
    const { delayMs } = faults.current();
    if (delayMs > 0) await delay(delayMs);
    const status = faults.statusFor(calls.map(({ method }) => method));
    if (status !== undefined) return send(response, status, { error: "injected fault" });
    if (faults.current().down) return void request.socket.destroy();
    const answers = calls.map((call) => answer(methods, call));
    send(response, 200, Array.isArray(data) ? answers : answers[0]);
  }

  async function answerControl(request: IncomingMessage, response: ServerResponse) {
    const isChange = request.method === "POST";
    const { success, data, error } = controlSchema.safeParse(isChange ? parseJson(await text(request)) : {});
    if (!success) return send(response, 400, { error: error.message });
    const { head, mine, ...change } = data;
    faults.set(change);
    const calls = isChange ? {} : { calls: Object.fromEntries(counts) };
    send(response, 200, { ...calls, ...control({ head, mine }), ...faults.current() });
  }

  const server = await listen((request, response) => {
    const answer = request.url === "/control" ? answerControl : answerCalls;
    answer(request, response).catch(() => response.destroy());
  }, port);
  return {
    ...server,
    /** How often each method was called since the start. */
    counts: () => Object.fromEntries(counts),
  };
}

const callSchema = z.object({
  id: z.union([z.string(), z.number()]).nullish().catch(null),
  method: z.string(),
  params: z.array(z.unknown()).default([]),
});
const requestSchema = z.union([callSchema, z.array(callSchema).min(1)]);

function answer(methods: ReadonlyMap<string, RpcMethod>, call: z.infer<typeof callSchema>): object {
  const { id = null, method, params } = call;
  const serve = methods.get(method);
  if (serve === undefined) return buildError(id, -32601, `the method ${method} does not exist`);
  try {
    return { jsonrpc: "2.0", id, result: serve(params) };
  } catch (error) {
    if (error instanceof RpcError) return buildError(id, error.code, error.message);
    return buildError(id, error instanceof z.ZodError ? -32602 : -32603, String(error));
  }
}

const buildError = (id: string | number | null, code: number, message: string) => ({
  ...{ jsonrpc: "2.0", id },
  error: { code, message },
});

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const send = (response: ServerResponse, status: number, body: unknown) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
