import { AnswerError, ApiError, ConnectionError, createError, isObject, parseObject } from "./errors.ts";
import type { Meta } from "./types.generated.ts";

export type ClientOptions = {
  /** Where the index is, such as `https://index.example.org`. */
  url: string;
  /** Instead of the global one. */
  fetch?: typeof fetch | undefined;
  apiKey?: string | undefined;
  /** How often a request is sent again after 429, 503 or a lost connection; default 2. */
  retries?: number | undefined;
};

export type CallOptions = { signal?: AbortSignal | undefined };

/** Values of parameters; undefined ones are not sent, and each value of a list is. */
export type Query = { [name: string]: string | number | boolean | readonly string[] | undefined };

type RequestOptions = CallOptions & { query?: Query | undefined; body?: unknown; accept?: string };

// A longer wait is the caller's decision.
const maxWait = 30;

// Of the routes that this client asks, those that know `min_block`.
const isPositioned = (path: string) =>
  /^\/(v1\/(?!status$|namespaces\/|events\/stream$|.*\/calendar\.ics$)|api\/(registrar-actions|name-tokens|name-sales))/.test(
    path,
  );

export type Requester = ReturnType<typeof createRequester>;

/** Requests to an index: with its key, as of the newest block that it has shown, again after 429 and 503. */
export function createRequester({ url, fetch: given, apiKey, retries = 2 }: ClientOptions) {
  const base = url.replace(/\/+$/, "");
  const send = given ?? ((input: string, init: RequestInit) => fetch(input, init));
  const blocks = new Map<string, number>();

  function requireBlock(chainId: number | string, block: number): void {
    const id = String(chainId);
    blocks.set(id, Math.max(blocks.get(id) ?? 0, block));
  }

  /** After a reorganization the chain may be shorter: its blocks after this one are not asked for any longer. */
  function revertTo(chainId: number, block: number): void {
    const id = String(chainId);
    if ((blocks.get(id) ?? 0) > block) blocks.set(id, block);
  }

  function buildUrl(path: string, query: Query): string {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) for (const one of [value].flat()) parameters.append(name, String(one));
    if (isPositioned(path) && blocks.size > 0 && !parameters.has("min_block"))
      parameters.set("min_block", [...blocks].map((one) => one.join(":")).join(","));
    const text = parameters.toString();
    return `${base}${path}${text && `?${text}`}`;
  }

  /** One attempt: a response of status 2xx, else an error. */
  async function open(path: string, { query = {}, body, signal, accept }: RequestOptions): Promise<Response> {
    const target = buildUrl(path, query);
    const headers: Record<string, string> = { accept: accept ?? "application/json" };
    if (apiKey !== undefined) headers["authorization"] = `Bearer ${apiKey}`;
    // Plain text needs no preflight request.
    const content = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    let response: Response;
    try {
      response = await send(target, { headers, signal: signal ?? null, ...content });
    } catch (error) {
      signal?.throwIfAborted();
      throw new ConnectionError(`${target} cannot be reached: ${error}`, error);
    }
    if (response.ok) return response;
    throw createError(target, response, await readText(response, signal));
  }

  async function attempt<T>(path: string, members: string[], options: RequestOptions): Promise<T> {
    const response = await open(path, options);
    const text = await readText(response, options.signal);
    const body = parseObject(text);
    if (body === undefined || !members.every((member) => isObject(body[member])))
      throw new AnswerError(response.url || base, response, text);
    const meta = body["meta"] as Meta | undefined;
    for (const [chainId, block] of Object.entries(meta?.as_of ?? {}))
      requireBlock(chainId, block?.block_number ?? 0);
    return body as T;
  }

  /** The body of a response. `members`: the objects and lists that it has if it is the index's. */
  async function ask<T>(path: string, members: string[], options: RequestOptions = {}): Promise<T> {
    for (let failures = 0; ; failures++) {
      options.signal?.throwIfAborted();
      try {
        return await attempt<T>(path, members, options);
      } catch (error) {
        const wait = isPassing(error) && failures < retries ? waitAfter(error, failures) : undefined;
        if (wait === undefined || wait > maxWait) throw error;
        await sleep(wait, options.signal);
      }
    }
  }

  return { base, open, ask, requireBlock, revertTo };
}

async function readText(response: Response, signal: AbortSignal | undefined): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError(`${response.url} broke off: ${error}`, error);
  }
}

/** Whether a later attempt may succeed. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError || (isAnswer(error) && [429, 502, 503, 504].includes(error.status));

/** Whether an error is a response, of the service or of another. */
export const isAnswer = (error: unknown): error is ApiError | AnswerError =>
  error instanceof ApiError || error instanceof AnswerError;

/** Seconds until the next attempt: what the service asks for, else twice as long after each failure. */
export function waitAfter(error: unknown, failures: number): number {
  return (
    (isAnswer(error) ? error.retryAfter : undefined) ??
    Math.min(maxWait, 2 ** failures) * (0.25 + Math.random() / 4)
  );
}

/** Waits for seconds; rejects with the signal's reason once it is aborted. */
export function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1_000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
