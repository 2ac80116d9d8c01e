import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { createReceiver, fold } from "./webhook-receiver.ts";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

async function startReceiver() {
  const events = new Map();
  const server = createReceiver(secret, events, () => {}).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = async (id: string, messages: unknown, by = secret) => {
    const body = JSON.stringify(messages);
    const at = new Date();
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(by).sign(id, at, body),
    };
    const { status } = await fetch(url, { method: "POST", body, headers });
    return [status, [...events.keys()]];
  };
  return { send };
}

const event = (id: string) => ({
  id: `at ${id}`,
  event: "event",
  data: { id, type: "renewal", name: `${id}.eth` },
});
const reverted = (...ids: string[]) => ({
  ...{ id: "r", event: "reverted" },
  data: { chain_id: 1, last_valid_block: 5, ids },
});

test("keeps the events that stand, and takes each delivery once", async () => {
  const { send } = await startReceiver();
  expect(await send("msg_1", [event("a"), event("b")])).toEqual([204, ["a", "b"]]);
  expect(await send("msg_2", [event("c"), reverted("c", "b"), event("d")])).toEqual([204, ["a", "d"]]);
  expect(await send("msg_2", [event("c"), reverted("c", "b"), event("d")])).toEqual([204, ["a", "d"]]);
  expect(await send("msg_3", [{ id: "x", event: "must-refetch", data: {} }])).toEqual([204, []]);
});

test("gives entries the names that have become known", async () => {
  const events = new Map([["a", { type: "renewal", namehash: "0x1", name: "[2].eth" }]]);
  const names = [
    { namehash: "0x1", name: "alice.eth" },
    { namehash: "0x3", name: "bob.eth" },
  ];
  fold(events, { id: "h", event: "healed", data: { names } });
  expect([...events.values()]).toEqual([{ type: "renewal", namehash: "0x1", name: "alice.eth" }]);
});

test("refuses what others sign", async () => {
  const { send } = await startReceiver();
  const other = `whsec_${Buffer.alloc(32, 2).toString("base64")}`;
  expect(await send("msg_1", [event("a")], other)).toEqual([400, []]);
});
