import { parseObject } from "./errors.ts";
import type { WebhookMessage } from "./messages.ts";

export type { Reminder, WebhookMessage } from "./messages.ts";

type GivenHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export type WebhookOptions = {
  /** The body as it was received, before any parsing. */
  body: string | Uint8Array;
  headers: GivenHeaders;
  /** `whsec_…`: verifies HMAC-SHA256. */
  secret?: string | undefined;
  /** `whpk_…`: verifies ed25519. */
  publicKey?: string | undefined;
  /** Seconds by which the timestamp may be off; default 300. */
  tolerance?: number | undefined;
  /** Milliseconds since 1970 of the receiver's clock. */
  now?: number | undefined;
};

/** A request that is no delivery of the index. */
export class WebhookError extends Error {
  override name = "WebhookError";
}

/**
 * The messages of a delivery, and its id, which stays the same when it is repeated. Throws a `WebhookError` unless one
 * signature is valid (Standard Webhooks: `v1` by the secret, `v1a` by the public key) and the timestamp is recent.
 */
export async function verifyWebhook({
  body,
  headers,
  secret,
  publicKey,
  tolerance = 300,
  now = Date.now(),
}: WebhookOptions): Promise<{ id: string; messages: WebhookMessage[] }> {
  const id = readHeader(headers, "webhook-id");
  const timestamp = readHeader(headers, "webhook-timestamp");
  const signatures = readHeader(headers, "webhook-signature");
  if (!/^\d+$/.test(timestamp) || Math.abs(now / 1_000 - Number(timestamp)) > tolerance)
    throw new WebhookError(`webhook-timestamp is more than ${tolerance} seconds off: ${timestamp}`);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : Uint8Array.from(body);
  const signed = Uint8Array.from([...new TextEncoder().encode(`${id}.${timestamp}.`), ...bytes]);
  if (secret === undefined && publicKey === undefined) throw new TypeError("Give a secret or a public key");
  if (!(await hasSignature(hmac, secret)) && !(await hasSignature(ed25519, publicKey)))
    throw new WebhookError("No signature is valid");
  const messages = parseObject(new TextDecoder().decode(bytes));
  if (!Array.isArray(messages)) throw new WebhookError("The body is not a list of messages");
  return { id, messages };

  async function hasSignature(
    { version, prefix, algorithm }: typeof hmac | typeof ed25519,
    text: string | undefined,
  ) {
    if (text === undefined) return false;
    const raw = text.startsWith(prefix) ? decodeBase64(text.slice(prefix.length)) : undefined;
    if (raw === undefined) throw new TypeError(`A key must be ${prefix} and base64`);
    const key = await crypto.subtle.importKey("raw", raw, algorithm, false, ["verify"]);
    for (const one of signatures.split(" ")) {
      const signature = one.startsWith(version) ? decodeBase64(one.slice(version.length)) : undefined;
      if (signature && (await crypto.subtle.verify(algorithm, key, signature, signed))) return true;
    }
    return false;
  }
}

const hmac = { version: "v1,", prefix: "whsec_", algorithm: { name: "HMAC", hash: "SHA-256" } };
const ed25519 = { version: "v1a,", prefix: "whpk_", algorithm: { name: "Ed25519" } };

function readHeader(headers: GivenHeaders, name: string): string {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const value = entries.find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== "string") throw new WebhookError(`The header ${name} is missing`);
  return value;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
