// Follows the events of names and drops from Varnish what they change: `npm run example -- cache-purge
// http://localhost:6081`.
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

type Message = { event: string; id: string; data: { keys?: string[] } };

async function* messagesOf(response: Response): AsyncGenerator<Message> {
  if (!response.ok || !response.body) throw new Error(`${response.url} answers ${response.status}`);
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? "";
      yield { event: field("event"), id: field("id"), data: JSON.parse(field("data")) };
    }
  }
}

/** Drops the responses with one of the keys from a cache; `.` is all of them. Throws if the cache refuses. */
async function purge(cache: string, keys: readonly string[]): Promise<void> {
  // Varnish takes headers of up to 8 kB.
  for (let at = 0; at < keys.length; at += 100) {
    const headers = { "x-keys": keys.slice(at, at + 100).join("|") };
    const { ok, status } = await fetch(cache, { method: "PURGE", headers });
    if (!ok) throw new Error(`${cache} answers ${status}`);
  }
}

/** Keeps a cache up to an index until the signal. What could not be purged is purged later, before anything else. */
export async function follow(
  { index, cache }: { index: string; cache: string },
  { signal, log, waitMs = 1_000 }: { signal: AbortSignal; log: (line: string) => void; waitMs?: number },
): Promise<void> {
  for (let last = ""; !signal.aborted; ) {
    try {
      const headers = last === "" ? {} : { "last-event-id": last };
      const response = await fetch(`${index}/v1/events/stream`, { signal, headers });
      // No index knows the id any more.
      if (response.status === 400) last = "";
      for await (const { event, id, data } of messagesOf(response)) {
        // What changed before the first message is not known, nor what changes with the index.
        const isUnknown = last === "" || event === "must-refetch" || (event !== "heartbeat" && !data.keys);
        const keys = isUnknown ? ["."] : (data.keys ?? []);
        await purge(cache, keys);
        if (keys.length > 0) log(`${event}: ${keys.join(" ")}`);
        last = event === "must-refetch" ? "" : id;
      }
    } catch (error) {
      if (!signal.aborted) log(String(error));
    }
    await pause(waitMs);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [cache = "http://localhost:6081"] = process.argv.slice(2);
  const index = process.env["INDEX_URL"] ?? "http://localhost:42069";
  await follow({ index, cache }, { signal: new AbortController().signal, log: console.log });
}
