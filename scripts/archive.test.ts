import { expect, test } from "vitest";
import { parseCommand } from "./archive.ts";
import { PreflightError } from "./preflight.ts";

test("an archive is fetched from a URL, and compared with a node at a URL", () => {
  expect(parseCommand(["fetch", "https://files.example/archive"])).toMatchObject({
    command: "fetch",
    url: "https://files.example/archive",
  });
  expect(parseCommand(["check", "--chain", "1", "--rpc", "http://127.0.0.1:8545"])).toMatchObject({
    chain: 1,
    rpc: "http://127.0.0.1:8545",
  });
});

// What is no URL may still hold a key.
test.each([
  [["fetch", "files.example/d41d8cd98f00b204"], "fetch takes an http(s):// URL."],
  [["fetch", "https://[files.example/d41d8cd98f00b204"], "fetch takes an http(s):// URL."],
  [["check", "--chain", "1", "--rpc", "https://[node/d41d8cd98f00b204"], "--rpc must be an http(s):// URL."],
])("refuses %j without repeating it", (args, message) => {
  let error: unknown;
  try {
    parseCommand(args);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(PreflightError);
  expect(String(error)).toContain(message);
  expect(String(error)).not.toContain("d41d8cd98f00b204");
});
