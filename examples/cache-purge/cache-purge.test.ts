import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { follow } from "./cache-purge.ts";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const message = (event: string, id: string, data: object) =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const changed = (id: string, ...keys: string[]) => message("event", id, { id: `of ${id}`, keys });

test("drops what messages name, all that it cannot know, and repeats what the cache refused", async () => {
  const connections = [
    [message("heartbeat", "1", {}), changed("2", "name:0xa", "all"), changed("3", "name:0xb")],
    [
      changed("3", "name:0xb"),
      message("reverted", "4", { ids: ["of 3"], keys: ["name:0xb", "address:0xc"] }),
    ],
    [message("event", "5", { id: "old" }), message("must-refetch", "", { reason: "another index" })],
    [message("heartbeat", "6", {}), changed("7", ...Array.from({ length: 150 }, (_, at) => `name:0x${at}`))],
  ];
  const asked: unknown[] = [];
  const bans: unknown[] = [];
  const index = await serve(({ url = "" }, response) => {
    asked.push(new URL(url, "http://index.test").searchParams.get("after"));
    response
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(connections[asked.length - 1]?.join(""));
    if (asked.length === connections.length + 1) stopped.abort();
  });
  let isRefused = false;
  const cache = await serve(({ method, headers }, response) => {
    const keys = headers["x-keys"];
    if (keys === "name:0xb" && !isRefused) {
      isRefused = true;
      return response.writeHead(503).end();
    }
    bans.push([method, String(keys).length > 40 ? String(keys).split("|").length : keys]);
    return response.writeHead(200).end();
  });
  const stopped = new AbortController();
  const lines: string[] = [];
  await follow({ index, cache }, { signal: stopped.signal, log: (line) => lines.push(line), waitMs: 1 });
  expect(asked).toEqual([null, "2", "4", null, "7"]);
  const all = ["PURGE", "."];
  expect(bans).toEqual([
    ...[all, ["PURGE", "name:0xa|all"]],
    ...[
      ["PURGE", "name:0xb"],
      ["PURGE", "name:0xb|address:0xc"],
    ],
    ...[all, all],
    ...[all, ["PURGE", 100], ["PURGE", 50]],
  ]);
  expect(lines).toContain(`Error: ${cache} answers 503`);
});
