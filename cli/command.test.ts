import { describe, expect, test } from "vitest";
import { archive } from "./archive.ts";
import { cache } from "./cache.ts";
import { parseCommand } from "./command.ts";
import { db } from "./db.ts";
import { exportProgram } from "./export.ts";
import { verify } from "./verify.ts";

const programs = { archive, cache, db, export: exportProgram, verify };
type Line = `${keyof typeof programs}${string}`;

/** What a line of the shell asks of a program. */
function parse(line: Line) {
  const [program = "", ...args] = line.split(" ");
  return parseCommand(programs[program as keyof typeof programs], args);
}

test.each<[Line, object]>([
  ["cache purge --chain 1 --from 20 --to 29", { chain: 1, from: 20, to: 29 }],
  ["cache purge --chain=10 --from=0", { chain: 10, from: 0 }],
  ["cache check --chain 1 --samples 20 --seed 7", { chain: 1, samples: 20, seed: 7 }],
  ["db list", { given: [] }],
  ["db switch --name live names_v2 --force", { given: ["names_v2"], name: "live", force: true }],
  ["db switch names_v2 --name=live", { given: ["names_v2"], name: "live" }],
  ["db prune a b", { given: ["a", "b"] }],
  ["export --what names --format=csv", { what: "names", format: "csv", given: [] }],
  ["verify --name a.eth --name=b.eth --samples 5", { name: ["a.eth", "b.eth"], samples: 5 }],
  ["verify", { given: [] }],
  ["archive fetch https://files.example/archive", { given: ["https://files.example/archive"] }],
  ["archive check --chain 1 --rpc http://127.0.0.1:8545", { chain: 1, rpc: "http://127.0.0.1:8545" }],
])("%s", (line, asked) => {
  expect(parse(line).asked).toMatchObject(asked);
});

describe("says what is wrong with", () => {
  test.each<[Line, string[]]>([
    ["cache purge", ["--chain is missing.", "--from is missing."]],
    [
      "cache purge --chain main --from 1.5",
      ['--chain is "main"; expected a whole number from 0.', "--from is"],
    ],
    ["cache purge --chain 1 --until 3", ["Unknown option '--until'"]],
    ["cache purge now", ["Unexpected argument 'now'"]],
    ["cache purge --chain 1 --from 9 --to 3", ["--to is before --from."]],
    ["cache purge --chain 1 --from", ["'--from <value>' argument missing"]],
    ["db", ["A command is missing."]],
    ["db swich names_v2", ['Unknown command "swich". The nearest is "switch".']],
    ["db list names_v2", ["Unexpected argument 'names_v2'"]],
    ["db switch a b", ["switch takes one schema."]],
    ["db switch a --force=no", ["'--force' does not take an argument"]],
    ["db prune", ["prune takes at least one schema."]],
    ["export", ["--what is missing.", "--format is missing."]],
    ["export --what names --format xml", ['--format is "xml"; expected parquet, csv, ndjson.']],
    ["archive check --rpc http://127.0.0.1:8545", ["--rpc needs --chain."]],
  ])("%s", (line, faults) => {
    expect(() => parse(line)).toThrow(expect.objectContaining({ name: "PreflightError" }));
    for (const fault of faults) expect(() => parse(line)).toThrow(fault);
  });

  // What is no URL may still hold a key.
  test.each<[Line, string]>([
    ["archive fetch files.example/d41d8cd98f00b204", "fetch takes an http(s):// URL."],
    ["archive fetch https://[files.example/d41d8cd98f00b204", "fetch takes an http(s):// URL."],
    ["archive check --chain 1 --rpc https://[node/d41d8cd98f00b204", "--rpc must be an http(s):// URL."],
  ])("%s without repeating it", (line, message) => {
    const fault = (() => {
      try {
        parse(line);
      } catch (error) {
        return String(error);
      }
    })();
    expect(fault).toContain(message);
    expect(fault).not.toContain("d41d8cd98f00b204");
  });
});

test("the help shows how each command is written", () => {
  expect(() => parse("cache x" as Line)).toThrow(
    `Usage: npm run cache -- purge --chain <id> --from <block> [--to <block>]
       npm run cache -- check --chain <id> [--from <block>] [--to <block>] [--samples <n>] [--seed <n>]

The cache is`,
  );
  expect(() => parse("verify --all")).toThrow("verify -- [--samples <n>] [--name <name>]... [--block <n>]");
  expect(() => parse("db x" as Line)).toThrow("db -- prune <schema>...\n");
  expect(() => parse("export")).toThrow(
    "export -- --what names|registrations|events --format parquet|csv|ndjson [--",
  );
});
