// Preloaded into each script of this project. For each file Node parses the description of its package anew to find its
// format, which is that of the folder's other files with that extension. A package is the same for all files of a
// folder.
import { registerHooks } from "node:module";
import { extname } from "node:path";

const formats = new Map();
const packages = new Map();
const findFolder = (url) => url.slice(0, url.lastIndexOf("/"));

registerHooks({ resolve });

function resolve(specifier, context, next) {
  const { conditions, parentURL } = context;
  if (parentURL === undefined || !conditions.includes("import")) return next(specifier, context);
  const isFile = specifier.startsWith(".");
  const url = isFile ? new URL(specifier, parentURL).href : undefined;
  const key = isFile ? findFolder(url) + extname(url) : `${specifier} ${findFolder(parentURL)}`;
  const known = isFile ? formats.get(key) : packages.get(key);
  if (known !== undefined) return { url, ...known, shortCircuit: true };
  const found = next(specifier, context);
  if (!isFile) packages.set(key, found);
  else if (found.url === url) formats.set(key, { format: found.format });
  return found;
}
