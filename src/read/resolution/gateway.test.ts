import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startServer } from "../../../test/support/server.ts";
import { createGatewayReader, defaultGatewayLimits, type GatewayLimits } from "./gateway.ts";

const sender = "0xABCDEFabcdefABCDEFabcdefABCDEFabcdefABCD";
const open = { ...defaultGatewayLimits, allowsPrivateHosts: true, timeoutMs: 60_000 };
const ask = (urls: string[], limits: GatewayLimits = open, signal = new AbortController().signal) =>
  createGatewayReader(limits, signal)({ data: "0x1234", sender, urls });

const lower = sender.toLowerCase();

test.each([
  ["GET where the URL has a place for the data", "{sender}/{data}.json", `GET /${lower}/0x1234.json `],
  ["POST where it has none", "{sender}", `POST /${lower} {"data":"0x1234","sender":"${lower}"}`],
])("asks by %s", async (_, template, expected) => {
  const url = await startServer(async (request, response) => {
    const asked = `${request.method} ${request.url} ${await text(request)}`;
    response.end(JSON.stringify({ data: `0x${Buffer.from(asked).toString("hex")}` }));
  });
  const answer = await ask([`${url}/${template}`]);
  expect(Buffer.from(answer.slice(2), "hex").toString()).toBe(expected);
});

test("asks the next gateway after a failure, and none after a refusal", async () => {
  const failing = await startServer((_, response) => response.writeHead(502).end());
  const refusing = await startServer((_, response) => response.writeHead(404).end());
  const good = await startServer((_, response) => response.end('{"data":"0x01"}'));
  expect(await ask([failing, good])).toBe("0x01");
  await expect(ask([refusing, good])).rejects.toThrow("a gateway responded with 404");
});

test("does not follow a gateway elsewhere", async () => {
  let followed = false;
  const target = await startServer((_, response) => {
    followed = true;
    response.end('{"data":"0x01"}');
  });
  const moving = await startServer((_, response) => response.writeHead(302, { location: target }).end());
  await expect(ask([moving])).rejects.toThrow("a gateway responded with 302");
  expect(followed).toBe(false);
});

test.each(["", "{}", '{"data":"x"}', '{"data":1}', "[]"])("takes %j for no answer", async (body) => {
  const url = await startServer((_, response) => response.end(body));
  await expect(ask([url])).rejects.toThrow("a gateway could not be asked");
});

test("gives up on answers that are too long or too late", async () => {
  const endless = await startServer((_, response) => {
    const more = () => response.write("x".repeat(1000), () => setImmediate(more));
    more();
  });
  await expect(ask([endless], { ...open, maxBytes: 10_000 })).rejects.toThrow("too long");
  const silent = await startServer(() => undefined);
  await expect(ask([silent], { ...open, timeoutMs: 300 })).rejects.toThrow("a gateway could not be asked");
});

test("gives up on a gateway that leaves HTTP or closes the connection", async () => {
  const upgrading = await startServer((_, response) =>
    response.socket?.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
  );
  const closing = await startServer((_, response) => response.socket?.end());
  for (const url of [upgrading, closing]) {
    await expect(ask([url])).rejects.toThrow(/a gateway closed the connection|a gateway could not be asked/);
  }
});

test("measures a URL before it builds it", async () => {
  const data = `0x${"da".repeat(500_000)}` as const;
  const read = createGatewayReader({ ...open, maxRequests: 100 }, new AbortController().signal);
  const urls = Array.from({ length: 50 }, (_, i) => `https://example.org/${i}/${"{data}".repeat(1000)}`);
  await expect(read({ data, sender, urls })).rejects.toThrow("a gateway's URL is too long");
});

test("asks a limited number of gateways", async () => {
  let asked = 0;
  const failing = await startServer((_, response) => {
    asked += 1;
    response.writeHead(500).end();
  });
  const read = createGatewayReader({ ...open, maxRequests: 3 }, new AbortController().signal);
  const lookup = { data: "0x" as const, sender: sender as `0x${string}`, urls: [failing, failing] };
  await expect(read(lookup)).rejects.toThrow("responded with 500");
  await expect(read(lookup)).rejects.toThrow("too many gateways");
  expect(asked).toBe(3);
});

test("ends with the request", async () => {
  const silent = await startServer(() => undefined);
  await expect(ask([silent, silent], open, AbortSignal.timeout(50))).rejects.toThrow();
});

const closed = { ...open, allowsPrivateHosts: false };

test.each([
  "https://127.0.0.1/{data}",
  "https://[::1]/{data}",
  "https://[::ffff:127.0.0.1]/{data}",
  "https://2130706433/{data}",
  "https://0x7f.1/{data}",
  "https://localhost/{data}",
  "https://169.254.169.254/latest/meta-data/",
  "https://10.0.0.1/{data}",
])("does not ask %s", async (url) => {
  await expect(ask([url], closed)).rejects.toThrow(/gateways in private networks are not asked/);
});

test.each([
  ["http://example.org/{data}", "over http:"],
  ["file:///etc/passwd", "over file:"],
  ["data:application/json,{}", "over data:"],
  ["not a url", "malformed"],
])("does not ask %s", async (url, reason) => {
  await expect(ask([url], closed)).rejects.toThrow(reason);
});

test("a contract that names no gateway gets no answer", async () => {
  await expect(ask([])).rejects.toThrow("the contract names no gateway");
});
