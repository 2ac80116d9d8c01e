import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const measured = fileURLToPath(new URL("../labels/measured.ts", import.meta.url));

/** Feeds the label service's commands a hostile file, and a folder with symbolic links at the names of their own files. */
export function measureIngests(): string {
  const folder = mkdtempSync(join(tmpdir(), "bench-hostile-ingest-"));
  try {
    return ["ingest (F10)", commas(folder), ...links(folder)].join("\n  ");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function commas(folder: string): string {
  const file = join(folder, "commas.csv");
  writeFileSync(file, `${",".repeat(10_000_000)}\n`);
  const { status, seconds, peak, said } = ingest(file, join(folder, "commas.sqlite"));
  return `a CSV row of 10 million commas: exit code ${status} after ${seconds.toFixed(1)} s, peak ${peak}; ${said}`;
}

// Names of ingest's files in its work folder, and of the file that export writes first.
const ownFiles = ["spill", "rejects.txt", "manifest.json.new", "next.sqlite"];

function links(folder: string): string[] {
  const input = join(folder, "labels.txt");
  writeFileSync(input, "one\ntwo\nthree\n");
  const base = join(folder, "linked.sqlite");
  ingest(input, base);
  const lines: string[] = [];
  for (const name of ownFiles) lines.push(linked(folder, input, name));
  const victim = join(folder, "victim-export");
  writeFileSync(victim, "precious");
  const out = join(folder, "out.ensrainbow");
  symlinkSync(victim, `${out}.part`);
  const { status } = run(["export", "--output", out, "--label-set-version", "0", "--database", base]);
  lines.push(
    `export with a link at its .part name: exit code ${status}, ${readFileSync(victim, "utf8") === "precious" ? "the target is as it was" : "THE TARGET WAS OVERWRITTEN"}`,
  );
  return lines;
}

function linked(folder: string, input: string, name: string): string {
  const database = join(folder, `linked-${name}.sqlite`);
  const victim = join(folder, `victim-${name}`);
  writeFileSync(victim, "precious");
  mkdirSync(`${database}.ingest`);
  symlinkSync(victim, join(`${database}.ingest`, name));
  const { status } = ingest(input, database);
  const isWhole = readFileSync(victim, "utf8") === "precious";
  return `ingest with a link at its ${name}: exit code ${status}, ${isWhole ? "the target is as it was" : "THE TARGET WAS OVERWRITTEN"}`;
}

function ingest(input: string, database: string) {
  return run([
    "ingest",
    input,
    "--label-set-id",
    "subgraph",
    "--label-set-version",
    "0",
    "--database",
    database,
  ]);
}

function run(args: readonly string[]) {
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, [measured, ...args], {
    encoding: "utf8",
    timeout: 120_000,
  });
  const cost = /\{"cpuSeconds.*\}/.exec(stdout)?.[0];
  const { wallSeconds, peakBytes } = cost
    ? (JSON.parse(cost) as { wallSeconds: number; peakBytes: number })
    : { wallSeconds: Number.NaN, peakBytes: Number.NaN };
  const said = stderr.trim().split("\n").at(-1)?.slice(0, 200) ?? "";
  return {
    status: signal ?? status,
    seconds: wallSeconds,
    peak: `${(peakBytes / 1e6).toFixed(0)} MB`,
    said,
  };
}
