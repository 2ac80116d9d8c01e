import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { archive } from "./archive.ts";
import { cache } from "./cache.ts";

/** Why a line of the shell is refused: what is printed, and what the command throws. */
async function refusal(line: string): Promise<string> {
  const [name, ...args] = line.split(" ");
  const program = name === "cache" ? cache : archive;
  const printed: string[] = [];
  const write = (text: string) => void printed.push(text);
  for (const one of [program, ...program.commands])
    one.exitOverride().configureOutput({ writeOut: write, writeErr: write });
  const { message } = await program.parseAsync(args, { from: "user" }).then(
    () => expect.fail("it is accepted"),
    (error: Error) => error,
  );
  return [...printed, message].join("");
}

test.each([
  ["cache purge", "required option '--chain <id>' not specified"],
  ["cache purge --chain main --from 1", "Expected a whole number from 0."],
  ["cache purge --chain 1 --from 1.5", "Expected a whole number from 0."],
  ["cache purge --chain 1 --from 9 --to 3", "--to is before --from."],
  ["cache check --chain 1 --from 9 --to 3", "--to is before --from."],
  ["archive check --rpc http://127.0.0.1:8545", "--rpc needs --chain."],
  ["cache puge", "(Did you mean purge?)"],
  ["cache purge --help", "Usage: npm run cache -- purge"],
])("%s: %s", async (line, fault) => {
  expect(await refusal(line)).toContain(fault);
});

// What is no URL may still hold a key.
test.each([
  "archive fetch files.example/d41d8cd98f00b204",
  "archive fetch https://[files.example/d41d8cd98f00b204",
  "archive check --chain 1 --rpc https://[node/d41d8cd98f00b204",
])("%s is refused without repeating it", async (line) => {
  const fault = await refusal(line);
  expect(fault).toContain("must be an http(s):// URL.");
  expect(fault).not.toContain("d41d8cd98f00b204");
});

test("npm start -- --help says where it is configured, whatever the environment is", async () => {
  const start = ["--disable-warning=ExperimentalWarning", "cli/ponder.ts", "start", "--help"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, start, { env: {} });
  expect(stdout).toMatch(/^Usage: npm start .*\.env\.example/s);
  expect(stderr).toBe("");
});
