// A worker's program: writes GraphiQL's page out and packs it. Loading the package takes a tenth of a second and more, in which the
// service would answer nobody.
import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { gzipSync } from "node:zlib";

const load = createRequire(import.meta.url);
const { renderGraphiQL }: typeof import("@graphql-yoga/render-graphiql") = load(
  "@graphql-yoga/render-graphiql",
);
const text = Buffer.from(renderGraphiQL(workerData));
parentPort?.postMessage({ text, packed: gzipSync(text, { level: 1 }) });
