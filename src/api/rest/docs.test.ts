import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { endpoints } from "../endpoints/endpoints.ts";
import { docsRoutes, documentOf } from "./docs.ts";

test("the document is frozen", async () => {
  const document = documentOf("1.2.3", endpoints);
  await expect(JSON.stringify(document, null, 2)).toMatchFileSnapshot("../../../test/fixtures/openapi.json");
});

const shownDocument = { openapi: "3.1.0", info: { title: "nsindex", version: "1.2.3" } };
const app = docsRoutes(shownDocument);

const page = async () => {
  const response = await app.request("/docs");
  return { text: await response.text(), headers: response.headers };
};
const assets = async () =>
  [...(await page()).text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, url]) => url!);

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

test("its files are compressed if the client takes that, and may be kept forever", async () => {
  const urls = await assets();
  expect(urls).toEqual(
    ["swagger-ui.css", "swagger-ui-bundle.js", "docs.js"].map((name) => `/docs/1.2.3/${name}`),
  );
  for (const url of urls) {
    const plain = await app.request(url);
    expect([plain.status, plain.headers.get("content-encoding")]).toEqual([200, null]);
    expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(plain.headers.get("content-type")).toMatch(
      url.endsWith(".css") ? /^text\/css/ : /^text\/javascript/,
    );
    const zipped = await app.request(url, { headers: { "accept-encoding": "gzip, br" } });
    expect([zipped.headers.get("content-encoding"), zipped.headers.get("vary")]).toEqual([
      "gzip",
      "accept-encoding",
    ]);
    const bytes = Buffer.from(await plain.arrayBuffer());
    expect(gunzipSync(await zipped.arrayBuffer()).equals(bytes)).toBe(true);
    expect(bytes.length).toBeGreaterThan(url.endsWith("docs.js") ? 100 : 100_000);
  }
});

test("other files of the package are not served", async () => {
  const [css = ""] = await assets();
  for (const name of ["package.json", "../package.json", "swagger-ui.css.map", "index.html"]) {
    expect((await app.request(css.replace("swagger-ui.css", name))).status).toBe(404);
  }
});
