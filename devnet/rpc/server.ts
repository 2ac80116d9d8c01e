import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { createFaults, faultsSchema } from "./faults.ts";
import { listen } from "./listen.ts";
import type { RpcMethod } from "./methods.ts";
import { RpcError } from "./rpc-error.ts";

// Body of a `POST /control`: faults, a new head, a number of blocks to mine now.
const controlSchema = faultsSchema.extend({
  head: z.number().int().min(0).optional(),
  mine: z.number().int().min(0).max(10_000).optional(),
});

type Control = z.infer<typeof controlSchema>;
type Faults = ReturnType<typeof createFaults>;
type Counts = Map<string, number>;

/** What a server serves: methods, faults to inject, and what a `POST /control` changes. */
type RpcService = {
  methods: ReadonlyMap<string, RpcMethod>;
  faults: Faults;
  /** Applies a change; returns the chain's state, for the response. */
  control: (change: Control) => object;
  /** Settles when a response of so many bytes may leave. */
  line?: ((bytes: number) => Promise<void> | undefined) | undefined;
  counts: Counts;
};

/**
 * Serves the methods over HTTP on the loopback interface: `POST /` for JSON-RPC, single and batch; `GET /control` for
 * counters; `POST /control` to change head and faults. `port` 0 takes a free one. Rejects when the port is taken.
 */
export async function serveRpc({
  port = 0,
  faults = createFaults(),
  control = () => ({}),
  ...given
}: Partial<Omit<RpcService, "counts">> & Pick<RpcService, "methods"> & { port?: number }) {
  const service: RpcService = { ...given, faults, control, counts: new Map() };
  const server = await listen((request, response) => {
    const handle = request.url === "/control" ? handleControl : handleCalls;
    handle(request, response, service).catch(() => response.destroy());
  }, port);
  return {
    ...server,
    /** How often each method was called since the start. */
    counts: () => Object.fromEntries(service.counts),
  };
}

async function handleCalls(
  request: IncomingMessage,
  response: ServerResponse,
  { methods, faults, counts, line }: RpcService,
) {
  if (faults.current().down) return void request.socket.destroy();
  if (request.method !== "POST") return send(response, 405, { error: "JSON-RPC is sent by POST" });
  const body = await readBody(request);
  if (body === undefined) return send(response, 413, { error: "the request is too large" });
  const parsed = parseJson(body);
  if (parsed === undefined) return send(response, 200, errorOf(null, -32700, "parse error"));
  const calls: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  for (const call of calls) {
    const method = methods.has(methodOf(call)) ? methodOf(call) : "(unknown)";
    counts.set(method, (counts.get(method) ?? 0) + 1);
  }
  const { delayMs } = faults.current();
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  const status = faults.statusFor(calls.map(methodOf));
  if (status !== undefined) return send(response, status, { error: "injected fault" });
  if (faults.current().down) return void request.socket.destroy();
  if (calls.length === 0) return send(response, 200, errorOf(null, -32600, "empty batch"));
  const answers = calls.map((call) => answer(methods, call));
  const text = JSON.stringify(Array.isArray(parsed) ? answers : answers[0]);
  await line?.(text.length);
  return sendText(response, 200, text);
}

async function handleControl(
  request: IncomingMessage,
  response: ServerResponse,
  { faults, control, counts }: RpcService,
) {
  const apply = ({ head, mine, ...faultChange }: Control) => {
    faults.set(faultChange);
    return Object.assign({}, control({ head, mine }), faults.current());
  };
  if (request.method !== "POST") {
    return send(response, 200, { calls: Object.fromEntries(counts), ...apply({}) });
  }
  const parsed = controlSchema.safeParse(parseJson((await readBody(request)) ?? ""));
  if (!parsed.success) {
    const problem = parsed.error.issues
      .map(({ path, message }) => `${path.join(".")}: ${message}`)
      .join("; ");
    return send(response, 400, { error: problem });
  }
  return send(response, 200, apply(parsed.data));
}

function answer(methods: ReadonlyMap<string, RpcMethod>, call: unknown): object {
  if (typeof call !== "object" || call === null || Array.isArray(call)) {
    return errorOf(null, -32600, "invalid request");
  }
  const { id: given, method, params = [] } = call as { id?: unknown; method?: unknown; params?: unknown };
  const id = typeof given === "string" || typeof given === "number" ? given : null;
  if (typeof method !== "string") return errorOf(id, -32600, "invalid request: method must be a string");
  const serve = methods.get(method);
  if (serve === undefined) return errorOf(id, -32601, `the method ${method} does not exist`);
  if (!Array.isArray(params)) return errorOf(id, -32602, "invalid params: params must be a list");
  try {
    return { jsonrpc: "2.0", id, result: serve(params) };
  } catch (error) {
    if (error instanceof RpcError) return errorOf(id, error.code, error.message);
    return errorOf(id, -32603, error instanceof Error ? error.message : "internal error");
  }
}

const errorOf = (id: string | number | null, code: number, message: string) => ({
  ...{ jsonrpc: "2.0", id },
  error: { code, message },
});

function methodOf(call: unknown): string {
  const method = (call as { method?: unknown } | null)?.method;
  return typeof method === "string" ? method : "(none)";
}

const maxBodyBytes = 10_000_000;

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, body: unknown) {
  sendText(response, status, JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, text: string) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(text);
}
