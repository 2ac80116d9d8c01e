/** A message of a stream of name events. */
export type FeedMessage = {
  event: string;
  id: string;
  /** The cache keys, which are within `data`. */
  keys?: string[] | undefined;
  data: { id: string; ids?: string[] } & Record<string, unknown>;
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

/** The entries that a reader holds after a message. Throws if the feed repeats an entry, or skips one that it takes back. */
export function fold(held: Map<string, unknown>, { event, data }: FeedMessage): void {
  if (event === "event") {
    if (held.has(data.id)) throw new Error(`The feed repeats ${JSON.stringify(data)}`);
    const { keys: _, ...entry } = data;
    held.set(data.id, entry);
  }
  for (const id of data.ids ?? []) held.delete(id);
}
