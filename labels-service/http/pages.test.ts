import { afterAll, beforeAll, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import { startServer } from "../../test/support/labels/running-server.ts";

const ethHash = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const accept = "text/html,application/xhtml+xml,*/*;q=0.8";

let server: Awaited<ReturnType<typeof startServer>>;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const page = async (path: string) => {
  const response = await fetch(server.base + path, { headers: { accept } });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

test("says that it waits for a database, and answers no heals meanwhile", async () => {
  const { status, text } = await page(`/?labelhash=${ethHash}`);
  expect(status).toBe(200);
  expect(text).toContain("Waiting for a label database");
  expect(text).toContain("There is no label database yet.");
  await server.database.reload({ isForced: true });
});

test("shows browsers set, versions and count; other clients find nothing there", async () => {
  const { text, headers } = await page("/");
  expect(headers.get("content-type")).toBe("text/html; charset=UTF-8");
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; style-src 'self'",
  );
  for (const [term, value] of [
    ["Label set", "ens-test-env"],
    ["Versions", "0 to 1"],
    ["Labels that version 0 added", "11"],
    ["Labels that version 1 added", "1"],
    ["Labels, all versions together", "12"],
  ]) {
    expect(text).toContain(`<dt>${term}</dt><dd>${value}</dd>`);
  }
  expect(await server.ask("/")).toEqual({
    status: 404,
    type: "text/plain; charset=UTF-8",
    body: "404 Not Found",
  });
});

test.each([
  ["a labelhash", ethHash, "<bdi>eth</bdi>"],
  ["one without prefix, in capitals", ethHash.slice(2).toUpperCase(), "<bdi>eth</bdi>"],
  ["an unknown one", labelhash("unknown"), "No label of this set has the labelhash"],
  ["no labelhash", "<script>alert(1)</script>", "This is not a labelhash"],
  ["quotes", labelhash('"quoted"'), "<bdi>&quot;quoted&quot;</bdi>"],
  ["controls", labelhash("\u007f\u0085\u202e"), "<bdi>\\u007f\\u0085\\u202e</bdi>"],
  ["a long label", labelhash("x".repeat(120_000)), "and 119,000 more characters"],
])("heals %s in its box", async (_, labelhash, expected) => {
  const { status, text } = await page(`/?labelhash=${encodeURIComponent(labelhash)}`);
  expect(status).toBe(200);
  expect(text).toContain(expected);
  expect(text).not.toMatch(/<script>alert|[\u007f\u0085\u202e]/);
  expect(text.length).toBeLessThan(10_000);
});

test("/docs and / load files of the service only, and each is there", async () => {
  for (const path of ["/docs", "/"]) {
    const { text, status } = await page(path);
    expect(status).toBe(200);
    const urls = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, url]) => url ?? "");
    expect(urls.length).toBe(path === "/" ? 2 : 3);
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//i);
    for (const url of urls) {
      const { status, headers } = await page(url);
      expect([url, status]).toEqual([url, 200]);
      expect(headers.get("content-type")).toMatch(url.endsWith(".css") ? /^text\/css/ : /^text\/javascript/);
    }
  }
});

test.each(["package.json", "../package.json", "constructor", "page.js", ""])(
  "other files are not served: %s",
  async (name) => {
    const [, css = ""] = /href="(\/assets\/[^"]+)"/.exec((await page("/")).text) ?? [];
    expect((await page(css.replace("frame.css", name))).status).toBe(404);
  },
);
