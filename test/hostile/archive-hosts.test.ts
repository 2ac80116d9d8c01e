import type { RequestListener } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { download, readManifest } from "../../src/archive/folder.ts";
import { newManifest } from "../../src/archive/manifest.ts";

// Hosts of archives that mean harm, or stand still.

const servers: { close(): Promise<void> }[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

async function hostOf(answer: RequestListener): Promise<string> {
  const server = await listen(answer);
  servers.push(server);
  return server.url;
}

const limits = { max: 1_000, idleMs: 200, wholeMs: 1_000 };

test.each<[string, RequestListener, string]>([
  ["never answers", () => {}, "sends nothing of a.seg in 0.2 s."],
  [
    "stops in the middle",
    (_, response) => void response.writeHead(200, { "content-length": 500 }).write("x"),
    "sends nothing of a.seg in 0.2 s.",
  ],
  [
    "sends a byte now and then",
    async (_, response) => {
      for (; !response.destroyed; await pause(50)) response.write("x");
    },
    "does not send all of a.seg in 1 s.",
  ],
])("a host that %s is given up, and named", async (_, answer, problem) => {
  const url = await hostOf(answer);
  await expect(download(`${url}/k3y/a.seg`, limits)).rejects.toThrow(`${new URL(url).host} ${problem}`);
});

test("a host that redirects endlessly is given up, and named", async () => {
  const url = await hostOf((_, response) => void response.writeHead(302, { location: "/a.seg" }).end());
  const answer = download(`${url}/k3y/a.seg`, { max: limits.max });
  await expect(answer).rejects.toThrow(`${new URL(url).host} redirects without an end.`);
});

test("a host leads to no other one in a private network, or without TLS", async () => {
  let requests = 0;
  const inner = await hostOf((_, response) => {
    requests += 1;
    response.end("secret");
  });
  const places = [
    `${inner}/latest/meta-data`,
    "https://127.0.0.1/a",
    "https://[::1]/a",
    "https://10.0.0.1/a",
    "https://169.254.169.254/latest/meta-data",
    "https://localhost/a",
    "http://1.1.1.1/a",
  ];
  for (const location of places) {
    const url = await hostOf((_, response) => void response.writeHead(307, { location }).end());
    await expect(download(`${url}/a.seg`, limits)).rejects.toThrow(
      `redirects to ${new URL(location).origin}, which is not a public host over TLS.`,
    );
  }
  expect(requests).toBe(0);
});

test("a host may redirect within itself", async () => {
  const url = await hostOf((request, response) =>
    request.url === "/a.seg" ? response.writeHead(301, { location: "/b.seg" }).end() : response.end("ok"),
  );
  expect(await download(`${url}/a.seg`, limits)).toEqual(Buffer.from("ok"));
});

test("keys of a manifest cannot write to a terminal", async () => {
  for (const field of ["children", "\u001b]0;own\u0007\u202e"]) {
    const manifest = { ...newManifest(1), [field]: { "\u001b[2J\u009b31m": ["\u001b[2J"] } };
    const url = await hostOf((_, response) => void response.end(JSON.stringify(manifest)));
    const error = await readManifest(url, 1).catch((reason) => reason);
    expect(error.message).toMatch(/^manifest\.json: /);
    expect(error.message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});
