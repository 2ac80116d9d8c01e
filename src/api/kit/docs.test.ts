import { gunzipSync } from "node:zlib";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { digestOpenApi } from "../../../test/support/openapi-digest.ts";
import { graphiqlFiles } from "../../http/assets.ts";
import { endpoints } from "../../service/endpoints.ts";
import { addAssets, buildDocument, docsRoutes } from "./docs.ts";

test("the document is frozen", async () => {
  const document = buildDocument("1.2.3", endpoints);
  await expect(digestOpenApi(document)).toMatchFileSnapshot("../../../test/fixtures/openapi.txt");
});

const shownDocument = { openapi: "3.1.0", info: { title: "nsindex", version: "1.2.3" } };
const app = docsRoutes(shownDocument);

const page = async () => {
  const response = await app.request("/docs");
  return { text: await response.text(), headers: response.headers };
};
const assets = async () =>
  [...(await page()).text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, url]) => url!);
const fileOf = async (from: Hono, url: string) => {
  const response = await from.request(url);
  const text = gunzipSync(await response.arrayBuffer()).toString();
  return { status: response.status, headers: response.headers, text };
};

test("/openapi.json is the document", async () => {
  const response = await app.request("/openapi.json");
  expect(await response.json()).toEqual(shownDocument);
});

test("/docs loads nothing from other hosts, and its policy forbids it", async () => {
  const { text, headers } = await page();
  expect(headers.get("content-type")).toBe("text/html; charset=UTF-8");
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//i);
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none';/);
  expect(policy).not.toMatch(/https?:|\*|'unsafe-eval'/);
  expect(policy).toContain("script-src 'self';");
  expect(text).not.toMatch(/<script>/);
});

test("its files are compressed, and may be kept forever", async () => {
  const urls = await assets();
  expect(urls).toEqual(
    ["swagger-ui.css", "swagger-ui-bundle.js", "docs.js"].map((name) => `/docs/1.2.3/${name}`),
  );
  for (const url of urls) {
    const { status, headers, text } = await fileOf(app, url);
    expect([status, headers.get("content-encoding")]).toEqual([200, "gzip"]);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(headers.get("content-type")).toMatch(url.endsWith(".css") ? /^text\/css/ : /^text\/javascript/);
    expect(text.length).toBeGreaterThan(url.endsWith("docs.js") ? 100 : 100_000);
  }
});

test("GraphiQL has its script, its style and its workers", async () => {
  const app = new Hono();
  addAssets(app, graphiqlFiles("/assets/"));
  const sizes = {
    ...{ "graphiql.js": 4_000_000, "graphiql.css": 500_000, "start-graphiql.js": 200 },
    ...{ "editorWorkerService.js": 400_000, "json.js": 500_000, "graphql.js": 1_000_000 },
  };
  for (const [name, min] of Object.entries(sizes)) {
    const { status, text } = await fileOf(app, `/assets/${name}`);
    expect([status, text.length > min], name).toEqual([200, true]);
  }
});

test("other files of the package are not served", async () => {
  const [css = ""] = await assets();
  for (const name of ["package.json", "../package.json", "swagger-ui.css.map", "index.html"]) {
    expect((await app.request(css.replace("swagger-ui.css", name))).status).toBe(404);
  }
});
