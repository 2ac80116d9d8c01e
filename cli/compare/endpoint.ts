import { setTimeout as wait } from "node:timers/promises";
import { parsedJson } from "../../src/log/json-log.ts";
import { readRetryAfter } from "../../src/rpc/retry-after.ts";
import { PreflightError } from "../refusal.ts";

/** A response: data, or the messages of its errors. */
export type Answer = { data?: unknown; errors?: string[] };

const limits = { tries: 4, longestPauseMs: 60_000, longestMs: 30_000, bytes: 32 * 2 ** 20 };

/**
 * Sends a GraphQL query, again after 429 and 503. Throws a PreflightError that names the host alone, since a URL may
 * hold a key.
 */
export async function askEndpoint(
  url: string,
  query: string,
  { variables = {}, pause = wait as (milliseconds: number) => Promise<unknown> } = {},
): Promise<Answer> {
  const { host } = new URL(url);
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(limits.longestMs),
    }).catch((error: Error & { cause?: { code?: string } }) => {
      throw new PreflightError(`${host} does not respond: ${error.cause?.code ?? error.name}.`);
    });
    const text = await readText(response, host);
    const isBusy = response.status === 429 || response.status === 503;
    if (isBusy && attempt < limits.tries) {
      await pause(Math.min(readRetryAfter(response) ?? 1_000 * 2 ** attempt, limits.longestPauseMs));
      continue;
    }
    if (isBusy) throw new PreflightError(`${host} is busy (HTTP ${response.status}). Try again later.`);
    const { data, errors } = Object(parsedJson(text)) as { data?: unknown; errors?: unknown };
    if (Array.isArray(errors))
      return { errors: errors.map((error) => String(Object(error)["message"] ?? "")) };
    if (data !== undefined) return { data };
    const type = response.headers.get("content-type") ?? "no content type";
    throw new PreflightError(`${host} does not answer with GraphQL: HTTP ${response.status}, ${type}.`);
  }
}

async function readText(response: Response, host: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > limits.bytes) break;
      chunks.push(chunk);
    }
  } catch {
    throw new PreflightError(`${host} did not complete its response in ${limits.longestMs / 1_000} s.`);
  }
  if (bytes > limits.bytes) throw new PreflightError(`${host} returns more than 32 MB for one query.`);
  return Buffer.concat(chunks).toString("utf8");
}
