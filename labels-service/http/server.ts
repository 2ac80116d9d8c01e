import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Log } from "../../src/json-log.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import type { LiveDatabase } from "../store/live-database.ts";
import { type Answer, corsHeaders, internalError, notReady, writeAnswer, writePreflight } from "./answer.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createRouter, type LabelsRequest } from "./routes.ts";

export type ServerOptions = {
  database: LiveDatabase;
  log: Log;
  now: () => Date;
  /** Whether to write one line of log for each request. */
  logsRequests: boolean;
};

/** The label service's HTTP server, not yet listening. */
export function createLabelsServer({ database, log, now, logsRequests }: ServerOptions): Server {
  const metrics = createMetrics(database);
  const route = createRouter(database, metrics, now);
  const failed = (error: unknown, path: string): Answer => {
    log("error", "request failed", { path, reason: error instanceof Error ? error.message : String(error) });
    return internalError;
  };
  const send = createSender({ metrics, log, logsRequests, failed });

  const answerWithBody = async (incoming: IncomingMessage, exchange: Exchange) => {
    const borrowed = database.borrow();
    try {
      const answer = await batchAnswer(incoming, borrowed?.file).catch((error) =>
        failed(error, exchange.request.path),
      );
      await send(exchange, answer);
    } finally {
      borrowed?.release();
    }
  };

  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const since = performance.now();
    const request = requestOf(incoming);
    if (request.method === "OPTIONS" && request.path.startsWith("/v1/")) {
      writePreflight(response, request.headers);
      return;
    }
    const routed = route(request);
    const exchange = { request, response, route: routed.route, since };
    if (routed.needsBody) void answerWithBody(incoming, exchange);
    else if (routed.answer instanceof Promise) {
      void routed.answer
        .catch((error) => failed(error, request.path))
        .then((answer) => send(exchange, answer));
    } else void send(exchange, routed.answer);
  };

  const server = createServer((incoming, response) => {
    try {
      handle(incoming, response);
    } catch (error) {
      void writeAnswer(response, failed(error, incoming.url ?? ""), false, corsHeaders(incoming.url ?? ""));
    }
  });
  // Longer than common proxies keep idle connections, so that the proxy closes them.
  server.keepAliveTimeout = 75_000;
  return server;
}

/** A request under way: `since` is the time of its arrival, by `performance.now()`. */
type Exchange = { request: LabelsRequest; response: ServerResponse; route: string; since: number };

function createSender({
  metrics,
  log,
  logsRequests,
  failed,
}: Pick<ServerOptions, "log" | "logsRequests"> & {
  metrics: Metrics;
  failed: (error: unknown, path: string) => Answer;
}) {
  return ({ request, response, route, since }: Exchange, answer: Answer): Promise<void> => {
    const { method, path } = request;
    const seconds = (performance.now() - since) / 1000;
    metrics.observe(route, answer.outcome, seconds);
    if (logsRequests) {
      const microseconds = Math.round(seconds * 1e6);
      log("info", "request", { method, path, status: answer.status, microseconds });
    }
    return writeAnswer(response, answer, method === "HEAD", corsHeaders(path)).catch((error) => {
      failed(error, path);
    });
  };
}

async function batchAnswer(incoming: IncomingMessage, file: LabelFile | undefined): Promise<Answer> {
  if (file === undefined) return notReady;
  // Loaded when it is first needed: its validation library would be a tenth of the server's start.
  const { answerBatch } = await import("./batch.ts");
  return answerBatch(file, incoming);
}

function requestOf({ method = "", url = "", headers }: IncomingMessage): LabelsRequest {
  const mark = url.indexOf("?");
  if (mark < 0) return { method, path: url, query: "", headers };
  return { method, path: url.slice(0, mark), query: url.slice(mark + 1), headers };
}
