import { describe, expect, test } from "vitest";
import { endpoints, openApiRoutes } from "./openapi.ts";

const app = openApiRoutes("1.2.3");

type Operation = {
  operationId: string;
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  responses: Record<string, object>;
};
type Document = { openapi: string; info: { version: string }; paths: Record<string, { get: Operation }> };

async function document(): Promise<Document> {
  return (await (await app.request("/openapi.json")).json()) as Document;
}

test("the document is frozen", async () => {
  await expect(JSON.stringify(await document(), null, 2)).toMatchFileSnapshot(
    "../../../test/fixtures/openapi.json",
  );
});

test("tells every REST endpoint once", async () => {
  const { openapi, info, paths } = await document();
  expect([openapi, info.version]).toEqual(["3.1.0", "1.2.3"]);
  expect(Object.keys(paths)).toEqual([
    "/api/config",
    "/api/indexing-status",
    "/amirealtime",
    "/api/realtime",
    "/api/registrar-actions",
    "/api/registrar-actions/{parentNode}",
    "/api/name-tokens",
    "/api/name-sales",
    "/api/resolve/records/{name}",
    "/api/resolve/primary-name/{address}/{chainId}",
    "/api/resolve/primary-names/{address}",
  ]);
  const ids = Object.values(paths).map(({ get }) => get.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test("tells every part of a path as a required parameter", async () => {
  for (const [path, { get }] of Object.entries((await document()).paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(get.parameters.filter((p) => p.in === "path").map(({ name }) => name)).toEqual(inPath);
    expect(get.parameters.filter(({ required }) => required).map(({ name }) => name)).toEqual(inPath);
  }
});

test("tells the bounds that requests are read with", async () => {
  const { paths } = await document();
  const parameter = (path: string, name: string) =>
    paths[path]?.get.parameters.find((candidate) => candidate.name === name)?.schema;
  expect(parameter("/api/name-tokens", "domainId")).toEqual({
    type: "string",
    pattern: "^0x[0-9a-fA-F]{64}$",
  });
  expect(parameter("/api/resolve/records/{name}", "accelerate")).toEqual({
    type: "string",
    enum: ["true", "false"],
  });
});

describe("/docs", () => {
  test("is a page that needs nothing but itself, and shows every endpoint", async () => {
    const response = await app.request("/docs");
    const page = await response.text();
    expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8");
    for (const { path } of endpoints) expect(page).toContain(`GET ${path}`);
    expect(page).not.toMatch(/<(script|link|img|iframe)|@import|url\(/i);
    expect(page).not.toMatch(/(src|href)="(https?:)?\/\//i);
  });
});
