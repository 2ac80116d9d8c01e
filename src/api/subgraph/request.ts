import type { QueryRequest } from "./compile/compile-request.ts";

/** Not a GraphQL request; the response is HTTP 400. */
export class RequestError extends Error {
  override name = "RequestError";
}

/** Reads the body of a POST. */
export function readBody(text: string): QueryRequest {
  if (text === "") throw new RequestError("Body is required");
  const body = parseJson(text, "the body");
  if (!isRecord(body)) throw new RequestError("The body is not a JSON object");
  return readMembers(body);
}

/** Reads the parameters of a GET: `query`, and `variables` and `extensions` as JSON. */
export function readParameters(parameters: URLSearchParams): QueryRequest {
  const json = (name: string) => {
    const text = parameters.get(name);
    return text === null || text === "" ? undefined : parseJson(text, `the parameter ${name}`);
  };
  return readMembers({
    query: parameters.get("query") ?? undefined,
    operationName: parameters.get("operationName") ?? undefined,
    variables: json("variables"),
    extensions: json("extensions"),
  });
}

function readMembers({ query, variables, operationName, extensions }: Record<string, unknown>): QueryRequest {
  if (query === undefined) throw new RequestError('The "query" field is missing in request data');
  if (typeof query !== "string") throw new RequestError('The "query" field is not a string');
  if (variables !== undefined && variables !== null && !isRecord(variables)) {
    throw new RequestError('The "variables" field is not an object');
  }
  const asked = isRecord(extensions) ? extensions : {};
  return {
    query,
    // A variable may have any JSON value; each is checked against the column or argument it is used for.
    variables: (variables ?? {}) as QueryRequest["variables"],
    operationName: typeof operationName === "string" && operationName !== "" ? operationName : undefined,
    extensions: { counts: asked["counts"] === true, truncated: asked["truncated"] === true },
  };
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RequestError(`${what} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
