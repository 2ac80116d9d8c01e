import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolders } from "../test/support/folders.ts";

const createFolder = temporaryFolders("nsindex-package-");

let work = "";
let cache = "";
let tools = "";
let listed: string[] = [];

// The package has no dependencies, so npm needs no network for it. In place of `npm ci`, which installs the packages of the
// lock file, this clone's packages are linked.
beforeAll(() => {
  [work, cache, tools] = [createFolder(), createFolder(), createFolder()];
  const made = createFolder();
  execFileSync(process.execPath, ["deploy/package.ts", made]);
  const tarball = join(made, readdirSync(made)[0] ?? "");
  listed = execFileSync("tar", ["tzf", tarball], { encoding: "utf8" }).split("\n");
  execFileSync("npm", ["install", "--offline", tarball], { cwd: work, stdio: "pipe" });
  setNpm(`printf '%s ' "$@" >> ${join(tools, "calls")}; ln -s ${resolve("node_modules")} node_modules`);
});

function setNpm(script: string): void {
  writeFileSync(join(tools, "npm"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(tools, "npm"), 0o755);
}

function run(args: string[], { input = "", home = cache } = {}) {
  const { status, stdout, stderr } = spawnSync(join(work, "node_modules/.bin/nsindex"), args, {
    ...{ cwd: work, input, encoding: "utf8" },
    env: {
      PATH: [tools, dirname(process.execPath), process.env["PATH"]].join(delimiter),
      XDG_CACHE_HOME: home,
    },
  });
  return { status, stdout, stderr };
}

const statesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => {
    const { size, mtimeMs } = statSync(join(folder, path));
    return [path, size, mtimeMs];
  });

test("the package holds the program without tests, and its lock file names no registry", () => {
  const tops = new Set(listed.map((path) => path.split("/").slice(1, 3).join("/")));
  for (const path of ["program/src", "program/devnet", "program/package-lock.json", "program/.env.example"])
    expect(tops).toContain(path);
  expect(listed.filter((path) => /\.test\.ts$|\/(test|bench|docs|examples|deploy)\//.test(path))).toEqual([]);
  const lock = readFileSync(join(work, "node_modules/nsindex/program/package-lock.json"), "utf8");
  // No URL of a registry.
  expect(lock).not.toMatch(/"resolved": "(?!client")/);
});

test("help names each command that the documents have, and other words are refused with it", () => {
  const rows = readFileSync("docs/operations.md", "utf8").matchAll(/^\| `npm (?:run )?(\w+)/gm);
  const documented = [...rows].map(([, name = ""]) => name);
  const { status, stdout } = run([]);
  const [, commands = ""] = /^Commands: (.*)$/m.exec(stdout) ?? [];
  expect(commands.split(", ")).toEqual([...documented, "demo"].sort());
  expect(status).toBe(0);
  expect(run(["--help"]).stdout).toBe(stdout);
  expect(run(["constructor\u001b[2J"])).toEqual({ status: 1, stdout: "", stderr: stdout });
  expect(existsSync(join(tools, "calls"))).toBe(false);
});

test("a first command whose packages cannot be installed says why, and leaves nothing behind", () => {
  const home = createFolder();
  expect(run(["doctor"], { home: join(tools, "npm") })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("set XDG_CACHE_HOME to another folder"),
  });
  const working = readFileSync(join(tools, "npm"), "utf8");
  setNpm("echo offline >&2; exit 7");
  const { status, stderr } = run(["doctor"], { home });
  expect(status).toBe(7);
  expect(stderr).toContain('offline\n"npm ci" ended with exit code 7. Correct what it names');
  expect(readdirSync(join(home, "nsindex"))).toEqual([]);
  writeFileSync(join(tools, "npm"), working);
});

test("commands run in an empty folder, with packages installed once, and write nothing to the package", () => {
  const before = statesBelow(join(work, "node_modules"));
  const doctor = run(["doctor"]);
  expect(doctor.status).toBe(1);
  expect(doctor.stdout).toContain("NAMESPACE is missing");
  const ingest = run(["labels", "ingest", "-", "--label-set-id", "own", "--label-set-version", "0"], {
    input: "vitalik\nnick\n",
  });
  expect([ingest.status, ingest.stderr]).toEqual([0, expect.not.stringContaining("Installing")]);
  const database = new Database(join(work, "data/labels.sqlite"), { readonly: true });
  expect(database.prepare("SELECT label FROM labels ORDER BY label").pluck().all()).toEqual([
    "nick",
    "vitalik",
  ]);
  database.close();
  expect(readFileSync(join(tools, "calls"), "utf8")).toMatch(/^ci --omit=dev --ignore-scripts [^c]*$/);
  expect(statesBelow(join(work, "node_modules"))).toEqual(before);
});
