import { expect, test } from "vitest";
import { startServiceProcess } from "./service-process.ts";
import { waitFor } from "./wait.ts";

const run = (code: string, onLine?: (line: string) => void) =>
  startServiceProcess({
    name: "program",
    args: ["-e", code],
    cwd: process.cwd(),
    env: { GIVEN: "yes" },
    onLine,
  });
const says = (service: ReturnType<typeof run>, text: string) =>
  waitFor(text, async () =>
    service.lastLines().includes(text) ? { done: true } : { state: service.lastLines().join("|") },
  );
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("keeps the lines of both outputs and reports how the program ended", async () => {
  const seen: string[] = [];
  const service = run("console.log('one\\ntwo'); console.error('three'); process.exitCode = 3", (line) =>
    seen.push(line),
  );
  expect(await service.ended).toEqual({ code: 3, signal: undefined });
  expect(service.ending()).toEqual({ code: 3, signal: undefined });
  expect([...service.lastLines()].sort()).toEqual(["one", "three", "two"]);
  expect([...seen].sort()).toEqual(["one", "three", "two"]);
  expect(service.lastLines(1).length).toBe(1);
});

test("the program gets the given environment and no other", async () => {
  const service = run("console.log(process.env.GIVEN, process.env.HOME)");
  await service.ended;
  expect(service.lastLines()).toEqual(["yes undefined"]);
});

test("stop sends the signal and waits for the program to end", async () => {
  const service = run(
    "process.on('SIGINT', () => { console.log('bye'); process.exit(0) }); setInterval(() => {}, 99); console.log('up')",
  );
  await says(service, "up");
  expect(await service.stop("SIGINT")).toEqual({ code: 0, signal: undefined });
  expect(service.lastLines()).toEqual(["up", "bye"]);
  expect(await service.stop()).toEqual({ code: 0, signal: undefined });
});

test("a program that does not end is killed, with what it has started", async () => {
  const service = run(
    "process.on('SIGINT', () => {}); const child = require('child_process').spawn(process.execPath, " +
      "['-e', 'setInterval(() => {}, 99)']); setInterval(() => {}, 99); console.log(child.pid); console.log('up')",
  );
  await says(service, "up");
  const child = Number(service.lastLines()[0]);
  expect(isAlive(child)).toBe(true);
  expect(await service.stop("SIGINT", { timeoutMs: 200 })).toEqual({ code: undefined, signal: "SIGKILL" });
  await waitFor("the child to be gone", async () => (isAlive(child) ? { state: "alive" } : { done: true }));
});
