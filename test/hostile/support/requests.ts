import type { Random } from "../../../devnet/random.ts";
import { chance, hostileTexts, hostileValue, mutated } from "./values.ts";

/** A request as bytes would carry it. `path` has its query string, already escaped. */
export type FuzzRequest = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
};

/** The part of a service's OpenAPI document that determines requests. */
export type ApiDocument = {
  paths: Record<string, Record<string, { parameters?: readonly unknown[]; responses: object }>>;
};

/** A query as a client sends it. */
export type QueryDocument = { query: string; variables?: Record<string, unknown>; operationName?: string };

type Parameter = { name: string; in: string; required?: boolean; schema: Schema; example?: unknown };
type Schema = { enum?: unknown[]; pattern?: string; example?: unknown; type?: string };

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const contentTypes = [
  "application/json",
  "text/plain",
  "",
  "application/x-www-form-urlencoded",
  "multipart/form-data",
];
const accepts = [
  "*/*",
  "text/html",
  "application/json",
  "application/graphql-response+json",
  "",
  "application/x-ndjson",
];

/** A client's query with hostile values among its literals and variables, and now and then in a broken text. */
export function hostileQuery(random: Random, { query, variables = {} }: QueryDocument): QueryDocument {
  const value = (given: unknown) => (chance(random, 0.15) ? hostileValue(random) : given);
  const text = query.replaceAll(/"[^"\n]*"|\b\d+\b/g, (literal) =>
    chance(random, 0.05) ? JSON.stringify(hostileValue(random, 0)) : literal,
  );
  return {
    query: chance(random, 0.15) ? mutated(random, text) : text,
    variables: Object.fromEntries(Object.entries(variables).map(([name, given]) => [name, value(given)])),
    ...(chance(random, 0.05) ? { operationName: random.pick(["Q", "R", ""]) } : {}),
  };
}

/** A query by POST or GET, now and then with a broken body, another method or odd headers. */
export function queryRequest(random: Random, path: string, document: QueryDocument): FuzzRequest {
  const headers = oddHeaders(random, { "content-type": "application/json", accept: "application/json" });
  if (chance(random, 0.15)) {
    const { query, variables, operationName } = document;
    const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
    if (operationName !== undefined) search.set("operationName", operationName);
    return { method: "GET", path: `${path}?${search}`, headers };
  }
  const text = JSON.stringify(document);
  const body = chance(random, 0.08) ? brokenBody(random, text) : text;
  const method = chance(random, 0.03) ? random.pick(methods) : "POST";
  return method === "GET" || method === "HEAD" ? { method, path, headers } : { method, path, headers, body };
}

/**
 * A request to one of a document's operations: parameters as their schemas describe them, or hostile, missing or
 * repeated. A new endpoint is covered as soon as the document describes it.
 */
export function describedRequest(random: Random, { paths }: ApiDocument): FuzzRequest {
  const [template, operations] = random.pick(Object.entries(paths));
  const [described, operation] = random.pick(Object.entries(operations));
  const parameters = (operation.parameters ?? []) as Parameter[];
  let path = template;
  const search = new URLSearchParams();
  for (const parameter of parameters) {
    if (parameter.in === "path") {
      path = path.replace(`{${parameter.name}}`, escapePart(valueFor(random, parameter)));
    } else if (chance(random, 0.5)) {
      for (let left = chance(random, 0.05) ? 3 : 1; left > 0; left--) {
        search.append(parameter.name, valueFor(random, parameter));
      }
    }
  }
  if (chance(random, 0.05)) search.append(random.pick(hostileTexts), random.pick(hostileTexts));
  const query = search.size === 0 ? "" : `?${search}`;
  const method = chance(random, 0.05) ? random.pick(methods) : described.toUpperCase();
  const odd = chance(random, 0.04) ? random.pick(["/", "//", "/..", "/%2e%2e", "/%00", "/\\"]) : "";
  const request = { method, path: `${path}${odd}${query}`, headers: oddHeaders(random, {}) };
  if (method === "GET" || method === "HEAD") return request;
  return { ...request, body: brokenBody(random, JSON.stringify(hostileValue(random))) };
}

/** A batch for the label service: labelhashes known and unknown, pinned or not, now and then broken. */
export function batchRequest(random: Random, known: readonly string[]): FuzzRequest {
  const labelhash = () =>
    chance(random, 0.1)
      ? hostileValue(random)
      : chance(random, 0.5)
        ? random.pick(known)
        : `0x${random.hexDigits(32)}`;
  const body = JSON.stringify({
    labelhashes: chance(random, 0.05)
      ? hostileValue(random)
      : Array.from({ length: random.pick([0, 1, 3, 50, 600]) }, labelhash),
    ...(chance(random, 0.3)
      ? { label_set_id: chance(random, 0.5) ? "subgraph" : hostileValue(random, 0) }
      : {}),
    ...(chance(random, 0.3)
      ? { label_set_version: chance(random, 0.5) ? random.below(3) : hostileValue(random, 0) }
      : {}),
  });
  return {
    method: "POST",
    path: "/v1/heal",
    headers: oddHeaders(random, { "content-type": "application/json" }),
    body: chance(random, 0.1) ? brokenBody(random, body) : body,
  };
}

function valueFor(random: Random, { schema, example }: Parameter): string {
  if (chance(random, 0.25)) return random.pick(hostileTexts);
  if (schema.enum !== undefined) return String(random.pick(schema.enum));
  const shown = example ?? schema.example;
  if (shown !== undefined && chance(random, 0.6)) return String(shown);
  const digits = /\[0-9a-fA-F\]\{(\d+)\}/.exec(schema.pattern ?? "")?.[1];
  if (digits !== undefined) return `0x${random.hexDigits(Number(digits) / 2)}`;
  if (/\[0-9\]/.test(schema.pattern ?? "")) return String(random.below(200));
  return random.pick([
    "alice.eth",
    "name1.eth",
    "1",
    "60",
    "8453",
    "1700000000",
    `0x${random.hexDigits(20)}`,
    `0x${random.hexDigits(32)}`,
    "avatar,url",
  ]);
}

// Half of a surrogate pair has no escape: it becomes the replacement character, as in a browser.
function escapePart(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function oddHeaders(random: Random, usual: Record<string, string>): Record<string, string> {
  const headers = { ...usual };
  if (chance(random, 0.05)) headers["content-type"] = random.pick(contentTypes);
  if (chance(random, 0.1)) headers["accept"] = random.pick(accepts);
  if (chance(random, 0.1))
    headers["accept-encoding"] = random.pick(["gzip", "br", "gzip;q=0", "*", "x".repeat(500)]);
  if (chance(random, 0.03)) headers["if-none-match"] = random.pick(["*", 'W/"1-2-3"', "x".repeat(2_000)]);
  if (chance(random, 0.03))
    headers["x-forwarded-for"] = random.pick(["127.0.0.1", "::1, 10.0.0.1", "nonsense"]);
  if (chance(random, 0.02)) headers["range"] = "bytes=0-0,-1";
  return headers;
}

function brokenBody(random: Random, body: string): string | Uint8Array<ArrayBuffer> {
  switch (random.below(7)) {
    case 0:
      return body.slice(0, random.below(body.length + 1));
    case 1:
      return mutated(random, body);
    case 2:
      return JSON.stringify(hostileValue(random));
    case 3:
      return `\ufeff${body}`;
    case 4:
      return Uint8Array.from([...Buffer.from(body.slice(0, 40)), 0xff, 0xfe, 0xc0, 0x80]);
    case 5:
      return `${"[".repeat(20_000)}`;
    default:
      return "";
  }
}
