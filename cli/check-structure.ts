// Checks what Biome has no rules for: who imports whom.
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
  packages: readonly string[];
  /** True if the files of the folder may not import each other. */
  isApart: boolean;
};

/** Packages that only the rooms naming them may import. All others are open to every room. */
export const frameworks = ["ponder", "ponder:registry", "ponder:api", "hono", "drizzle-orm", "graphql", "pg"];

/**
 * Who may import whom: a room, the rooms further up that its files may import, and behind a bar its framework packages. Tests are
 * free, and so are `test` and `bench`, which nothing else may import. The API only reads: it never imports handlers. Of `src` the
 * label service, a separate process, may import labels, names, and the limits and documents of HTTP only. Examples are programs of
 * their own, which know the services by HTTP alone. `.` is the project's own folder.
 */
const table = `
abis <-
src/log <-
src/http <- | hono
src/ens <-
src/schema <- | ponder drizzle-orm
ponder.schema.ts <- src/schema
src/labels <- src/{log,ens}
src/deployments <- abis src/ens
src/config <- abis src/{ens,deployments,labels}
src/ponder <- src/{log,http,config} | ponder ponder:registry ponder:api drizzle-orm
src/rpc <- src/{log,ens,ponder}
src/operations <- src/{log,config,ponder,rpc}
src/archive <- src/{log,ens,config,ponder,rpc,operations}
src/indexing <- abis src/{ens,deployments,log,schema,labels,ponder} | ponder:registry drizzle-orm
src/handlers <- abis src/{ens,deployments,indexing} | ponder:registry
src/plugins <- abis src/{ens,deployments,indexing,handlers}
src/api/database <- ponder.schema.ts src/{log,ens,schema,config,ponder} | ponder
src/api/status <- src/{log,config,ponder,operations} src/api/database | ponder
src/api/rest <- src/{log,http,ens,ponder} src/api/{database,status} | hono
src/api/resolution <- abis src/{ens,deployments,rpc} src/api/{database,rest}
src/api/names <- abis src/{ens,deployments,config} src/api/{database,status,rest,resolution}
src/api/subgraph <- src/{ens,config,ponder} src/api/{database,status,rest} | hono graphql
src/api/endpoints <- abis src/{ens,deployments,labels,config,ponder,operations} src/api/{database,status,rest,resolution,names}
src/api/pages <- src/{log,ens,ponder} src/api/{database,status,rest,names,endpoints} | hono
src/api <- src/{log,labels,deployments,config,ponder,operations} src/api/{database,status,rest,resolution,names,subgraph,endpoints,pages} | hono ponder:api
src <- src/{log,labels,deployments,config,ponder,indexing,handlers,plugins}
labels-service/store <- src/{log,ens,labels}
labels-service/formats <- src/{log,ens,labels}
labels-service/ingest <- src/{log,ens,labels} labels-service/{store,formats}
labels-service/http <- src/{log,ens,labels,http} labels-service/store | hono
labels-service/commands <- src/{log,ens,labels} labels-service/{store,formats,ingest,http}
labels-service <- src/{log,ens,labels} labels-service/{formats,commands}
cli <- src/{log,ens,labels,deployments,config,ponder,operations,rpc,archive} src/api/{database,names} | pg
. <- src/{schema,config,ponder,rpc,archive,operations} | ponder
devnet <- abis src/{deployments,rpc} labels-service/store
examples <- | graphql
test <- everything
bench <- everything
`;

// `src/{log,ens}` stands for two rooms.
const expanded = (words = "") =>
  words.split(" ").flatMap((word) => {
    const [, prefix = "", names = word] = /^(.*)\{(.*)\}$/.exec(word) ?? [];
    return names.split(",").flatMap((name) => (name === "" ? [] : [prefix + name]));
  });

/** The table as data. */
export const rooms: readonly Room[] = table
  .trim()
  .split("\n")
  .map((line) => {
    const [path = "", rest = ""] = line.split(" <-");
    const [imports, packages] = rest.split("|");
    return {
      path: path === "." ? "" : path,
      imports: imports?.trim() === "everything" ? "everything" : expanded(imports?.trim()),
      packages: expanded(packages?.trim()),
      isApart: path === "src/plugins",
    };
  });

/** A source file: its path from the project's folder, with slashes, and its text. */
export type SourceFile = { path: string; text: string };

const isTest = (path: string) => path.endsWith(".test.ts");

/** Every violation of the rules among the files, one line each; tests are not checked. */
export function structureProblems(files: readonly SourceFile[]): string[] {
  return files.filter(({ path }) => !isTest(path)).flatMap(importProblems);
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
  const { imports, packages } = room;
  const framework = frameworks.find((name) => imported === name || imported.startsWith(`${name}/`));
  if (framework === undefined || imports === "everything" || packages.includes(framework)) return undefined;
  return `imports the package ${imported}: ${nameOf(room)} may not`;
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
