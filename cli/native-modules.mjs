// Stands in for Vite and vite-node under `ponder start` and `ponder serve`: Node runs the project's TypeScript itself.
// Only `ponder dev`, which reloads changed files, needs them.
import { pathToFileURL } from "node:url";

/** The text of one of Ponder's virtual modules, such as `ponder:registry`. */
export let loadText = () => undefined;

// ponder: passes a plugin that knows these texts.
export async function createServer({ root, plugins }) {
  loadText = plugins.find((plugin) => plugin?.name === "ponder").load;
  return { config: { root }, pluginContainer: { buildStart() {} }, close() {} };
}

export function ViteNodeServer() {}

export function ViteNodeRunner() {
  this.executeFile = (file) => import(pathToFileURL(file).href).catch(withPaths);
  this.executeId = (id) => import(id);
}

// ponder: shows the code at the first path of a stack, and does not read URLs.
function withPaths(error) {
  if (typeof error?.stack === "string") error.stack = error.stack.replaceAll("file://", "");
  throw error;
}

// Positions in the text that Node runs are those of the files.
export function installSourcemapsSupport() {}

// Of `ponder dev`.
export function normalizeModuleId() {}
export function toFilePath() {}
export default function tsconfigPaths() {}
