// Receives webhooks of name events: checks signatures and keeps the events that stand. `npm run example --
// webhook-receiver whsec_…`.
import { createServer, type IncomingMessage, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { Webhook } from "standardwebhooks";

type Message =
  | { id: string; event: "event"; data: { id: string; type: string; namehash?: string; name?: string } }
  | { id: string; event: "reverted"; data: { chain_id: number; last_valid_block: number; ids: string[] } }
  | { id: string; event: "healed"; data: { names: { namehash: string; name?: string }[] } }
  // A deadline of a name: changes none of the events.
  | { id: string; event: "reminder"; data: { reminder: string; due_at: string; late: boolean; name: string } }
  | { id: string; event: "must-refetch" | "test"; data: object };

type Events = Map<string, { type: string; namehash?: string; name?: string }>;

/** Applies a message to the events that stand, by the ids of their entries. */
export function fold(events: Events, message: Message): void {
  if (message.event === "event") events.set(message.data.id, message.data);
  // A reorganization took these back.
  if (message.event === "reverted") for (const id of message.data.ids) events.delete(id);
  // Labels of these names have become known.
  if (message.event === "healed")
    for (const { namehash, name } of message.data.names)
      for (const entry of events.values()) if (name && entry.namehash === namehash) entry.name = name;
  // The index is another one. A real receiver reads anew what it needs, from /v1/events.
  if (message.event === "must-refetch") events.clear();
}

/**
 * A server that takes deliveries signed with a secret. 204: received, and never sent again; 400: no delivery of ours.
 */
export function createReceiver(secret: string, events: Events, log: (line: string) => void): Server {
  const webhook = new Webhook(secret);
  let last: string | undefined;
  return createServer(async (request, response) => {
    try {
      const body = await bodyOf(request);
      const messages = webhook.verify(body, request.headers as Record<string, string>) as Message[];
      const id = String(request.headers["webhook-id"]);
      // A delivery whose answer was lost comes again, before any other. A real receiver stores its id together with the
      // events.
      if (id !== last) for (const message of messages) fold(events, message);
      last = id;
      log(`${id}: ${messages.map(({ event }) => event).join(", ")}; ${events.size} events stand`);
      response.writeHead(204).end();
    } catch (error) {
      log(`refused: ${error}`);
      response.writeHead(400).end();
    }
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > 1_000_000) throw new Error("the body is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [secret = "", port = "3000"] = process.argv.slice(2);
  createReceiver(secret, new Map(), console.log).listen(Number(port), () =>
    console.log(`Listens on ${port}.`),
  );
}
