import type { RequestListener } from "node:http";
import { afterEach, expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { createHttpClient, openHttpSource } from "../../src/labels/http-source.ts";

// Responses of a label service, or of what took its place, that would fill the indexer's memory, hold it up or write
// its log.

let server: Awaited<ReturnType<typeof listen>>;
afterEach(() => server.close());

async function serve(respond: RequestListener) {
  server = await listen(respond);
  return new URL(server.url);
}

async function ask(respond: RequestListener, timeoutMs: number) {
  const request = createHttpClient(await serve(respond), timeoutMs, new AbortController().signal);
  return request("/v1/heal/0x");
}

test("a response without end is given up after 128 MiB", async () => {
  const megabyte = Buffer.alloc(1024 * 1024, "x");
  let sent = 0;
  const endless: RequestListener = (_, response) => {
    const more = () => {
      while (!response.destroyed) {
        sent += megabyte.length;
        if (!response.write(megabyte)) break;
      }
    };
    response.on("drain", more);
    more();
  };
  await expect(ask(endless, 30_000)).rejects.toThrow("a response of more than 134217728 bytes");
  expect(sent).toBeLessThan(200_000_000);
});

test("a response that comes a byte at a time is given up when the time is over", async () => {
  const dripping: RequestListener = (_, response) => {
    const drip = setInterval(() => response.write("x"), 20);
    response.once("close", () => clearInterval(drip));
  };
  await expect(ask(dripping, 400)).rejects.toThrow("no response within 400 ms");
});

test("an error text is cut short, and its control characters are escaped", async () => {
  const error = `\x1b[2J\n\u202e${"x".repeat(100_000)}`;
  const labelSet = { labelSetId: "subgraph", highestLabelSetVersion: 0 };
  const url = await serve(({ url }, response) => {
    const isHeal = url?.startsWith("/v1/heal/") === true;
    response.writeHead(isHeal ? 400 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(
        isHeal
          ? { status: "error", error, errorCode: 400 }
          : {
              version: "1.10.0",
              labelSet,
              recordsCount: 1,
              status: "success",
              versionInfo: { version: "1.10.0", dbSchemaVersion: 1, labelSet },
            },
      ),
    );
  });
  const options = { url: url.href, labelSetId: "subgraph", labelSetVersion: 0, log: () => undefined };
  const source = await openHttpSource(url, options);
  // 200 characters in all, three of them shown escaped.
  await expect(source.heal(`0x${"00".repeat(32)}`)).rejects.toThrow(
    /status 400: \\u001b\[2J\\u000a\\u202ex{194}\.$/,
  );
});
