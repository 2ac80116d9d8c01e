import { generateKeyPairSync, verify } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { derivePublicKey, signedHeaders } from "./signature.ts";

// The test vector of the Standard Webhooks libraries.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const delivery = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: '{"test": 2432232314}' };
const at = new Date(1_614_265_330_000);

test("signs with HMAC-SHA256 as the convention's test vector", () => {
  expect(signedHeaders({ secret }, delivery, at)).toEqual({
    "webhook-id": delivery.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("adds an ed25519 signature where there is a private key", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  const seed = Buffer.from(d, "base64url");
  const own = Buffer.from(x, "base64url");
  // Seed alone, or with the public key behind it.
  for (const bytes of [seed, Buffer.concat([seed, own])]) {
    const key = `whsk_${bytes.toString("base64")}`;
    const headers = signedHeaders({ secret, privateKey: key }, delivery, new Date());
    const [v1 = "", v1a = ""] = (headers["webhook-signature"] ?? "").split(" ");
    const signed = Buffer.from(`${delivery.id}.${headers["webhook-timestamp"]}.${delivery.body}`);
    expect(v1a.slice(0, 4)).toBe("v1a,");
    expect(verify(null, signed, publicKey, Buffer.from(v1a.slice(4), "base64"))).toBe(true);
    expect(v1.slice(0, 3)).toBe("v1,");
    expect(new Webhook(secret).verify(delivery.body, headers)).toEqual({ test: 2_432_232_314 });
    expect(derivePublicKey(key)).toBe(`whpk_${own.toString("base64")}`);
  }
});
