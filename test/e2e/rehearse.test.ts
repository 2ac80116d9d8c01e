import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../devnet/ports.ts";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { waitFor } from "../../devnet/wait.ts";
import { recordedEntities } from "../support/recordings.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "recording-"));
  cpSync(join(root, "devnet/recording/a"), folder, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rehearse = (...args: string[]) =>
  startServiceProcess({
    name: "rehearsal",
    args: [join(root, "devnet/rehearse.ts"), ...args],
    cwd: root,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
  });

test("a rehearsal finds the entities that differ from those of the folder, and no others", async () => {
  const entities = recordedEntities();
  entities["Account"]!.push({ id: "0xffff" });
  const [ttl] = entities["NewTTL"]!;
  ttl!["ttl"] = "1234567";
  writeFileSync(join(folder, "subgraph-entities.json"), JSON.stringify(entities));
  cpSync(join(root, "test/fixtures/chain-a-accepted.json"), join(folder, "subgraph-accept.json"));

  const rehearsal = rehearse(folder);
  expect(await rehearsal.ended).toEqual({ code: 1, signal: undefined });
  const lines = rehearsal.lastLines(100);
  expect(lines[0]).toMatch(
    /^Chain 15658733 \(ens-test-env\): blocks 0 to 1666 at http:\/\/127\.0\.0\.1:\d+, 282 labels$/,
  );
  expect(lines).toContain("  Account 0xffff is missing");
  expect(lines.filter((line) => line.startsWith("  NewTTL "))).toEqual([
    expect.stringContaining(`NewTTL ${ttl!.id}: ttl "`),
  ]);
  expect(lines.at(-1)).toBe(
    "11883 of 11885 entities equal, 2 differences, 5 fields equal by the folder's subgraph-accept.json",
  );
});

test("--serve-only serves the recording on the wanted port until Ctrl-C", async () => {
  const port = await freePort();
  const serving = rehearse(folder, "--serve-only", "--rpc-port", String(port), "--stand-ins", "3");
  const blockNumber = await waitFor("the node", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
    const response = await fetch(`http://127.0.0.1:${port}`, { method: "POST", body });
    return { done: ((await response.json()) as { result: string }).result };
  });
  expect(Number(blockNumber)).toBe(1669);
  expect(await serving.stop("SIGINT")).toEqual({ code: 0, signal: undefined });
});

test.each([
  [["--help"], 0, "Usage: npm run rehearse -- [options] <recording-folder>"],
  [["a", "--stand-ins", "many"], 1, "'many' is invalid. Expected a whole number from 0."],
  [["/nowhere"], 1, "/nowhere"],
])("%j ends with exit code %i", async (args, code, message) => {
  const refused = rehearse(...args);
  expect((await refused.ended).code).toBe(code);
  expect(refused.lastLines().join("\n")).toContain(message);
});
