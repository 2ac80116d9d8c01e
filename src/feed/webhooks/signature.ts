import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { Hook } from "../../config/webhooks-file.ts";

/** A message as it is sent: its id stays over all attempts. */
export type Delivery = { id: string; body: string };

/**
 * Headers of a delivery by Standard Webhooks: `v1` by HMAC-SHA256, and `v1a` by ed25519 if the hook has a private key.
 */
export function signedHeaders(
  { secret, privateKey }: Pick<Hook, "secret" | "privateKey">,
  { id, body }: Delivery,
  at: Date,
): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1_000);
  const signatures = [new Webhook(secret).sign(id, at, body)];
  if (privateKey !== undefined) {
    const signature = sign(null, Buffer.from(`${id}.${timestamp}.${body}`), parsePrivateKey(privateKey));
    signatures.push(`v1a,${signature.toString("base64")}`);
  }
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}

/** The public key of a hook's `whsk_` key, as Standard Webhooks writes it: `whpk_` and 32 bytes in base64. */
export function derivePublicKey(privateKey: string): string {
  const { x = "" } = createPublicKey(parsePrivateKey(privateKey)).export({ format: "jwk" });
  return `whpk_${Buffer.from(x, "base64url").toString("base64")}`;
}

// RFC 8410: what precedes the 32 bytes of an ed25519 seed in PKCS #8.
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

function parsePrivateKey(privateKey: string) {
  const seed = Buffer.from(privateKey.slice("whsk_".length), "base64").subarray(0, 32);
  return createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
}
