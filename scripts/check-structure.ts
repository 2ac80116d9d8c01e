// Checks what Biome has no rules for: who imports whom (rooms.ts), and how many source files a folder holds.
//
//   check-structure.ts [folder]      the project's folder unless given; exit code 1 if anything is wrong
import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { frameworks, type Room, rooms } from "./rooms.ts";

/** A source file: its path from the project's folder, with slashes, and its text. */
export type SourceFile = { path: string; text: string };

const mostFilesPerFolder = 20;
const isTest = (path: string) => path.endsWith(".test.ts") || path.includes("/test-support/");

/** Every violation of the rules among the files, one line each; tests are not checked. */
export function structureProblems(files: readonly SourceFile[]): string[] {
  const checked = files.filter(({ path }) => !isTest(path));
  return [...checked.flatMap(importProblems), ...folderProblems(checked)];
}

/** The room of a file: the innermost one that holds it. */
function roomOf(file: string): Room | undefined {
  const holding = rooms.filter(({ path }) => isInside(file, path));
  return holding.toSorted((a, b) => b.path.length - a.path.length)[0];
}

// The project's own folder is a room of files only: a new folder needs a room of its own.
const isInside = (file: string, room: string) =>
  room === "" ? posix.dirname(file) === "." : file === room || file.startsWith(`${room}/`);

/** How messages call a room. */
const nameOf = ({ path }: Room) => path || "the project's own folder";

function importProblems({ path, text }: SourceFile): string[] {
  const room = roomOf(path);
  if (room === undefined) return [`${path}: no room in scripts/rooms.ts holds this folder`];
  return ts.preProcessFile(text, true, true).importedFiles.flatMap(({ fileName, pos }) => {
    const reason = fileName.startsWith(".")
      ? refusedFile(room, posix.join(posix.dirname(path), fileName))
      : refusedPackage(room, fileName);
    const line = text.slice(0, pos).split("\n").length;
    return reason === undefined ? [] : [`${path}:${line}: ${reason}`];
  });
}

function refusedFile(room: Room, imported: string): string | undefined {
  if (imported === "package.json" || room.imports === "everything") return undefined;
  if (isTest(imported)) return `imports the test file ${imported}`;
  const target = roomOf(imported);
  if (target === room) {
    return room.isApart
      ? `imports ${imported}: files of ${nameOf(room)} may not import each other`
      : undefined;
  }
  if (target !== undefined && room.imports.includes(target.path)) return undefined;
  return `imports ${imported}: ${nameOf(room)} may import ${room.imports.join(", ") || "no other room"}`;
}

function refusedPackage(room: Room, imported: string): string | undefined {
  const { imports, packages = [] } = room;
  const framework = frameworks.find((name) => imported === name || imported.startsWith(`${name}/`));
  if (framework === undefined || imports === "everything" || packages.includes(framework)) return undefined;
  return `imports the package ${imported}: ${nameOf(room)} may not`;
}

function folderProblems(files: readonly SourceFile[]): string[] {
  const byFolder = Map.groupBy(files, ({ path }) => posix.dirname(path));
  return [...byFolder].flatMap(([folder, { length }]) =>
    length > mostFilesPerFolder
      ? [`${folder}: ${length} source files, more than ${mostFilesPerFolder}; split the folder`]
      : [],
  );
}

function readSources(root: string): SourceFile[] {
  const paths = globSync("**/*.{ts,mjs}", {
    cwd: root,
    exclude: (name) => name === "node_modules" || name === "generated" || name.startsWith("."),
  });
  return paths
    .filter((path) => !path.endsWith(".d.ts"))
    .map((path) => ({ path: path.replaceAll("\\", "/"), text: readFileSync(join(root, path), "utf8") }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));
  const problems = structureProblems(readSources(root));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
