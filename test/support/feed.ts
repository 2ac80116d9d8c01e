import { setTimeout as pause } from "node:timers/promises";
import { WaitError } from "../../devnet/wait.ts";

/** A message of a stream of name events. */
export type FeedMessage = {
  event: string;
  id: string;
  /** The cache keys, which are within `data`. */
  keys?: string[] | undefined;
  data: { id: string; ids?: string[]; names?: { namehash: string; name?: string }[] } & Record<
    string,
    unknown
  >;
};

/** Messages of a stream of name events, as they come; ends with the stream. */
export async function* messagesOf(response: Response): AsyncGenerator<FeedMessage> {
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
      );
      const { keys, ...data } = JSON.parse(fields["data"] ?? "");
      yield { event: fields["event"] ?? "", id: fields["id"] ?? "", keys, data };
    }
  }
}

/**
 * The entries that a reader holds after a message. Throws if the feed repeats an entry, or skips one that it takes
 * back.
 */
export function fold(held: Map<string, unknown>, { event, data }: FeedMessage): void {
  if (event === "event") {
    if (held.has(data.id)) throw new Error(`The feed repeats ${JSON.stringify(data)}`);
    const { keys: _, ...entry } = data;
    held.set(data.id, entry);
  }
  for (const id of data.ids ?? []) held.delete(id);
  if (event !== "healed") return;
  const names = new Map(data.names?.map(({ namehash, name }) => [namehash, name]));
  for (const entry of held.values() as Iterable<{ namehash?: string; name?: string | undefined }>)
    entry.name = names.get(entry.namehash ?? "") ?? entry.name;
}

/**
 * A client that holds what the messages say, and connects again, to any of the URLs, whenever its connection ends or it
 * drops it after up to `max` messages. It begins anew when it is told to refetch.
 */
export function openReader(
  urls: () => readonly string[],
  query: string,
  { random, max }: { random: (below: number) => number; max: number },
) {
  const held = new Map<string, unknown>();
  const counts = { connections: 0, reverted: 0, refetched: 0 };
  const stopped = new AbortController();
  let last = "";

  async function connect(): Promise<void> {
    const closing = new AbortController();
    const signal = AbortSignal.any([closing.signal, stopped.signal]);
    const known = urls();
    const url = `${known[random(known.length)]}/v1/events/stream?${query}`;
    const response = await fetch(url, { signal, headers: last === "" ? {} : { "last-event-id": last } });
    if (response.status === 400) throw new Error(`The stream refuses ${last}: ${await response.text()}`);
    let left = 3 + random(max);
    counts.connections += 1;
    for await (const message of messagesOf(response)) {
      if (message.event === "must-refetch") {
        counts.refetched += 1;
        held.clear();
        last = "";
        break;
      }
      if (message.event === "reverted") counts.reverted += 1;
      fold(held, message);
      last = message.id;
      left -= 1;
      if (left === 0) break;
    }
    closing.abort();
  }
  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      try {
        await connect();
      } catch (error) {
        // The service may be down, or not ready.
        if (error instanceof Error && /^The (stream|feed)/.test(error.message)) throw error;
        await pause(50);
      }
    }
  }
  const running = run();
  running.catch(() => undefined);
  return {
    held,
    counts,
    /** Throws if the stream broke its promises. */
    failed: () =>
      Promise.race([running, undefined]).catch((error: unknown) => {
        throw new WaitError(String(error));
      }),
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

/** What `/v1/events` lists, by id. */
export async function listed(url: string): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (let next = ""; ; ) {
    const response = await fetch(`${url}/v1/events?order=asc&include=data,raw&page_size=200${next}`);
    const { data, page } = (await response.json()) as {
      data: { id: string }[];
      page: { has_more: boolean; next_cursor: string };
    };
    for (const entry of data) found.set(entry.id, entry);
    if (!page.has_more) return found;
    next = `&cursor=${page.next_cursor}`;
  }
}
