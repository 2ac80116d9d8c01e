import { Hono } from "hono";
import {
  createAssets,
  docsFiles,
  docsPage,
  docsPolicy,
  type Files,
  type Surround,
} from "../../http/assets.ts";
import { type Operation, openApiDocument, type ResponseDocs } from "../../http/openapi.ts";
import type { Endpoint } from "./endpoint.ts";
import { createSender } from "./send.ts";

/** The OpenAPI 3.1 document of the endpoints. */
export const buildDocument = (version: string, endpoints: readonly Endpoint<never>[]) => ({
  ...openApiDocument({
    title: "nsindex",
    version,
    description:
      "REST endpoints of the index. Names, owners and records as entities are served over GraphQL at `/subgraph`. A service with API keys " +
      "rejects requests with the path's usual error format: 401 without a key, 403 for a path that the key does not allow, and 429 beyond its " +
      "budget, with `Retry-After`.",
    operations: endpoints.map(buildOperation),
    schemas: {
      // The bounds of safe integers carry no information.
      override: ({ jsonSchema }) => {
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      },
    },
  }),
  components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
  security: [{}, { key: [] }],
});

function buildOperation(endpoint: Endpoint<never>): Operation {
  const { method, path, answers, isCached } = endpoint;
  const words = path.replaceAll(/[{}]/g, "").split(/[/-]/).filter(Boolean);
  const documented: Record<string, ResponseDocs> = {};
  if (isCached) documented[304] = { description: "Not modified since the `If-None-Match` of the request" };
  for (const [status, { description, schema, type }] of Object.entries(answers))
    documented[status] = { description, content: { [type ?? "application/json"]: schema } };
  return {
    ...endpoint,
    operationId: [method, ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join(""),
    answers: documented,
  };
}

/** Serves files by URL path. Clients cache them, so a file that changes needs a new path. */
export function addAssets(app: Hono, files: Files): void {
  const assetOf = createAssets(files);
  const send = createSender();
  for (const path of Object.keys(files))
    app.get(path, async (c) => {
      const asset = await assetOf(path);
      if (asset === undefined) return c.notFound();
      const headers = { ...asset.headers, "content-length": `${asset.body.length}` };
      return send(c, [asset.body], { headers, isPacked: false, isShared: true });
    });
}

/** GET /openapi.json: the OpenAPI document; GET /docs: Swagger UI for it, with its files. */
export function docsRoutes(
  document: { info: { title: string; version: string } },
  surround?: Surround,
): Hono {
  const { title, version } = document.info;
  const prefix = `/docs/${version}/`;
  const page = docsPage(title, prefix, surround);
  const app = new Hono()
    .get("/openapi.json", (c) => c.json(document))
    .get("/docs", (c) => c.html(page, 200, { "content-security-policy": docsPolicy }));
  addAssets(app, docsFiles(prefix));
  return app;
}
