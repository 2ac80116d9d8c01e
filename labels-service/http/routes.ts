import type { IncomingHttpHeaders } from "node:http";
import packageJson from "../../package.json" with { type: "json" };
import type { LabelFile } from "../../src/labels/label-file.ts";
import { labelDatabaseSchemaVersion } from "../../src/labels/label-set.ts";
import type { LiveDatabase } from "../store/live-database.ts";
import { type Answer, jsonAnswer, notFound, notReady } from "./answer.ts";
import { createHealer } from "./heal.ts";
import type { Metrics } from "./metrics.ts";

/** A request without its body. */
export type LabelsRequest = { method: string; path: string; query: string; headers: IncomingHttpHeaders };

/** The route of a request, for metrics, and its answer, unless that depends on the request's body. */
export type Routed =
  | { route: string; needsBody?: false; answer: Answer | Promise<Answer> }
  | { route: string; needsBody: true };

const ok = jsonAnswer('{"status":"ok"}');
const unrouted: Routed = { route: "none", answer: notFound };
const healBatch: Routed = { route: "heal_batch", needsBody: true };
const healPrefix = "/v1/heal/";

/** Finds the answer to a request. Paths are exact: an additional slash makes another path. */
export function createRouter(database: LiveDatabase, metrics: Metrics, now: () => Date) {
  const heal = createHealer();
  const openApi = once(openApiAnswer);
  const ifReady = (answer: (file: LabelFile) => Answer): Answer => {
    const file = database.current();
    return file === undefined ? notReady : answer(file);
  };

  return ({ method, path, query }: LabelsRequest): Routed => {
    const isReading = method === "GET" || method === "HEAD";
    if (isReading && path.startsWith(healPrefix) && !path.includes("/", healPrefix.length)) {
      return { route: "heal", answer: heal(database.current(), path.slice(healPrefix.length), query) };
    }
    if (method === "POST" && path === "/v1/heal") return healBatch;
    if (!isReading) return unrouted;
    switch (path) {
      case "/v1/heal":
        return { route: "heal", answer: heal(database.current(), "", query) };
      case "/health":
        return { route: "health", answer: ok };
      case "/ready":
        return { route: "ready", answer: ifReady(() => ok) };
      case "/v1/labels/count":
        return { route: "count", answer: ifReady((file) => countAnswer(file, now())) };
      case "/v1/config":
        return { route: "config", answer: ifReady(configAnswer) };
      case "/v1/version":
        return { route: "version", answer: ifReady(versionAnswer) };
      case "/openapi.json":
        return { route: "openapi", answer: openApi() };
      case "/metrics":
        return { route: "metrics", answer: metricsAnswer(metrics) };
      default:
        return unrouted;
    }
  };
}

function countAnswer({ facts }: LabelFile, now: Date): Answer {
  return jsonAnswer(
    JSON.stringify({ status: "success", count: facts.recordsCount, timestamp: now.toISOString() }),
  );
}

function configAnswer({ facts }: LabelFile): Answer {
  const { labelSetId, highestLabelSetVersion, recordsCount } = facts;
  return jsonAnswer(
    JSON.stringify({
      version: packageJson.version,
      labelSet: { labelSetId, highestLabelSetVersion },
      recordsCount,
    }),
  );
}

function versionAnswer({ facts: { labelSetId, highestLabelSetVersion } }: LabelFile): Answer {
  return jsonAnswer(
    JSON.stringify({
      status: "success",
      versionInfo: {
        version: packageJson.version,
        dbSchemaVersion: labelDatabaseSchemaVersion,
        labelSet: { labelSetId, highestLabelSetVersion },
      },
    }),
  );
}

// Few ask for the document, and loading its library would be a good part of the server's start.
async function openApiAnswer(): Promise<Answer> {
  const { openApiDocument } = await import("./openapi.ts");
  return jsonAnswer(JSON.stringify(openApiDocument(packageJson.version)));
}

function once<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

async function metricsAnswer(metrics: Metrics): Promise<Answer> {
  return { status: 200, contentType: metrics.contentType, body: await metrics.text(), outcome: "ok" };
}
