import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const modules = fileURLToPath(new URL("../node_modules", import.meta.url));

// Ponder compares classes of these by identity. With a second copy of pg, for one, transactions run on whatever
// connection is free, and blocks go missing from the RPC cache.
test.each(["pg", "drizzle-orm", "graphql", "viem", "graphql-yoga"])("%s is installed once", (name) => {
  expect(copiesOf(name, modules)).toEqual([join(modules, name)]);
});

function copiesOf(name: string, folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory() || entry.name === ".bin") return [];
    const path = join(folder, entry.name);
    if (entry.name.startsWith("@")) return copiesOf(name, path);
    const nested = join(path, "node_modules");
    const own = entry.name === name && isPackage(path, name) ? [path] : [];
    return [...own, ...(hasFolder(nested) ? copiesOf(name, nested) : [])];
  });
}

function isPackage(path: string, name: string): boolean {
  return JSON.parse(readFileSync(join(path, "package.json"), "utf8")).name === name;
}

function hasFolder(path: string): boolean {
  try {
    return readdirSync(path).length > 0;
  } catch {
    return false;
  }
}
