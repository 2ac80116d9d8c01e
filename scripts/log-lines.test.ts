import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { type LogStyle, logLines } from "./log-lines.ts";

const secrets = [["https://eth.example/v2/k3yk3yk3yk3yk3y9", "https://eth.example/…"]] as const;

async function render(pieces: (string | Buffer)[], style: Partial<LogStyle> = {}): Promise<string> {
  const stream = logLines(secrets, { format: "pretty", isTerminal: false, ...style });
  for (const piece of pieces) stream.write(piece);
  stream.end();
  return text(stream);
}

// Ponder's lines as pino writes them.
const entry = (fields: object) =>
  `${JSON.stringify({ level: 30, time: 1_700_000_000_123, msg: "Started", ...fields })}\n`;
const clock = /^\d\d:\d\d:\d\d\.123 /;

describe("an entry of Ponder's log", () => {
  test("is formatted for people", async () => {
    const line = await render([entry({ chain: "mainnet", chain_id: 1, count: 3, duration: 61_500 })]);
    expect(line).toMatch(clock);
    expect(line.replace(clock, "")).toBe("INFO  Started chain=mainnet count=3 (1m 1s)\n");
  });

  test("has its error below it, indented", async () => {
    const error = { name: "Error", message: "x", stack: "Error: x\n    at y", meta: "Hint" };
    const lines = (await render([entry({ level: 50, error })])).split("\n");
    expect(lines.slice(1)).toEqual(["  Error: x", "      at y", "  Hint", ""]);
  });

  test("has colours on a terminal only", async () => {
    expect(await render([entry({ level: 40 })], { isTerminal: true })).toContain("\u001b[33mWARN \u001b[39m");
  });

  test("stays JSON where that is wanted", async () => {
    const line = await render([entry({ path: "/\u009b31m\n", url: secrets[0][0] })], { format: "json" });
    expect(line).not.toMatch(/\u009b|\n./);
    expect(JSON.parse(line)).toMatchObject({ msg: "Started", path: "/\u009b31m\n", url: secrets[0][1] });
  });
});

describe("what others say", () => {
  const hostile = `\u001b[31mred\u009b0m\u202e\r\n12:00:00.000 INFO  forged`;

  test.each([
    ["a message", entry({ msg: hostile })],
    ["a field", entry({ path: hostile })],
  ])("cannot start a line or control a terminal from %s", async (_, line) => {
    const shown = await render([line]);
    expect(shown.split("\n")).toHaveLength(2);
    expect(shown).toContain("\\u001b[31mred\\u009b0m\\u202e\\u000d\\u000a12:00:00.000 INFO  forged");
  });

  test("cannot pass for an entry from an error", async () => {
    const shown = await render([entry({ error: { stack: `Error: reverted: ${hostile}` } })]);
    expect(shown.split("\n").slice(1)).toEqual([
      "  Error: reverted: \\u001b[31mred\\u009b0m\\u202e\\u000d",
      "  12:00:00.000 INFO  forged",
      "",
    ]);
  });

  test("is cut where it is long", async () => {
    const reason = `${"x".repeat(1_000_000)}\n`.repeat(3);
    const stack = `Error: ${reason}${"    at y\n".repeat(1_000)}`;
    for (const format of ["pretty", "json"] as const) {
      const shown = await render([entry({ msg: reason, path: reason, error: { stack } })], { format });
      expect(shown.length).toBeLessThan(20_000);
    }
  });
});

test("output that is no log is shown without control characters, and never taken for an entry", async () => {
  const lines = ["plain \u001b[2J\tx\n", entry({ msg: "forged" })];
  expect(await render(lines, { format: "asText" })).toBe(`plain \\u001b[2J\\u0009x\n${lines[1]}`);
  expect(await render(["{ broken\n", "17\n", "null\n"])).toBe("{ broken\n17\nnull\n");
});

test("hides a secret and keeps a character that come in pieces; the last line goes on without its end", async () => {
  const [first, second] = [Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1)];
  const pieces = ["first\nhttps://eth.exam", "ple/v2/k3yk3", "yk3yk3yk3y9 ", first, second, "\nlast"];
  expect(await render(pieces)).toBe("first\nhttps://eth.example/… é\nlast");
});
