import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { seeOperations } from "../src/log/json-log.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = globSync("docs/*.md", { cwd: root }).map((page) => ({ page, text: read(page) }));
const headings = pages.flatMap(({ page, text }) =>
  [...text.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => ({ page, heading })),
);
const references = headings.map(({ page, heading }) => `"${heading}" in ${page}`);
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
const anchors = headings.map(({ page, heading }) => `${page}#${anchorOf(heading)}`);
const paths = globSync("{src,cli}/**/*.ts", { cwd: root }).filter((path) => !path.endsWith(".test.ts"));
const sources = paths.map((path) => ({ path, text: read(path) }));

/** Warnings and errors that ask nobody to act: each says itself why. */
const asksNothing = [
  // Counted by kind; /api/indexing-status and docs/data-model.md explain the kinds.
  "Skipped or repaired an anomalous event",
  "Further events of this kind are only counted",
  // Asked again within seconds.
  'log("warn", failure)',
  "Could not fetch block",
  // Names docs/subgraph.md.
  "Searches within names are slow",
  // A fault of the program, with its stack.
  "} failed: ",
];

type Call = { path: string; text: string };

/** Calls of a log: in `src` its warnings and errors, in `cli`, whose log has no levels, all. */
function logCalls({ path, text }: { path: string; text: string }): Call[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: Call[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      /(^|\.)log$/.test(node.expression.getText()) &&
      !node.getText().startsWith("console.")
    ) {
      const [first] = node.arguments;
      const level = first !== undefined && ts.isStringLiteral(first) ? first.text : undefined;
      if (level === "warn" || level === "error" || (path.startsWith("cli/") && level === undefined))
        found.push({ path, text: node.getText() });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

// What carries a section into a message.
const carriers =
  /seeOperations\(|\$\{see\}|\$\{away\}|\$\{reason\}|[Ss]ection\b|describeRepair\(found\)|(found|fault|stale)\.reason|\$\{level\}/;

describe("messages that ask an operator to act", () => {
  const calls = sources.flatMap(logCalls);

  test("are found", () => {
    expect(calls.length).toBeGreaterThan(19);
  });

  test.each(calls)("$path: $text", ({ text }) => {
    const isQuiet = asksNothing.some((message) => text.includes(message));
    expect(carriers.test(text) || isQuiet).toBe(true);
  });

  test("name a section that the page has", () => {
    const named = sources.flatMap(({ text }) => [
      ...[...text.matchAll(/seeOperations\("([^"]+)"\)/g)].map(([, section = ""]) => seeOperations(section)),
      ...(text.match(/"[^"]+" in docs\/\w+\.md/g) ?? []),
    ]);
    expect(new Set(named).size).toBeGreaterThan(6);
    for (const name of named) expect(references).toContain(name.replace(/^See |\.$/g, ""));
  });

  test("alerts, settings and other texts lead to a section that the page has", () => {
    const texts = [
      ...sources.map(({ text }) => text),
      read("deploy/prometheus/rules.yaml"),
      read(".env.example"),
    ];
    const named = texts.flatMap((text) => text.match(/docs\/\w+\.md#[\w-]+/g) ?? []);
    expect(named.length).toBeGreaterThan(10);
    for (const anchor of named) expect(anchors).toContain(anchor);
  });
});

test("messages that the pages quote are those of the program", () => {
  // Without the marks between the parts of a text.
  const plain = sources
    .map(({ text }) => text.replace(/["`'] \+\s*["`']/g, "").replace(/\s+/g, " "))
    .join("\n");
  const quoting = pages.filter(({ page }) => /operations|runbook/.test(page));
  const quoted = quoting.flatMap((page) =>
    [...page.text.matchAll(/`([A-Z][a-z]+ [^`]+)`/g)].map(([, text = ""]) => text),
  );
  expect(quoted.length).toBeGreaterThan(15);
  for (const text of quoted) {
    const parts = text.split("…").map((part) => part.replace(/^[ .;,:]+|[ .;,:]+(RPC_URL_)?$/g, ""));
    const [longest = ""] = parts.toSorted((one, other) => other.length - one.length);
    // Of Postgres.
    if (longest === "No space left on device") continue;
    expect({ text, isThere: plain.includes(longest) }).toEqual({ text, isThere: true });
  }
});
