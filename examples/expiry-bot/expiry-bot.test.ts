import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { namehash } from "viem";
import { expect, onTestFinished, test } from "vitest";
import { type Client, createClient } from "../../client/src/index.ts";
import type { WebhookMessage } from "../../client/src/webhooks.ts";
import { alice, bob, createStoredNames, day, later, now } from "../../test/support/lookups/stored-names.ts";
import { createBot, createReceiver } from "./expiry-bot.ts";

// The bot on the endpoints of the service: plain.eth and wrapped.eth of alice end ten days from now.

const { fetch: fetchNames, client: database } = await createStoredNames();
const url = "http://index.test";
let isDown = false;
const index = createClient({
  url,
  retries: 0,
  fetch: (async (input: string, init: RequestInit) => {
    if (isDown) throw new TypeError("fetch failed");
    return fetchNames(input.slice(url.length), init);
  }) as typeof fetch,
});

const startBot = (watched: string[], warned = new Set<string>()) => {
  const lines: string[] = [];
  const warn = (line: string) => lines.push(line);
  const settings = { watched: new Set(watched), namespaces: ["ens"], days: [30, 7, 1], warned, warn };
  const bot = createBot({ index: index as Client, ...settings });
  const warnings = async (time: number) => {
    await bot.update(time);
    return lines.splice(0).map((line) => line.replace(/ of 0x(..)\S+ expires within/, " $1").split(":")[0]);
  };
  return { ...bot, warnings, warned };
};

const event = (type: string, name: string) =>
  ({ id: "1", event: "event", data: { type, name, chain_id: 1, block_number: null } }) as WebhookMessage;
const node = namehash("plain.eth");
/** Renews or transfers plain.eth. */
const renew = (until: number) =>
  database.query("UPDATE registration SET expiry_date = $1 WHERE id = $2", [until, node]);
const transfer = (to: string) =>
  database.query("UPDATE domain SET registrant_id = $1 WHERE id = $2", [to, node]);

test("warns once for each number of days, of watched names and of names of watched addresses", async () => {
  const { warnings, warned } = startBot([alice]);
  expect(await warnings(now)).toEqual(["plain.eth 11 30 d", "wrapped.eth 11 30 d"]);
  expect(await warnings(later - 7 * day - 1)).toEqual([]);
  expect(await warnings(later - 7 * day)).toEqual(["plain.eth 11 7 d", "wrapped.eth 11 7 d"]);
  // After a restart, and after a pause over which a day was passed.
  const again = startBot([alice], new Set(warned));
  expect(await again.warnings(later - 7 * day)).toEqual([]);
  expect(await again.warnings(later - 60)).toEqual(["plain.eth 11 1 d", "wrapped.eth 11 1 d"]);
  expect(await again.warnings(later)).toEqual([]);
  expect(await startBot(["plain.eth"]).warnings(now)).toEqual(["plain.eth 11 30 d"]);
});

test("follows renewals, transfers and what is reverted; a delivery that is repeated warns of nothing", async () => {
  onTestFinished(async () => {
    await renew(later);
    await transfer(alice);
  });
  const { take, warnings } = startBot([alice, bob]);
  await warnings(now);
  const time = later - 7 * day;
  await renew(later + 365 * day);
  take([event("renewal", "plain.eth")]);
  expect(await warnings(time)).not.toContain("plain.eth 11 7 d");
  await renew(later);
  take([
    { id: "2", event: "reverted", data: { chain_id: 1, last_valid_block: 1, ids: ["1"], keys: [] } },
    { id: "3", event: "test", data: {} },
  ]);
  expect(await warnings(time)).toEqual(["plain.eth 11 7 d"]);
  await transfer(bob);
  const transferred = [event("transfer", "plain.eth")];
  take(transferred);
  expect(await warnings(time)).toEqual(["plain.eth 22 7 d"]);
  take(transferred);
  expect(await warnings(time)).toEqual([]);
  await renew(later - day);
  take([{ id: "4", event: "must-refetch", data: {} }]);
  expect(await warnings(time)).toEqual(["plain.eth 22 7 d"]);
});

test("reads everything again after an error", async () => {
  const { take, update, warnings } = startBot(["plain.eth"]);
  take([event("renewal", "plain.eth")]);
  isDown = true;
  await expect(update(now)).rejects.toThrow("cannot be reached");
  isDown = false;
  expect(await warnings(now)).toEqual(["plain.eth 11 30 d"]);
});

test("takes what the secret signs, and nothing else", async () => {
  const taken: WebhookMessage[][] = [];
  const [secret = "", other = ""] = [1, 2].map(
    (byte) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`,
  );
  const server = createReceiver(secret, (messages) => taken.push(messages)).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const send = async (by: string, body: string) => {
    const at = new Date();
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(by).sign("msg_1", at, body),
    };
    const receiver = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return (await fetch(receiver, { method: "POST", body, headers })).status;
  };
  const messages = [event("renewal", "é.eth")];
  expect(await send(other, JSON.stringify(messages))).toBe(400);
  expect(await send(secret, JSON.stringify(messages))).toBe(204);
  expect(await send(secret, `[${" ".repeat(1_000_000)}]`)).toBe(400);
  expect(taken).toEqual([messages]);
});
