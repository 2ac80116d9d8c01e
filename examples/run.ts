// Runs an example by its name: `npm run example -- <name> [arguments]`.
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [name, ...options] = process.argv.slice(2);
const programs = globSync("*/*.ts", { cwd: import.meta.dirname }).filter(
  (path) => !/\.(test|generated)\.ts$/.test(path),
);
const program = programs.find((path) => basename(path, ".ts") === name);
if (program === undefined) {
  const names = programs.map((path) => basename(path, ".ts")).sort();
  console.error(`Usage: npm run example -- <name> [arguments]; names are ${names.join(", ")}.`);
  process.exitCode = 2;
} else {
  const path = join(import.meta.dirname, program);
  process.argv = [process.execPath, path, ...options];
  await import(pathToFileURL(path).href);
}
