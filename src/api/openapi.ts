import { Hono } from "hono";
import { realtimeDocs } from "./amirealtime.ts";
import { configDocs } from "./config-docs.ts";
import { docsPage } from "./docs-page.ts";
import type { EndpointDocs } from "./endpoint.ts";
import { indexingStatusDocs } from "./indexing-status-docs.ts";
import { nameSalesDocs } from "./name-sales.ts";
import { nameTokensDocs } from "./name-tokens.ts";
import { openApiDocument } from "./openapi-document.ts";
import { registrarActionsDocs } from "./registrar-actions-docs.ts";
import { resolveDocs } from "./resolve.ts";

/** Every REST endpoint, in the order in which the document tells them. */
export const endpoints: EndpointDocs[] = [
  configDocs,
  indexingStatusDocs,
  ...realtimeDocs,
  ...registrarActionsDocs,
  nameTokensDocs,
  nameSalesDocs,
  ...resolveDocs,
];

/** GET /openapi.json: the API's document for programs; GET /docs: the same for people. */
export function openApiRoutes(version: string): Hono {
  const document = openApiDocument({ version, endpoints });
  const page = docsPage(document);
  return new Hono().get("/openapi.json", (c) => c.json(document)).get("/docs", (c) => c.html(page));
}
