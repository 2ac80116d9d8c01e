// Checks what Biome has no rules for: who imports whom (the table of rooms), and how many source files a folder holds.
//
//   check-structure.ts [folder]      the project's folder unless given; exit code 1 if anything is wrong

import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** A folder of the project, or a single file, and what its files may import besides each other. */
export type Room = {
  path: string;
  /** Rooms further up in the list, so that no two rooms import each other. */
  imports: readonly string[] | "everything";
  /** Framework packages; see `frameworks`. */
  packages?: readonly string[];
  /** True if the files of the folder may not import each other. */
  isApart?: boolean;
};

/** Packages that only the rooms naming them may import. All others are open to every room. */
export const frameworks = ["ponder", "ponder:registry", "ponder:api", "hono", "drizzle-orm", "graphql", "pg"];

const forLabels = ["src/log", "src/ens", "src/labels"];
const facts = ["abis", "src/ens", "src/deployments"];
const apiRooms = ["src/api/database", "src/api/status", "src/api/rest"];

/**
 * Who may import whom. Tests are free, and so are `test` and `bench`, which nothing else may import. The API only
 * reads: it never imports rules. Of `src` the label service, a separate process, may import labels, names, and the limits and documents of HTTP only.
 */
export const rooms: readonly Room[] = [
  { path: "abis", imports: [] },
  { path: "src/log", imports: [] },
  { path: "src/http", imports: [], packages: ["hono"] },
  { path: "src/ens", imports: [] },
  { path: "src/schema", imports: [], packages: ["ponder", "drizzle-orm"] },
  { path: "ponder.schema.ts", imports: ["src/schema"] },
  { path: "src/labels", imports: ["src/log", "src/ens"] },
  { path: "src/deployments", imports: ["abis", "src/ens"] },
  { path: "src/config", imports: [...facts, "src/labels"] },
  {
    path: "src/ponder",
    imports: ["src/log", "src/http", "src/config"],
    packages: ["ponder", "ponder:registry", "ponder:api", "drizzle-orm"],
  },
  { path: "src/rpc", imports: ["src/log", "src/ens", "src/ponder"] },
  { path: "src/operations", imports: ["src/log", "src/config", "src/ponder", "src/rpc"] },
  {
    path: "src/archive",
    imports: ["src/log", "src/ens", "src/config", "src/ponder", "src/rpc", "src/operations"],
  },
  {
    path: "src/indexing",
    imports: [...facts, "src/log", "src/schema", "src/labels", "src/ponder"],
    packages: ["ponder:registry", "drizzle-orm"],
  },
  { path: "src/handlers", imports: [...facts, "src/indexing"], packages: ["ponder:registry"] },
  { path: "src/plugins", imports: [...facts, "src/indexing", "src/handlers"], isApart: true },
  {
    path: "src/api/database",
    imports: ["src/log", "src/ens", "ponder.schema.ts", "src/schema", "src/config", "src/ponder"],
    packages: ["ponder"],
  },
  {
    path: "src/api/status",
    imports: ["src/log", "src/config", "src/ponder", "src/operations", "src/api/database"],
    packages: ["ponder"],
  },
  {
    path: "src/api/rest",
    imports: ["src/log", "src/http", "src/ens", "src/ponder", "src/api/database", "src/api/status"],
    packages: ["hono"],
  },
  { path: "src/api/resolution", imports: [...facts, "src/rpc", "src/api/database", "src/api/rest"] },
  {
    path: "src/api/names",
    imports: [...facts, "src/config", ...apiRooms, "src/api/resolution"],
  },
  {
    path: "src/api/subgraph",
    imports: ["src/ens", "src/config", "src/ponder", ...apiRooms],
    packages: ["hono", "graphql"],
  },
  {
    path: "src/api/endpoints",
    imports: [
      ...facts,
      "src/labels",
      "src/config",
      "src/ponder",
      "src/operations",
      ...apiRooms,
      "src/api/resolution",
      "src/api/names",
    ],
  },
  {
    path: "src/api/pages",
    imports: ["src/log", "src/ens", "src/ponder", ...apiRooms, "src/api/names", "src/api/endpoints"],
    packages: ["hono"],
  },
  {
    path: "src/api",
    imports: [
      "src/log",
      "src/labels",
      "src/deployments",
      "src/config",
      "src/ponder",
      "src/operations",
      ...apiRooms,
      "src/api/resolution",
      "src/api/names",
      "src/api/subgraph",
      "src/api/endpoints",
      "src/api/pages",
    ],
    packages: ["hono", "ponder:api"],
  },
  {
    path: "src",
    imports: [
      "src/log",
      "src/labels",
      "src/deployments",
      "src/config",
      "src/ponder",
      "src/indexing",
      "src/handlers",
      "src/plugins",
    ],
  },
  { path: "labels-service/store", imports: forLabels },
  { path: "labels-service/formats", imports: forLabels },
  {
    path: "labels-service/ingest",
    imports: [...forLabels, "labels-service/store", "labels-service/formats"],
  },
  {
    path: "labels-service/http",
    imports: [...forLabels, "src/http", "labels-service/store"],
    packages: ["hono"],
  },
  {
    path: "labels-service/commands",
    imports: [
      ...forLabels,
      "labels-service/store",
      "labels-service/formats",
      "labels-service/ingest",
      "labels-service/http",
    ],
  },
  { path: "labels-service", imports: [...forLabels, "labels-service/formats", "labels-service/commands"] },
  {
    path: "cli",
    imports: [
      "src/log",
      "src/ens",
      "src/labels",
      "src/deployments",
      "src/config",
      "src/ponder",
      "src/operations",
      "src/rpc",
      "src/archive",
      "src/indexing",
      "src/api/database",
      "src/api/names",
    ],
    packages: ["pg"],
  },
  {
    path: "",
    imports: ["src/schema", "src/config", "src/ponder", "src/rpc", "src/archive", "src/operations"],
    packages: ["ponder"],
  },
  { path: "devnet", imports: ["abis", "src/deployments", "src/rpc", "labels-service/store"] },
  // Programs of their own: they know the services by HTTP alone.
  { path: "examples", imports: [], packages: ["graphql"] },
  { path: "test", imports: "everything" },
  { path: "bench", imports: "everything" },
];

/** A source file: its path from the project's folder, with slashes, and its text. */
export type SourceFile = { path: string; text: string };

const mostFilesPerFolder = 20;
const isTest = (path: string) => path.endsWith(".test.ts");

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

/** Name of a room in messages. */
const nameOf = ({ path }: Room) => path || "the project's own folder";

function importProblems({ path, text }: SourceFile): string[] {
  const room = roomOf(path);
  if (room === undefined) return [`${path}: no room in cli/check-structure.ts holds this folder`];
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
