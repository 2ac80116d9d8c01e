import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, extname, join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync, gzip } from "node:zlib";
import { type Context, Hono } from "hono";
import { html, raw } from "hono/html";
import { z } from "zod/v4";
import type { Answer, Endpoint } from "./endpoint.ts";

// Own code, since @hono/zod-openapi takes zod 4 as a package only, and hono-openapi documents middleware, not values.

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the endpoints. Input is described as requests write it, not as handlers get it. */
export function openApiDocument({
  version,
  endpoints,
}: {
  version: string;
  endpoints: readonly Endpoint<never>[];
}) {
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "nsindex",
      version,
      description:
        "REST endpoints of the index. Names, owners and records as entities are served over GraphQL at `/subgraph`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
  };
}

function operationOf(endpoint: Endpoint<never>): Json {
  const { method, path, tag, summary, description, params, query, body, answers, hasTags } = endpoint;
  return {
    operationId: operationId(method, path),
    tags: [tag],
    summary,
    description,
    parameters: [...parametersOf("path", params), ...parametersOf("query", query)],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: jsonSchemaOf(body, "input") } },
          },
        }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)])),
      ...(hasTags ? { 304: { description: "It is what the `If-None-Match` of the request knows" } } : {}),
    },
  };
}

function operationId(method: string, path: string): string {
  const words = path.replaceAll(/[{}]/g, "").split(/[/-]/).filter(Boolean);
  return [method, ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join("");
}

function parametersOf(place: "path" | "query", schema: z.ZodObject | undefined): Json[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, example, ...rest } = jsonSchemaOf(field as z.ZodType, "input");
    return {
      name,
      in: place,
      required: place === "path" || !z.safeParse(field, undefined).success,
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    };
  });
}

function responseOf({ description, schema, type = "application/json" }: Answer): Json {
  return { description, content: { [type]: { schema: jsonSchemaOf(schema, "output") } } };
}

// Without its dialect, which is that of OpenAPI 3.1, and without the bounds of integers that say nothing.
function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return json;
}

const compress = promisify(gzip);

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/**
 * Serves the named files of a folder below `path`, which has to change when they do: clients keep them. A file is read when
 * it is first asked for, and kept compressed.
 */
export function addAssets(app: Hono, path: string, folder: string, names: readonly string[]): void {
  const compressed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  const assetOf = (name: string) => {
    const known = compressed.get(name);
    if (known) return known;
    const reading = readFile(join(folder, name)).then(async (bytes) =>
      Uint8Array.from(await compress(bytes)),
    );
    compressed.set(name, reading);
    reading.catch(() => compressed.delete(name));
    return reading;
  };
  for (const name of names) {
    const type = contentTypes[extname(name)] ?? "application/octet-stream";
    app.get(`${path}/${name}`, async (c) => sendAsset(c, type, await assetOf(name)));
  }
}

// The label service sends the same file.
const start = readFileSync(new URL("../pages/assets/docs.js", import.meta.url), "utf8");

const policy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash("sha256").update(start).digest("base64")}'`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * GET /openapi.json: the API's document for programs; GET /docs: Swagger UI over it, for people, with the files that it
 * needs from the package `swagger-ui-dist` and nothing from elsewhere.
 */
export function docsRoutes(document: { info: { title: string } }): Hono {
  const { folder, version } = findPackage();
  const page = pageOf(document.info.title, `/docs/${version}`);
  const app = new Hono()
    .get("/openapi.json", (c) => c.json(document))
    .get("/docs", (c) => c.html(page, 200, { "content-security-policy": policy }));
  addAssets(app, `/docs/${version}`, folder, ["swagger-ui.css", "swagger-ui-bundle.js"]);
  return app;
}

function findPackage(): { folder: string; version: string } {
  const manifest = findPackageJSON("swagger-ui-dist", import.meta.url);
  if (manifest === undefined) throw new Error("The package swagger-ui-dist is not installed: run npm ci.");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return { folder: dirname(manifest), version };
}

function sendAsset(c: Context, type: string, compressed: Uint8Array<ArrayBuffer>): Response {
  const headers = {
    "content-type": type,
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    vary: "accept-encoding",
  };
  if (/\bgzip\b/.test(c.req.header("accept-encoding") ?? "")) {
    return c.body(compressed, 200, { ...headers, "content-encoding": "gzip" });
  }
  return c.body(gunzipSync(compressed), 200, headers);
}

function pageOf(title: string, assets: string) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets}/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="${assets}/swagger-ui-bundle.js"></script>
<script>${raw(start)}</script>
</body>
</html>`;
}
