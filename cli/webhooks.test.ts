import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { parseEnvironment } from "../src/config/environment.ts";
import type { Hook } from "../src/config/webhooks-file.ts";
import { openPositions } from "../src/feed/webhooks/positions.ts";
import { createTestDatabase } from "../test/support/database.ts";
import { startServer } from "../test/support/server.ts";
import { examineWebhooks } from "./checks/webhooks.ts";
import {
  changeHook,
  describeHook,
  describeHooks,
  parsePlace,
  pauseAt,
  replayFrom,
  requireHook,
  resume,
  sendTest,
} from "./webhooks.ts";

const secret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
const environment = {
  ...{
    NAMESPACE: "mainnet",
    PLUGINS: "subgraph",
    LABELS_URL: "file:./labels.sqlite",
    LABEL_SET_VERSION: "0",
  },
  ...{ RPC_URL_1: "http://127.0.0.1:9", WEBHOOKS_FILE: "hooks.json" },
};

const walletTo = (url: string) => ({ name: "wallet", url, secret, allowPrivate: true });
const configOf = (hooks: object[]) => parseEnvironment(environment, () => JSON.stringify(hooks));

test("hooks are listed, paused, replayed and resumed", async () => {
  const database = await createTestDatabase("nothing");
  onTestFinished(() => database.close());
  const { webhooks, namespace } = configOf([walletTo("https://example.org/k3y")]);
  const positions = openPositions((text, values) => database.query(text, values), namespace);
  await positions.prepare(webhooks);
  const change = (name: string, to: Parameters<typeof changeHook>[2]) =>
    changeHook(positions, requireHook(webhooks, name), to);
  const replay = (from: string) => change("wallet", replayFrom(parsePlace(from)));
  const now = Date.now();
  expect(await describeHooks(positions, webhooks, now)).toBe("wallet, https://example.org, from latest");
  expect(await change("wallet", pauseAt(now))).toMatch(
    /^wallet, .*\n {2}paused \d+ s ago: npm run webhooks$/,
  );
  expect(await replay("b2Zm")).toMatch(/behind b2Zm\n {2}paused/);
  expect(await change("wallet", resume)).toBe("wallet, https://example.org, behind b2Zm");
  const { state } = await positions.read("wallet");
  expect(state).toEqual({ from: "latest", position: "b2Zm", failures: 0 });
  const reminder = `reminder-7d-1795668000-0x${"5".repeat(64)}`;
  expect(await replay(reminder)).toBe(
    "wallet, https://example.org, behind b2Zm\n  reminders up to 2026-11-26T04:40:00.000Z",
  );
  expect(await replay("latest")).toContain("from latest\n  reminders up to");
  expect(() => parsePlace("a b")).toThrow("Expected the id of a message, start or latest.");
  expect(() => requireHook(webhooks, "walet")).toThrow(
    'WEBHOOKS_FILE has no hook "walet". There are: wallet.',
  );
});

test("the command changes the hook of the configuration in its database", async () => {
  const database = await createTestDatabase("nothing");
  const folder = mkdtempSync(join(tmpdir(), "webhooks-"));
  onTestFinished(async () => {
    rmSync(folder, { recursive: true });
    await database.close();
  });
  writeFileSync(join(folder, "hooks.json"), JSON.stringify([walletTo("https://example.org")]));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const stored = { DATABASE_URL: database.url, DATABASE_SCHEMA: "names" };
  const env = { PATH, NODE_COMPILE_CACHE, ...stored, ...environment };
  const script = fileURLToPath(new URL("webhooks.ts", import.meta.url));
  const args = [script, "replay", "wallet", "--from", "b2Zm"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
  expect(stdout).toBe("wallet, https://example.org, behind b2Zm\n");
  const run = (text: string, values?: unknown[]) => database.query(text, values);
  expect((await openPositions(run, "mainnet").read("wallet")).state.position).toBe("b2Zm");
});

test("a test message is signed; why it fails is told", async () => {
  let status = 204;
  const bodies: unknown[] = [];
  const url = await startServer(async (request, response) => {
    bodies.push(new Webhook(secret).verify(await text(request), request.headers as Record<string, string>));
    response.writeHead(status).end();
  });
  const send = () => sendTest(requireHook(configOf([walletTo(url)]).webhooks, "wallet"));
  expect(await send()).toMatch(/^wallet received msg_[\w-]+\.$/);
  expect(bodies).toEqual([[{ id: expect.stringMatching(/^msg_/), event: "test", data: {} }]]);
  status = 410;
  await expect(send()).rejects.toThrow("wallet: the response was 410.");
});

const hook: Hook = {
  ...{ name: "a", url: "https://example.org/k3y", secret, filter: { type: "renewal" } },
  ...{ finality: "finalized", from: "latest", allowPrivate: false, events: true, reminders: [] },
};

test("shows what waits, and the public key but no secret", () => {
  // RFC 8032, section 7.1, test 1: seed and public key.
  const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
  const own = Buffer.from("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "hex");
  const privateKey = `whsk_${seed.toString("base64")}`;
  const pending = { id: "msg_1", body: "[]", messages: 1, position: "1" };
  const waiting = {
    from: "latest",
    pending,
    failures: 2,
    fault: "the response was 500",
    nextAt: 400_000,
    behindSince: 0,
  } as const;
  expect(describeHook({ ...hook, privateKey }, waiting, 100_000)).toBe(
    [
      "a, https://example.org, from latest",
      "  messages wait for 100 s",
      "  2 attempts failed, the last one because the response was 500; the next is in 5 min",
      `  public key whpk_${own.toString("base64")}`,
    ].join("\n"),
  );
});

test("filters have the words of /v1/events; all faults are one finding", async () => {
  const examine = (...filters: object[]) => {
    const hooks = filters.map((filter, index) => ({ name: `h${index}`, url: hook.url, secret, filter }));
    return examineWebhooks(configOf(hooks));
  };
  const contract_address = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e";
  const all = {
    ...{ type: "registration,renewal", exclude_type: "record", kind: "NewOwner,RegistrationGranted" },
    ...{
      name: "vitalik.eth",
      address: contract_address,
      namespace: "ens",
      record_key: "text:url",
      contract_address,
    },
  };
  expect(await examine(all, {})).toEqual([]);
  const [found] = await examine(
    { typ: "renewal", name: "a..b" },
    { namespace: "basenames", address: "0x12" },
  );
  expect(found?.state).toBe("fail");
  for (const fault of [
    "h0.filter: unknown query parameter: typ; did you mean type?",
    "h0.filter: name is invalid",
    "h1.filter: namespace must be one of ens",
    "h1.filter: address must be a 0x-prefixed 20-byte hex string",
  ])
    expect(found?.found).toContain(fault);
});
