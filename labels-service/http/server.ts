import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Log } from "../../src/log.ts";
import type { LiveDatabase } from "../store/live-database.ts";
import { type Answer, errorAnswer, internalError, notReady } from "./answer.ts";
import { BodyTooLargeError, readBody } from "./body.ts";
import { createMetrics } from "./metrics.ts";
import { createRouter, type LabelsRequest } from "./routes.ts";
import { corsHeaders, writeAnswer, writePreflight } from "./write.ts";

export type ServerOptions = {
  database: LiveDatabase;
  log: Log;
  now: () => Date;
  /** One line of log for each request. */
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

  const send = (
    request: LabelsRequest,
    response: ServerResponse,
    name: string,
    answer: Answer,
    since: number,
  ) => {
    const { method, path } = request;
    const seconds = (performance.now() - since) / 1000;
    metrics.observe(name, answer.outcome, seconds);
    if (logsRequests) {
      log("info", "request", {
        method,
        path,
        status: answer.status,
        microseconds: Math.round(seconds * 1e6),
      });
    }
    return writeAnswer(response, answer, method === "HEAD", corsHeaders(path)).catch((error) => {
      failed(error, path);
    });
  };

  const batch = async (
    incoming: IncomingMessage,
    request: LabelsRequest,
    response: ServerResponse,
    since: number,
  ) => {
    const borrowed = database.borrow();
    try {
      const answer = await batchAnswer(incoming, borrowed?.file).catch((error) =>
        failed(error, request.path),
      );
      await send(request, response, "heal_batch", answer, since);
    } finally {
      borrowed?.release();
    }
  };

  const batchAnswer = async (incoming: IncomingMessage, file: ReturnType<LiveDatabase["current"]>) => {
    if (file === undefined) return notReady;
    // Not loaded before it is needed: what it checks requests with would be a tenth of the start of the server.
    const { answerBatch, largestBody } = await import("./batch.ts");
    const asLines = incoming.headers.accept?.includes("application/x-ndjson") ?? false;
    try {
      return answerBatch(file, await readBody(incoming, largestBody), asLines);
    } catch (error) {
      if (error instanceof BodyTooLargeError) return errorAnswer(413, error.message);
      if (!incoming.complete) return errorAnswer(400, "The body was cut off");
      throw error;
    }
  };

  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const since = performance.now();
    const request = requestOf(incoming);
    if (request.method === "OPTIONS" && request.path.startsWith("/v1/")) {
      writePreflight(response, request.headers);
      return;
    }
    const { route: name, answer } = route(request);
    if (answer === "batch") void batch(incoming, request, response, since);
    else if (answer instanceof Promise) {
      void answer
        .catch((error) => failed(error, request.path))
        .then((done) => send(request, response, name, done, since));
    } else void send(request, response, name, answer, since);
  };

  const server = createServer((incoming, response) => {
    try {
      handle(incoming, response);
    } catch (error) {
      void writeAnswer(response, failed(error, incoming.url ?? ""), false, corsHeaders(incoming.url ?? ""));
    }
  });
  // Longer than common proxies keep idle connections, so that it is they who close them.
  server.keepAliveTimeout = 75_000;
  return server;
}

function requestOf({ method = "", url = "", headers }: IncomingMessage): LabelsRequest {
  const mark = url.indexOf("?");
  if (mark < 0) return { method, path: url, query: "", headers };
  return { method, path: url.slice(0, mark), query: url.slice(mark + 1), headers };
}
