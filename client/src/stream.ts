import { AnswerError, ConnectionError, parseObject } from "./errors.ts";
import type { StreamMessage } from "./messages.ts";
import { isAnswer, isPassing, type Requester, sleep, waitAfter } from "./request.ts";
import type { StreamQuery } from "./types.generated.ts";

export type StreamOptions = {
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** Milliseconds without a byte after which a connection counts as broken; default 45,000, three heartbeats. */
  silence?: number | undefined;
  /** Called with the reason before the stream is opened again. */
  onBreak?: ((reason: unknown) => void) | undefined;
};

/**
 * Messages of the feed of name events. After a break it goes on after the last message, for as long as the service may
 * come back; it throws what the service refuses, and if three connections in a row stay silent. `must-refetch` is the
 * last message.
 */
export async function* streamEvents(
  requester: Requester,
  { after, ...query }: StreamQuery,
  { signal, silence = 45_000, onBreak }: StreamOptions,
): AsyncGenerator<StreamMessage, void, undefined> {
  for (let failures = 0, silent = 0; !signal?.aborted; ) {
    const connection = new AbortController();
    const stop = () => connection.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    let reason: unknown = new ConnectionError("The stream ended");
    try {
      for await (const message of connect(requester, { ...query, after }, connection, silence)) {
        [failures, silent] = [0, 0];
        after = message.id ?? after;
        if (message.event === "reverted")
          requester.revertTo(message.data.chain_id, message.data.last_valid_block);
        yield message;
        if (message.event === "must-refetch") return;
        if (signal?.aborted) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      silent = error instanceof SilenceError ? silent + 1 : 0;
      if (!isPassing(error) || silent === 3) throw error;
      reason = error;
    } finally {
      connection.abort();
      signal?.removeEventListener("abort", stop);
    }
    onBreak?.(reason);
    // Whatever a proxy asks for, it is neither at once nor tomorrow.
    const wait = Math.min(60, Math.max(0.25, waitAfter(reason, failures++)));
    await sleep(wait, signal).catch(() => undefined);
  }
}

class SilenceError extends ConnectionError {}

async function* connect(
  requester: Requester,
  query: StreamQuery,
  connection: AbortController,
  silence: number,
): AsyncGenerator<StreamMessage> {
  const { signal } = connection;
  const path = "/v1/events/stream";
  const url = `${requester.base}${path}`;
  async function watch<T>(work: Promise<T>): Promise<T> {
    const reason = new SilenceError(`No byte of ${url} in ${silence} ms: a proxy may hold the stream back`);
    const timer = setTimeout(() => connection.abort(reason), silence);
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      throw isPassing(error) || isAnswer(error)
        ? error
        : new ConnectionError(`${url} broke off: ${error}`, error);
    } finally {
      clearTimeout(timer);
    }
  }
  const response = await watch(requester.open(path, { query, signal, accept: "text/event-stream" }));
  if (response.body === null || !response.headers.get("content-type")?.startsWith("text/event-stream"))
    throw new AnswerError(url, response, await watch(response.text()));
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  for (let rest = ""; ; ) {
    const { done, value } = await watch(reader.read());
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split(/(?:\r\n|\n|\r(?!\n)){2}/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const { event = "message", id, data } = readFields(block);
      if (data === undefined) continue;
      const content = parseObject(data);
      if (content === undefined) throw new AnswerError(url, response, block);
      yield { event, id, data: content } as StreamMessage;
    }
  }
}

// One event of the HTML standard, section 9.2.6: fields by line, and comments without a name.
function readFields(block: string): { [name: string]: string | undefined } {
  const fields: { [name: string]: string | undefined } = {};
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    fields[name] = name === "data" && fields[name] !== undefined ? `${fields[name]}\n${value}` : value;
  }
  return fields;
}
