import { execFileSync } from "node:child_process";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { createLogLines, listSecrets, redact, watchForFullDisk } from "./log-lines.ts";

const secrets = [["https://eth.example/v2/k3yk3yk3yk3yk3y9", "https://eth.example/…"]] as const;

async function render(pieces: (string | Buffer)[], isLog = true): Promise<string> {
  const stream = createLogLines(secrets, isLog);
  for (const piece of pieces) stream.write(piece);
  stream.end();
  return text(stream);
}

const entry = (value: unknown) => `${JSON.stringify(value)}\n`;
const started = "12:00:00.123 INFO  Started chain=mainnet (1m 1s)";

describe("an entry of Ponder's log", () => {
  test("is shown as Ponder formats it, an error below it", async () => {
    expect(await render([entry(started)])).toBe(`${started}\n`);
    expect(await render([entry(`${started}\nError: x\n    at y`)])).toBe(
      `${started}\n  Error: x\n      at y\n`,
    );
  });

  test("stays JSON where that is wanted", async () => {
    const line = await render([entry({ level: 30, path: "/\u009b31m\n", url: secrets[0][0] })]);
    expect(line).not.toMatch(/\u009b|\n./);
    expect(JSON.parse(line)).toEqual({ level: 30, path: "/\u009b31m\n", url: secrets[0][1] });
  });

  test("comes from one call of console.log", async () => {
    const preload = new URL("preload.mjs", import.meta.url).href;
    const script = "console.log('a %s\\nb', 'x', { c: 1 }); console.log('next'); process.exit()";
    const output = execFileSync(process.execPath, ["--import", preload, "-e", script]);
    expect(await render([output])).toBe("a x\n  b { c: 1 }\nnext\n");
  });
});

describe("what others say", () => {
  const hostile = "\u001b[31mred\u009b0m\u202e\r\n12:00:00.000 INFO  forged";

  test("cannot pass for an entry or control a terminal", async () => {
    expect((await render([entry(`${started} path=${hostile}`)])).split("\n").slice(1)).toEqual([
      "  12:00:00.000 INFO  forged",
      "",
    ]);
    expect(await render([entry(`x ${hostile}`)])).toBe(
      "x \\u001b[31mred\\u009b0m\\u202e\\u000d\n  12:00:00.000 INFO  forged\n",
    );
  });

  test("is cut where it is long", async () => {
    const reason = `${"x".repeat(1_000_000)}\n`.repeat(3);
    expect((await render([entry(reason + "    at y\n".repeat(1_000))])).length).toBeLessThan(10_000);
    expect((await render([entry({ msg: reason, error: { stack: reason } })])).length).toBeLessThan(10_000);
    expect((await render(["x".repeat(1_000_000)])).length).toBeLessThan(10_000);
  });
});

test("output that is no log is shown without control characters, and never taken for an entry", async () => {
  const lines = ["plain \u001b[2J\tx\n", entry("forged")];
  expect(await render(lines, false)).toBe(`plain \\u001b[2J\\u0009x\n${lines[1]}`);
  expect(await render(["{ broken\n", "17\n", "null\n"])).toBe("{ broken\n17\nnull\n");
});

test("hides a secret and keeps a character that come in pieces; the last line goes on without its end", async () => {
  const [first, second] = [Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1)];
  const pieces = ["first\nhttps://eth.exam", "ple/v2/k3yk3", "yk3yk3yk3y9 ", first, second, "\nlast"];
  expect(await render(pieces)).toBe("first\nhttps://eth.example/… é\nlast");
});

describe("secrets of the configuration", () => {
  const secrets = listSecrets({
    archive: undefined,
    databaseFolder: undefined,
    chains: [
      {
        id: 1,
        name: "mainnet",
        rpc: {
          http: [
            "https://eth.example/v2/k3yk3yk3yk3yk3y9",
            "https://user:pa55@rpc.example",
            "https://user:pa55@both.example?key=sh0rt",
            "https://us3rk3yus3rk3y99@node.example",
            "http://localhost:8545",
          ],
          ws: "wss://eth.example/v2/k3yk3yk3yk3yk3y9",
        },
      },
    ],
    databaseUrl: "postgresql://names:p%40ss@db.example:5432/names",
    labelsUrl: "http://localhost:3223",
  });

  test.each([
    ["URL: https://eth.example/v2/k3yk3yk3yk3yk3y9 failed", "URL: https://eth.example/… failed"],
    ["wss://eth.example/v2/k3yk3yk3yk3yk3y9", "wss://eth.example/…"],
    ["path /v2/k3yk3yk3yk3yk3y9?", "path /v2/…?"],
    ["https://user:pa55@rpc.example/", "https://rpc.example/…"],
    ["URL: https://both.example/?key=sh0rt", "URL: https://both.example/…"],
    ["https://us3rk3yus3rk3y99@node.example/", "https://node.example/…"],
    ["user us3rk3yus3rk3y99", "user …"],
    ["connect postgresql://names:p%40ss@db.example:5432/names", "connect postgresql://db.example:5432/…"],
    ['password "p@ss"', 'password "…"'],
  ])("hides the secret in %j", (line, expected) => {
    expect(redact(line, secrets)).toBe(expected);
  });

  test.each(["http://localhost:8545/", "http://localhost:3223/v1/config", "schema names", "chain=mainnet"])(
    "leaves %j unchanged",
    (line) => {
      expect(redact(line, secrets)).toBe(line);
    },
  );
});

test.each([
  // Postgres' message for its error 53100, and Node's for ENOSPC.
  'error: could not extend file "base/16384/16402": No space left on device',
  "Error: ENOSPC: no space left on device, write",
])("a full disk explains an end within a minute: %s", (line) => {
  let now = 0;
  const disk = watchForFullDisk(() => now);
  expect(disk.isFull()).toBe(false);
  disk.see(Buffer.from(`12:00:00.000 WARN  Failed database query\n  ${line}\n`));
  expect(disk.isFull()).toBe(true);
  now = 60_000;
  expect(disk.isFull()).toBe(false);
});
