import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, isPortFree } from "../../devnet/ports.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { WaitError, waitFor } from "../../devnet/wait.ts";
import { childrenOf } from "../support/process-tree.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let temporary: string;
let ports: { PORT: string; LABELS_PORT: string };
let demo: ServiceProcess;

function startDemo(environment: Record<string, string> = {}) {
  return startServiceProcess({
    name: "demo",
    args: [join(root, "devnet/start.ts")],
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      TMPDIR: temporary,
      ...ports,
      ...environment,
    },
  });
}

async function untilUp(service: ServiceProcess) {
  await waitFor(
    "the demo's screen",
    async () => {
      const lines = service.lastLines(100);
      if (service.ending() !== undefined) throw new WaitError(lines.join("\n"));
      if (lines.some((line) => line.includes("Ctrl-C stops everything"))) return { done: true };
      return { state: lines.at(-1) ?? "no output" };
    },
    { timeoutMs: 180_000 },
  );
}

const folders = () => readdirSync(temporary).filter((name) => name.startsWith("name-index-demo-"));

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), "demo-test-"));
  ports = { PORT: String(await freePort()), LABELS_PORT: String(await freePort()) };
  demo = startDemo();
  await untilUp(demo);
}, 200_000);
afterAll(async () => {
  await demo?.stop();
  rmSync(temporary, { recursive: true, force: true });
});

test("each command on the screen works", async () => {
  const commands = demo
    .lastLines(100)
    .map((line) => line.trim())
    .filter((line) => line.startsWith("curl -s "));
  expect(commands.length).toBe(6);
  for (const command of commands) {
    const [, url, body] = /^curl -s (\S+)(?: .* -d '(.*)')?$/.exec(command) ?? [];
    const response = await fetch(url!, {
      ...(body === undefined
        ? {}
        : { method: "POST", body, headers: { "content-type": "application/json" } }),
    });
    const answer = await response.text();
    expect([url, response.status, answer.includes('"errors"')]).toEqual([url, 200, false]);
  }
});

test("browsers are shown GraphiQL", async () => {
  const response = await fetch(`http://localhost:${ports.PORT}/subgraph`, {
    headers: { accept: "text/html" },
  });
  expect(response.headers.get("content-type")).toContain("text/html");
  expect(await response.text()).toContain("<title>Subgraph</title>");
});

test("the index follows the live chain, in real time", async () => {
  const newest = async () => {
    const query =
      "{ _meta { block { number } } registrations(first: 1000, where: { labelName_not: null }) { id } }";
    const response = await fetch(`http://localhost:${ports.PORT}/subgraph`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    const { data } = (await response.json()) as { data: { _meta: { block: { number: number } } } };
    return data._meta.block.number;
  };
  const before = await newest();
  await waitFor("three more blocks", async () => {
    const now = await newest();
    return now >= before + 3 ? { done: now } : { state: `block ${now}` };
  });
  // On a slow machine the index still catches up with the blocks of its start.
  await waitFor("the index to be in real time", async () => {
    const response = await fetch(`http://localhost:${ports.PORT}/amirealtime?maxWorstCaseDistance=30`);
    return response.status === 200 ? { done: undefined } : { state: await response.text() };
  });
});

test("a second demo is rejected with the port and the variable to change", async () => {
  const second = startDemo();
  expect(await second.ended).toEqual({ code: 1, signal: undefined });
  expect(second.lastLines()).toEqual([
    `Port ${ports.PORT} is taken by another process. Free it, or choose another with PORT.`,
  ]);
});

test("so is a label service port in use", async () => {
  const other = createServer().listen(0);
  const port = (other.address() as { port: number }).port;
  const second = startDemo({ PORT: String(await freePort()), LABELS_PORT: String(port) });
  expect(await second.ended).toEqual({ code: 1, signal: undefined });
  expect(second.lastLines()).toEqual([
    `Port ${port} is taken by another process. Free it, or choose another with LABELS_PORT.`,
  ]);
  other.close();
});

test("an invalid port is rejected", async () => {
  const second = startDemo({ PORT: "http" });
  expect(await second.ended).toEqual({ code: 1, signal: undefined });
  expect(second.lastLines()).toEqual(['PORT must be a port between 1 and 65535, not "http".']);
});

test("when the label service dies, the demo reports it, ends and leaves nothing behind", async () => {
  expect(folders().length).toBe(1);
  const [labelService] = await childrenOf(demo.pid);
  process.kill(labelService!, "SIGKILL");
  expect(await demo.ended).toEqual({ code: 1, signal: undefined });
  expect(demo.lastLines(30).join("\n")).toContain("The label service ended (SIGKILL). Its last lines:");
  await nothingLeft();
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s ends the demo at any time and leaves nothing behind",
  async (signal) => {
    const early = startDemo();
    await waitFor("the services to start", async () => {
      const line = early.lastLines().find((text) => text.includes("label service is up"));
      return line === undefined ? { state: early.lastLines().join(" ") } : { done: line };
    });
    expect(await early.stop(signal)).toEqual({ code: 0, signal: undefined });
    await nothingLeft();
  },
);

async function nothingLeft() {
  expect(folders()).toEqual([]);
  expect(await isPortFree(Number(ports.PORT))).toBe(true);
  expect(await isPortFree(Number(ports.LABELS_PORT))).toBe(true);
  expect(existsSync(temporary)).toBe(true);
}
