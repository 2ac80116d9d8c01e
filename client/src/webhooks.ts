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
 * The messages of a delivery, and its id, which stays the same when it is repeated. Throws a `WebhookError` unless one signature is valid
 * (Standard Webhooks: `v1` by the secret, `v1a` by the public key) and the timestamp is recent.
 */
export async function verifyWebhook({
  body,
  headers,
  secret,
  publicKey,
  tolerance = 300,
  now = Date.now(),
}: WebhookOptions): Promise<{ id: string; messages: WebhookMessage[] }> {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) =>
    readHeader(headers, `webhook-${name}`),
  ) as [string, string, string];
  if (!/^\d+$/.test(timestamp) || Math.abs(now / 1_000 - Number(timestamp)) > tolerance)
    throw new WebhookError(`webhook-timestamp is more than ${tolerance} seconds off: ${timestamp}`);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : Uint8Array.from(body);
  const signed = Uint8Array.from([...new TextEncoder().encode(`${id}.${timestamp}.`), ...bytes]);
  const keys = await importKeys(secret, publicKey);
  if (!(await hasSignature(signatures, signed, keys))) throw new WebhookError("No signature is valid");
  return { id, messages: parseMessages(new TextDecoder().decode(bytes)) };
}

function readHeader(headers: GivenHeaders, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== "string") throw new WebhookError(`The header ${name} is missing`);
  return value;
}

type Keys = { [version: string]: { algorithm: string; key: CryptoKey } };

async function importKeys(secret: string | undefined, publicKey: string | undefined): Promise<Keys> {
  const keys: Keys = {};
  const load = async (text: string, prefix: string, algorithm: string | HmacImportParams) => {
    const bytes = text.startsWith(prefix) ? decodeBase64(text.slice(prefix.length)) : undefined;
    if (bytes === undefined) throw new TypeError(`A key must be ${prefix} and base64`);
    return crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  };
  if (secret !== undefined)
    keys["v1"] = { algorithm: "HMAC", key: await load(secret, "whsec_", { name: "HMAC", hash: "SHA-256" }) };
  if (publicKey !== undefined)
    keys["v1a"] = { algorithm: "Ed25519", key: await load(publicKey, "whpk_", "Ed25519") };
  if (Object.keys(keys).length === 0) throw new TypeError("Give a secret or a public key");
  return keys;
}

async function hasSignature(list: string, signed: Uint8Array<ArrayBuffer>, keys: Keys): Promise<boolean> {
  for (const one of list.split(" ")) {
    const [version = "", text = ""] = one.split(",");
    const found = Object.hasOwn(keys, version) ? keys[version] : undefined;
    const signature = decodeBase64(text);
    if (found && signature && (await crypto.subtle.verify(found.algorithm, found.key, signature, signed)))
      return true;
  }
  return false;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function parseMessages(text: string): WebhookMessage[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw new WebhookError("The body is not a list of messages");
  return value as WebhookMessage[];
}
