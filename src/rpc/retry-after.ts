/**
 * Milliseconds that a `Retry-After` header asks to wait: a number of seconds or a date (RFC 9110, 10.2.3), 0 for a date
 * that has passed; undefined for any other text.
 */
export function readRetryAfter({ headers }: Response): number | undefined {
  const text = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
