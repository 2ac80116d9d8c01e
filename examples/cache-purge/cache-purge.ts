// Follows the events of names and drops from Varnish what they change: `npm run example -- cache-purge
// http://localhost:6081`.
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ApiError, createClient } from "../../client/src/index.ts";

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
  const client = createClient({ url: index });
  const onBreak = (reason: unknown) => log(String(reason));
  for (let after: string | undefined; !signal.aborted; await pause(waitMs)) {
    try {
      for await (const { event, id, data } of client.stream({ after }, { signal, onBreak })) {
        // What changed before the first message is not known, nor what changes with the index.
        let keys = ["."];
        if (after !== undefined && event !== "must-refetch")
          keys = event === "heartbeat" ? [] : (data.keys ?? keys);
        await purge(cache, keys);
        if (keys.length > 0) log(`${event}: ${keys.join(" ")}`);
        after = event === "must-refetch" ? undefined : id;
      }
    } catch (error) {
      // No index knows the id any more.
      if (error instanceof ApiError && error.status === 400) after = undefined;
      log(String(error));
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [cache = "http://localhost:6081"] = process.argv.slice(2);
  const index = process.env["INDEX_URL"] ?? "http://localhost:42069";
  await follow({ index, cache }, { signal: new AbortController().signal, log: console.log });
}
