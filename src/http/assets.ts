import { readFile } from "node:fs/promises";
import { createRequire, findPackageJSON } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { html, raw } from "hono/html";

const compress = promisify(gzip);
const require = createRequire(import.meta.url);

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** An asset to send; its content type is among the headers. */
export type Asset = {
  headers: { "content-type": string } & Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
};

/** Files by URL path: the path of each on disk, or what returns its text. */
export type Files = Readonly<Record<string, string | (() => string)>>;

/**
 * Serves files to pages by URL path; undefined for unknown paths. Clients keep the files, so a path has to change with
 * its file. A file is read on its first request, kept compressed, and sent so to every client: all browsers decompress
 * it.
 */
export function createAssets(files: Files) {
  const compressed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  return async (path: string): Promise<Asset | undefined> => {
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (file === undefined) return undefined;
    const read = async () => (typeof file === "string" ? readFile(file) : file());
    const reading =
      compressed.get(path) ?? read().then(async (text) => Uint8Array.from(await compress(text)));
    compressed.set(path, reading);
    reading.catch(() => compressed.delete(path));
    const headers = {
      "content-type": contentTypes[extname(path)] ?? "application/octet-stream",
      "content-encoding": "gzip",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    };
    return { headers, body: await reading };
  };
}

const findFolder = (name: string) => dirname(findPackageJSON(name, import.meta.url) ?? "");
const swagger = findFolder("swagger-ui-dist");

// ponder: under `dev` an `import` makes Vite process this package, all 9 MB, which blocks the process for a second.
const loadGraphiql = () =>
  require("@graphql-yoga/render-graphiql/graphiql") as typeof import("@graphql-yoga/render-graphiql/graphiql");

/** Files of GraphiQL by URL path below `prefix`: its script and style, its workers, and the script that starts it. */
export const graphiqlFiles = (prefix: string): Files => ({
  [`${prefix}graphiql.js`]: () => loadGraphiql().js,
  [`${prefix}graphiql.css`]: () => loadGraphiql().css,
  [`${prefix}editorWorkerService.js`]: () => loadGraphiql().editorWorkerService,
  [`${prefix}json.js`]: () => loadGraphiql().jsonWorker,
  [`${prefix}graphql.js`]: () => loadGraphiql().graphqlWorker,
  [`${prefix}start-graphiql.js`]: fileURLToPath(new URL("start-graphiql.cjs", import.meta.url)),
});

// ponder: executes every .js and .mjs file below src, so browser scripts have another extension.
/** Files of `docsPage` by URL path below `prefix`: those of `swagger-ui-dist`, and the script that starts it. */
export const docsFiles = (prefix: string): Record<string, string> => ({
  [`${prefix}swagger-ui.css`]: join(swagger, "swagger-ui.css"),
  [`${prefix}swagger-ui-bundle.js`]: join(swagger, "swagger-ui-bundle.js"),
  [`${prefix}docs.js`]: fileURLToPath(new URL("docs.cjs", import.meta.url)),
});

/** Content security policy of `docsPage`: nothing loads from other hosts. Swagger UI sets inline styles. */
export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** What surrounds a page: HTML in its head, and at the start of its body. `assets`: the folder of its files. */
export type Surround = { head: string; top: string; assets: string };

const plain = `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">`;

/** What stands in the place of a program until it runs, and remains if its files cannot be loaded. */
export const untilLoaded = (program: string) =>
  html`<p class="note">${program} is loading. If this remains, its files cannot be loaded: reload the page.</p>`;

/**
 * Swagger UI page for `/openapi.json`. Its files are below `prefix`. With a frame around it, it sends the first
 * request.
 */
export const docsPage = (title: string, prefix: string, surround?: Surround) => html`<!doctype html>
<html lang="en">
<head>
${raw(surround?.head ?? plain)}
<title>${title}: API</title>
</head>
<body class="tool">
${raw(surround?.top ?? "")}
<link rel="stylesheet" href="${prefix}swagger-ui.css">
<div id="content"><div id="docs"${surround ? raw(" data-runs") : ""}>${untilLoaded("The API reference")}</div></div>
<script src="${prefix}swagger-ui-bundle.js"></script>
<script src="${prefix}docs.js"></script>
</body>
</html>`;
