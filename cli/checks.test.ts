import { createServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import type { Config } from "../src/config/environment.ts";
import { hashOn, serveHashes } from "../test/support/ponder/cache.ts";
import { examineIndex } from "./checks/index-state.ts";
import { examinePort } from "./checks/machine.ts";
import { examineUrls } from "./checks/nodes.ts";
import { waitForCheck } from "./checks.ts";

const messages: string[] = [];
beforeEach(() => void messages.splice(0));

/** A start with one check; `meanwhile` is what happens while it waits. */
const start = (
  run: (config: Config) => ReturnType<typeof examinePort>,
  config: object,
  meanwhile: () => unknown = () => expect.fail("it waits"),
) =>
  waitForCheck({ subject: "x", run }, config as Config, {
    log: (message) => void messages.push(message),
    wait: async () => void (await meanwhile()),
  });

describe("RPC URLs", () => {
  const nodes: { url: string; close(): void }[] = [];
  const chains = (http: string[]) => ({ chains: [{ id: 1, name: "mainnet", rpc: { http } }] });
  beforeAll(async () => {
    for (const id of [1, 5]) nodes.push(await serveHashes({ id, fork: 0, head: 0 }));
  });
  afterAll(() => {
    for (const node of nodes) node.close();
  });
  const urls = () => nodes.map(({ url }) => `${url}/key`) as [string, string];
  const hostOf = (url: string) => new URL(url).host;
  const silent = "http://127.0.0.1:1/key";

  test("of the chain are accepted", async () => {
    await start(examineUrls, chains([urls()[0]]));
    expect(messages).toEqual([]);
  });

  test("of another chain are refused by variable and host, without the key in them", async () => {
    const [own, other] = urls();
    await expect(start(examineUrls, chains([own, other]))).rejects.toThrow(
      `RPC_URL_1 entry 2 (${hostOf(other)}) serves chain 5, not chain 1. Correct RPC_URL_1.`,
    );
  });

  test("with another block at the height of the trusted one are refused with both hashes", async () => {
    const [own] = urls();
    const of = (hash: string) => ({
      chains: [{ id: 1, name: "mainnet", rpc: { http: [own] }, trustedBlock: { number: 0, hash } }],
    });
    await start(examineUrls, of(hashOn("b", 0)));
    await expect(start(examineUrls, of(hashOn("a", 0)))).rejects.toThrow(
      `Block 0 of chain 1 is ${hashOn("b", 0)} at RPC_URL_1 (${hostOf(own)}), but the trusted one is ${hashOn("a", 0)}. Correct TRUSTED_BLOCK_1 or RPC_URL_1.`,
    );
  });

  test("that do not respond are waited for, and named once", async () => {
    const [own] = urls();
    const config = chains([silent]);
    let waits = 0;
    await start(examineUrls, config, () => {
      if (++waits === 3) config.chains[0]?.rpc.http.splice(0, 1, own);
    });
    expect(messages).toEqual([
      'No response from RPC_URL_1 (127.0.0.1:1); trying again every 2 s. See "When a dependency is unavailable" in docs/runbook.md.',
    ]);
  });

  test("that do not respond, of a chain whose blocks the index knows, hold up no start", async () => {
    const known = async () => ({ 1: [] });
    await start((config: ReturnType<typeof chains>) => examineUrls(config, known), chains([silent]));
    expect(messages).toEqual([
      'No response from RPC_URL_1 (127.0.0.1:1); continuing without chain 1. See "When a chain pauses" in docs/runbook.md.',
    ]);
  });

  test("that do not respond are left to the others", async () => {
    await start(examineUrls, chains([silent, urls()[0]]));
    expect(messages).toEqual([
      'No response from RPC_URL_1 entry 1 (127.0.0.1:1); continuing with the others. See "When a dependency is unavailable" in docs/runbook.md.',
    ]);
  });
});

// PostgreSQL, frontend/backend protocol: an ErrorResponse to the startup message, with severity, code (appendix A) and
// message.
test.each([
  ["28P01", 'password authentication failed for user "names"'],
  ["28000", 'role "names" does not exist'],
  ["3D000", 'database "names" does not exist'],
])("says at once what Postgres refuses a login for: %s", async (code, message) => {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  const server = createServer((socket) =>
    socket.once("data", () => socket.end(Buffer.concat([head, fields]))),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const databaseUrl = `postgres://names:secret@127.0.0.1:${port}/names`;
  await expect(start(examineIndex, { databaseUrl, databaseSchema: "public" })).rejects.toThrow(
    `Postgres refuses the connection: ${message}. Correct DATABASE_URL.`,
  );
  server.close();
});

test("a database that is away is waited for", async () => {
  const databaseUrl = "postgres://names:secret@127.0.0.1:1/names";
  const config = { databaseUrl, databaseSchema: "public" };
  await start(examineIndex, config, () => Object.assign(config, { databaseUrl: inject("postgresUrl") }));
  expect(messages).toEqual([
    expect.stringMatching(/^The database does not respond; trying again every 2 s\. /),
  ]);
});

test("a port in use is refused, and so is an address that is not this machine's", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as { port: number };
  await expect(start(examinePort, { port })).rejects.toThrow(
    `Port ${port} is taken by another process. Free it, or choose another with PORT.`,
  );
  await new Promise((resolve) => server.close(resolve));
  await start(examinePort, { port });
  await start(examinePort, { port: 0, host: "127.0.0.1" });
  // TEST-NET-1 (RFC 5737).
  await expect(start(examinePort, { port: 0, host: "192.0.2.1" })).rejects.toThrow(
    "This machine has no address 192.0.2.1 (EADDRNOTAVAIL). Correct API_HOST.",
  );
});
