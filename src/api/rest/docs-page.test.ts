import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { docsRoutes } from "./docs-page.ts";

const document = { openapi: "3.1.0", info: { title: "Name service index" } };
const app = docsRoutes(document);

const page = async () => {
  const response = await app.request("/docs");
  return { text: await response.text(), headers: response.headers };
};
const assets = async () =>
  [...(await page()).text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, url]) => url!);

test("/openapi.json is the document", async () => {
  const response = await app.request("/openapi.json");
  expect(await response.json()).toEqual(document);
});

test("/docs asks for nothing from elsewhere, and its policy forbids it", async () => {
  const { text, headers } = await page();
  expect(headers.get("content-type")).toBe("text/html; charset=UTF-8");
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//i);
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none';/);
  expect(policy).not.toMatch(/https?:|\*|'unsafe-eval'/);
  const inline = /<script>([\s\S]+?)<\/script>/.exec(text)?.[1] ?? "";
  expect(policy).toContain(`'sha256-${createHash("sha256").update(inline).digest("base64")}'`);
});

test("its files come from the package, compressed if the client takes that, and may be kept forever", async () => {
  const urls = await assets();
  expect(urls.map((url) => url.split("/").at(-1))).toEqual(["swagger-ui.css", "swagger-ui-bundle.js"]);
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
    expect(bytes.length).toBeGreaterThan(100_000);
  }
});

test("other files of the package are not served", async () => {
  const [css = ""] = await assets();
  for (const name of ["package.json", "../package.json", "swagger-ui.css.map", "index.html"]) {
    expect((await app.request(css.replace("swagger-ui.css", name))).status).toBe(404);
  }
});
