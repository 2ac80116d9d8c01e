import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { frameworks, type Room, rooms, structureProblems } from "./check-structure.ts";

const named = ({ path }: Room) => path || "the project's own folder";
const isFile = ({ path }: Room) => path.endsWith(".ts");
const limited = rooms.filter(({ imports }) => imports !== "everything");

/** Files in the room, 0 to 2 folders below it, that import `target`: a path from the project's folder, or a package. */
function planted(room: Room, target: string) {
  // A new folder in the project's own would need a room of its own.
  const depths = room.path === "" || isFile(room) ? [""] : ["", "deeper", "deeper/deepest"];
  return depths.map((folders) => {
    const path = isFile(room) ? room.path : posix.join(room.path, folders, "planted.ts");
    const specifier = target.endsWith(".ts") ? relative(path, target) : target;
    return { path, text: `// One line above.\nimport { something } from "${specifier}";\n` };
  });
}

function relative(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}

/** A file of the room, as others import it. */
const fileOf = (room: Room) => (isFile(room) ? room.path : posix.join(room.path, "target.ts"));

describe.each(limited)("files of $path", (room) => {
  const forbidden = rooms.filter((other) => other !== room && !room.imports.includes(other.path));

  test.each(forbidden)("may not import $path", (other) => {
    const files = planted(room, fileOf(other));
    expect(structureProblems(files)).toEqual(
      files.map(({ path }) => expect.stringContaining(`${path}:2: imports ${fileOf(other)}`)),
    );
  });

  test.each(frameworks.filter((name) => !room.packages.includes(name)))("may not import %s", (name) => {
    for (const imported of [name, `${name}/part`]) {
      const files = planted(room, imported);
      const problems = files.map(
        ({ path }) => `${path}:2: imports the package ${imported}: ${named(room)} may not`,
      );
      expect(structureProblems(files)).toEqual(problems);
    }
  });

  test("may import what the table allows", () => {
    const targets = rooms.filter(({ path }) => room.imports.includes(path)).map(fileOf);
    for (const target of [...targets, ...room.packages, "viem", "node:fs"])
      expect(structureProblems(planted(room, target))).toEqual([]);
  });
});

test("no rooms import each other: each stands below those that it imports", () => {
  const seen = new Set<string>();
  for (const { path, imports } of rooms) {
    for (const imported of imports === "everything" ? [] : imports) expect(seen, path).toContain(imported);
    seen.add(path);
  }
});

test("plugins do not import each other, and nothing imports a test file", () => {
  const plugin = { path: "src/plugins/a.ts", text: 'import "./b.ts";' };
  const rule = { path: "src/indexing/a.ts", text: 'import type { A } from "./b.test.ts";' };
  expect(structureProblems([plugin, rule])).toEqual([
    "src/plugins/a.ts:1: imports src/plugins/b.ts: files of src/plugins may not import each other",
    "src/indexing/a.ts:1: imports the test file src/indexing/b.test.ts",
  ]);
});

test("type imports, re-exports and dynamic imports count", () => {
  const text = [
    'import type { A } from "../api/a.ts";',
    'export * from "../api/b.ts";',
    'const c = await import("../api/c.ts");',
  ].join("\n");
  const problems = structureProblems([{ path: "src/ens/a.ts", text }]);
  expect(problems.map((problem) => problem.split(": ")[0])).toEqual([
    "src/ens/a.ts:1",
    "src/ens/a.ts:2",
    "src/ens/a.ts:3",
  ]);
});

test("a folder without a room is rejected", () => {
  expect(structureProblems([{ path: "elsewhere/a.ts", text: "" }])).toEqual([
    "elsewhere/a.ts: no room in cli/check-structure.ts holds this folder",
  ]);
});

let folder: string | undefined;
afterEach(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

test("the command fails if any file has a forbidden import, and passes otherwise", () => {
  const command = fileURLToPath(new URL("check-structure.ts", import.meta.url));
  folder = mkdtempSync(join(tmpdir(), "check-structure-"));
  const write = (path: string, text: string) => {
    const full = join(String(folder), path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  };
  write("src/ens/names.ts", 'import { keccak256 } from "viem";\n');
  write("src/ens/names.test.ts", 'import "../api/app.ts";\n');
  expect(execFileSync(process.execPath, [command, folder], { encoding: "utf8" })).toBe("");
  write("src/ens/deeper/names.ts", 'import "../../api/app.ts";\n');
  const { status, stderr } = spawnSync(process.execPath, [command, folder], { encoding: "utf8" });
  expect([status, stderr.trim()]).toEqual([
    1,
    "src/ens/deeper/names.ts:1: imports src/api/app.ts: src/ens may import no other room",
  ]);
});
