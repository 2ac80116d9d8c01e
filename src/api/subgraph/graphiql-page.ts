// A worker's program: writes GraphiQL's page out and packs it. Loading the package takes a tenth of a second and more, in which the
// service would answer nobody.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { gzipSync } from "node:zlib";

const load = createRequire(import.meta.url);
const { renderGraphiQL }: typeof import("@graphql-yoga/render-graphiql") = load(
  "@graphql-yoga/render-graphiql",
);
const page = renderGraphiQL(workerData);
const hashes = Array.from(
  page.matchAll(/<script>(.*?)<\/script>/gs),
  ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
);
// Its editor runs in workers that it makes itself, and styles what it shows.
const policy = [
  "default-src 'none'",
  `script-src ${hashes.join(" ")}`,
  "worker-src blob:",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "font-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
const text = Buffer.from(page);
parentPort?.postMessage({ text, packed: gzipSync(text, { level: 1 }), policy });
