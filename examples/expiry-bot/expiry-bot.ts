// A bot that warns before names expire. It watches names and the names of addresses:
//
//   WEBHOOK_SECRET=whsec_… npm run -s example -- expiry-bot 0xe74cef90b6cf1a77fefad731713e6f53e575c183 alice.eth
//
// It reads what expires soon at its start, once a day, after a reorganization and for a new index. In between, webhooks
// name what changes: a hook with the filter { "type": "registration,renewal,transfer,release" } (docs/webhooks.md).
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Client, createClient, type Name } from "../../client/src/index.ts";
import { verifyWebhook, WebhookError, type WebhookMessage } from "../../client/src/webhooks.ts";

const day = 86_400;

type Settings = {
  index: Client;
  watched: ReadonlySet<string>;
  namespaces: readonly string[];
  days: readonly number[];
  warned: Set<string>;
  warn: (line: string) => void;
};

/** A bot for normalized names, and addresses in lower case. It adds its warnings to `warned`, and repeats none. */
export function createBot({ index, watched, namespaces, days, warned, warn }: Settings) {
  const names = new Map<string, Name>();
  const changed = new Set<string>();
  let readAt = 0;

  function keep(row: Name): void {
    if (watched.has(row.name) || watched.has(row.owner ?? "")) names.set(row.namehash, row);
    else names.delete(row.namehash);
  }

  async function readAll(now: number): Promise<void> {
    readAt = now;
    names.clear();
    const window = { expires_after: now, expires_before: now + (Math.max(...days) + 1) * day };
    for (const namespace of namespaces)
      for await (const row of index.expiries({ namespace, ...window, page_size: 200 })) keep(row);
  }

  return {
    take(messages: readonly WebhookMessage[]): void {
      for (const { event, data } of messages) {
        if (event === "reverted" || event === "must-refetch") readAt = 0;
        if (event !== "event") continue;
        if (data.name !== undefined) changed.add(data.name);
        // No reader may answer as of before.
        if (data.block_number !== null) index.requireBlock(data.chain_id, data.block_number);
      }
    },
    /** Reads what has changed, and warns of what is due; `now` in Unix seconds. After an error it reads everything. */
    async update(now: number): Promise<void> {
      const asked = [...changed];
      changed.clear();
      try {
        if (now >= readAt + day) await readAll(now);
        for (const { record } of await index.names(asked)) if (record) keep(record);
      } catch (error) {
        readAt = 0;
        throw error;
      }
      for (const { namehash, name, owner, expires_at } of names.values()) {
        const left = Number(expires_at ?? 0) - now;
        const due = Math.min(...days.filter((one) => left <= one * day));
        const warning = `${expires_at} ${due} ${namehash} ${owner}`;
        if (left <= 0 || due === Infinity || warned.has(warning)) continue;
        warn(`${name} of ${owner} expires within ${due} d: ${new Date((now + left) * 1_000).toISOString()}`);
        warned.add(warning);
      }
    },
  };
}

/** A server that passes on deliveries signed with a secret. 204: received, and never sent again. */
export const createReceiver = (secret: string, take: (messages: WebhookMessage[]) => void): Server =>
  createServer(async (request, response) => {
    try {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) {
        body += chunk;
        if (body.length > 1_000_000) throw new WebhookError("The body is too long");
      }
      take((await verifyWebhook({ body, headers: request.headers, secret })).messages);
      response.writeHead(204).end();
    } catch (error) {
      console.error(String(error));
      response.writeHead(error instanceof WebhookError ? 400 : 500).end();
    }
  });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (usual: string) => ({ type: "string", default: usual }) as const;
  const options = { days: option("30,7,1"), namespaces: option("ens"), port: option("3000") };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const { INDEX_URL: url = "http://localhost:42069", STATE_FILE: file = "expiry-bot.json" } = process.env;
  const { WEBHOOK_SECRET: secret } = process.env;
  if (!secret || positionals.length === 0) throw new Error("usage: WEBHOOK_SECRET=… expiry-bot.ts <name> …");
  const warned = new Set<string>(JSON.parse(readFileSync(file, { encoding: "utf8", flag: "a+" }) || "[]"));
  const bot = createBot({
    index: createClient({ url }),
    watched: new Set(positionals.map((one) => one.toLowerCase())),
    namespaces: values.namespaces.split(","),
    days: values.days.split(",").map(Number),
    ...{ warned, warn: console.log },
  });
  createReceiver(secret, bot.take).listen(Number(values.port));
  for (let saved = warned.size; ; await pause(1_000), saved = warned.size) {
    await bot.update(Math.floor(Date.now() / 1_000)).catch((error) => console.error(String(error)));
    if (warned.size === saved) continue;
    writeFileSync(`${file}.new`, JSON.stringify([...warned]));
    renameSync(`${file}.new`, file);
  }
}
