import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { derivePublicKey, signedHeaders } from "../../src/feed/webhooks/signature.ts";
import { verifyWebhook } from "./webhooks.ts";

// The test vector of the Standard Webhooks libraries, whose body is no list of ours.
const vector = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  body: '{"test": 2432232314}',
  headers: {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
  now: 1_614_265_330_000,
};
const seed = Buffer.from(
  generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }).d ?? "",
  "base64url",
);
const privateKey = `whsk_${seed.toString("base64")}`;
const publicKey = derivePublicKey(privateKey);
const body = JSON.stringify([
  { id: "1", event: "reverted", data: { chain_id: 1, last_valid_block: 9, ids: ["é"], keys: [] } },
]);
const { secret, now } = vector;
const headers = signedHeaders({ secret, privateKey }, { id: "msg_1", body }, new Date(now));

test("the convention's test vector is valid, and refused only for what it says", () =>
  expect(verifyWebhook(vector)).rejects.toThrow("The body is not a list of messages"));

describe("a delivery of the service", () => {
  test.each([
    ["by HMAC", { secret }],
    ["by ed25519", { publicKey }],
    ["by either", { secret: `whsec_${btoa("another secret of bytes")}`, publicKey }],
  ])("%s", async (_, keys) => {
    const expected = { id: "msg_1", messages: JSON.parse(body) };
    expect(await verifyWebhook({ body, headers, now, ...keys })).toEqual(expected);
    const sent = { body: new TextEncoder().encode(body), headers: new Headers(headers) };
    expect(await verifyWebhook({ ...sent, now, ...keys })).toEqual(expected);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(await verifyWebhook({ body, headers: upper, now, ...keys })).toEqual(expected);
  });

  test("a timestamp at the tolerance", async () => {
    for (const at of [now - 300_000, now + 300_000])
      expect((await verifyWebhook({ body, headers, secret, now: at })).id).toBe("msg_1");
  });
});

test.each<[string, object, string]>([
  ["another body", { body: `${body} ` }, "No signature is valid"],
  ["another id", { headers: { ...headers, "webhook-id": "msg_2" } }, "No signature is valid"],
  ["another secret", { secret: `whsec_${btoa("another secret of bytes")}` }, "No signature is valid"],
  [
    "a signature of another kind",
    { headers: { ...headers, "webhook-signature": "v1a,AAAA v9,AAAA toString,AAAA" } },
    "No signature is valid",
  ],
  [
    "a signature that is not base64",
    { headers: { ...headers, "webhook-signature": "v1,*" } },
    "No signature is valid",
  ],
  [
    "a short signature",
    { secret: undefined, publicKey, headers: { ...headers, "webhook-signature": "v1a,AAAA" } },
    "No signature is valid",
  ],
  ["an old timestamp", { now: now + 301_000 }, "webhook-timestamp is more than 300 seconds off: 1614265330"],
  ["a timestamp of the future", { now: now - 301_000 }, "more than 300 seconds off"],
  ["no number", { headers: { ...headers, "webhook-timestamp": "1e9" } }, "more than 300 seconds off"],
  ["no id", { headers: { ...headers, "webhook-id": undefined } }, "The header webhook-id is missing"],
  ["two ids", { headers: { ...headers, "webhook-id": ["a", "b"] } }, "The header webhook-id is missing"],
])("%s is refused", (_, changed, message) =>
  expect(verifyWebhook({ body, headers, secret, now, ...changed })).rejects.toMatchObject({
    ...{ name: "WebhookError", message: expect.stringContaining(message) },
  }),
);

test("keys of another form are a mistake of the receiver", async () => {
  for (const keys of [{}, { secret: "secret" }, { publicKey: "whpk_*" }])
    await expect(verifyWebhook({ body, headers, now, ...keys })).rejects.toBeInstanceOf(TypeError);
});
