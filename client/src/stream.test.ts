import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { namehash } from "../../src/ens/names.ts";
import { createFeed, createFeedWriter } from "../../src/feed/log.ts";
import { createStatusTable } from "../../src/operations/stored-indexes.ts";
import { checkpointOf } from "../../test/support/checkpoints.ts";
import { alice, createStoredNames } from "../../test/support/lookups/stored-names.ts";
import { startServer } from "../../test/support/server.ts";
import { AnswerError, ApiError, ConnectionError, createClient, type StreamMessage } from "./index.ts";

type Connection = { query: URLSearchParams; response: ServerResponse };

/** A server of streams: each connection is served by the next of `steps`, and the last one from then on. */
async function serve(...steps: ((connection: Connection) => void)[]) {
  const queries: string[] = [];
  const url = await startServer((request, response) => {
    const { searchParams: query } = new URL(request.url ?? "", "http://localhost");
    queries.push(query.toString());
    steps[Math.min(queries.length, steps.length) - 1]?.({ query, response });
  });
  return { url, queries, client: createClient({ url }) };
}

const begin = (response: ServerResponse, text: string) =>
  response.writeHead(200, { "content-type": "text/event-stream" }).write(text);
// The connection ends within the response.
const sendLast = (response: ServerResponse, text: string) =>
  response.write(text, () => response.socket?.end());
const entry = (id: string, event = "event", data: object = { id }) =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const end = "event: must-refetch\ndata: {}\n\n";
const briefly = (found: StreamMessage[]) => found.map(({ event, id }) => `${event} ${id}`);

async function readAll(stream: AsyncIterable<StreamMessage>) {
  const found: StreamMessage[] = [];
  for await (const message of stream) found.push(message);
  return found;
}

test("goes on after the last message when the connection breaks, ends or is refused for a while", async () => {
  const { client, queries } = await serve(
    ({ response }) => {
      begin(response, entry("1"));
      sendLast(response, `${entry("2", "heartbeat", {})}event: event\nid: 3\ndata: {"cut`);
    },
    ({ response }) => {
      response.writeHead(503, { "retry-after": "0", "content-type": "text/html" }).end("<h1>Starting");
    },
    ({ response }) => {
      begin(response, entry("3", "reverted", { chain_id: 1, last_valid_block: 9, ids: ["2"], keys: [] }));
      response.end();
    },
    ({ response }) => void begin(response, end),
  );
  const breaks: unknown[] = [];
  const found = await readAll(client.stream({ from: "start" }, { onBreak: (reason) => breaks.push(reason) }));
  expect(briefly(found)).toEqual(["event 1", "heartbeat 2", "reverted 3", "must-refetch undefined"]);
  expect(found[2]?.data).toEqual({ chain_id: 1, last_valid_block: 9, ids: ["2"], keys: [] });
  expect(queries).toEqual(["from=start", "from=start&after=2", "from=start&after=2", "from=start&after=3"]);
  expect(breaks.map((one) => (one as Error).name)).toEqual([
    "ConnectionError",
    "AnswerError",
    "ConnectionError",
  ]);
});

test("reads messages in any pieces and line ends, comments and kinds that it does not know", async () => {
  const text = `: hello\r\n\r\nevent: event\r\nid: é\r\ndata: {"id":\r\ndata: "ü"}\r\n\r\n:ping\n\nevent: aura\ndata:{}\n\n${end}`;
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 7, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.slice(at * size, at * size + size),
    );
    const body = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const found = await readAll(createClient({ url: "", fetch }).stream());
    expect(found.slice(0, 2)).toEqual([
      { event: "event", id: "é", data: { id: "ü" } },
      { event: "aura", id: undefined, data: {} },
    ]);
  }
});

test("after a reorganization nothing of the blocks that it removed is waited for", async () => {
  const asked: (string | null)[] = [];
  const url = await startServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const reverted = { chain_id: 1, last_valid_block: 9, ids: [], keys: [] };
    if (pathname === "/v1/events/stream") return void begin(response, entry("1", "reverted", reverted) + end);
    asked.push(searchParams.get("min_block"));
    response.setHeader("content-type", "application/json");
    response.end('{"data":{},"meta":{"as_of":{"1":{"block_number":12},"10":{"block_number":5}}}}');
  });
  const client = createClient({ url });
  await client.get("/v1/names/a.eth");
  await readAll(client.stream());
  await client.get("/v1/names/a.eth");
  await client.get("/v1/names/a.eth");
  expect(asked).toEqual([null, "1:9,10:5", "1:12,10:5"]);
});

test.each([
  [
    "a bad filter",
    ApiError,
    400,
    "application/json",
    '{"error":{"code":"invalid_input","message":"no","details":{}}}',
  ],
  ["a page", AnswerError, 200, "text/html", "<h1>Sign in"],
  ["a message that is not JSON", AnswerError, 200, "text/event-stream", "event: event\ndata: <h1>\n\n"],
] as const)("%s is not asked for again", async (_, type, status, contentType, body) => {
  const { client, queries } = await serve(({ response }) => {
    response.writeHead(status, { "content-type": contentType }).end(body);
  });
  await expect(readAll(client.stream())).rejects.toBeInstanceOf(type);
  expect(queries.length).toBe(1);
});

test.each([
  ["nothing", () => {}],
  [
    "the head",
    ({ response }: Connection) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
  ],
])("a proxy that lets %s through is named after three attempts", async (_, step) => {
  const { client, queries } = await serve(step);
  const error = await readAll(client.stream({}, { silence: 50 })).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).toContain("a proxy may hold the stream back");
  expect(queries.length).toBe(3);
});

test("ends without an error by its signal, and by leaving the loop", async () => {
  let open = 0;
  const { client } = await serve(({ response }) => {
    open++;
    response.on("close", () => open--);
    begin(response, entry("1"));
  });
  const controller = new AbortController();
  for await (const { id } of client.stream({}, { signal: controller.signal })) {
    expect(id).toBe("1");
    setTimeout(() => controller.abort(), 0);
  }
  await expect.poll(() => open).toBe(0);
  for await (const _ of client.stream()) break;
  await expect.poll(() => open).toBe(0);
  expect(await readAll(client.stream({}, { signal: controller.signal }))).toEqual([]);
});

test("the feed of the service, from its start and after any message", async () => {
  const { client: database, insert, fetch: fetchLookups, context } = await createStoredNames();
  const run = (text: string, values?: unknown[]) => database.query<Record<string, unknown>>(text, values);
  await createStatusTable(run, "public");
  await createFeed(run, "public");
  await database.exec(`CREATE SCHEMA ponder_sync;
    CREATE TABLE ponder_sync.blocks (chain_id bigint, number bigint, timestamp bigint, PRIMARY KEY (chain_id, number))`);
  const timeOf = (number: number) => 1_700_000_000 + 12 * number;
  const head = { chainStatus: "chain-following", latestIndexedBlock: { number: 12, timestamp: timeOf(12) } };
  Object.assign(context.status.current().snapshot.omnichainSnapshot.chains, { "1": head });
  for (const block_number of [5, 11, 12])
    await insert("domain_event", {
      ...{
        id: `1-${block_number}-1`,
        type: "Transfer",
        block_number,
        timestamp: timeOf(block_number),
        log_index: 1,
      },
      ...{ transaction_id: `0x${"a".repeat(64)}`, domain_id: namehash("plain.eth"), owner_id: alice },
    });
  const [latest, final] = [12, 10].map((number) => checkpointOf({ number, timestamp: timeOf(number) }, 1));
  await run("INSERT INTO _ponder_checkpoint VALUES ('c1', 1, $1, $2, $1)", [latest, final]);
  await createFeedWriter({ run, schema: "public", namespaces: context.lookup.namespaces })();

  const fetch = ((input: string, init: RequestInit) =>
    fetchLookups(input.slice(1), init)) as unknown as typeof globalThis.fetch;
  const { stream } = createClient({ url: "x", fetch });
  async function read(query: object) {
    const found: StreamMessage[] = [];
    for await (const message of stream(query)) {
      found.push(message);
      if (message.event === "heartbeat") break;
    }
    return found;
  }
  const found = await read({ from: "start" });
  const blocks = found.map((message) =>
    message.event === "event" ? message.data.block_number : message.event,
  );
  expect(blocks).toEqual([5, 11, 12, "heartbeat"]);
  const rest = await read({ after: found[1]?.id });
  expect(rest.map(({ id }) => id)).toEqual(found.slice(2).map(({ id }) => id));
});
