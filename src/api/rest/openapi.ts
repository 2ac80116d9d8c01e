import { Hono } from "hono";
import { realtimeDocs } from "../endpoints/amirealtime.ts";
import { configDocs } from "../endpoints/config-docs.ts";
import { indexingStatusDocs } from "../endpoints/indexing-status-docs.ts";
import { nameSalesDocs } from "../endpoints/name-sales.ts";
import { nameTokensDocs } from "../endpoints/name-tokens.ts";
import { registrarActionsDocs } from "../endpoints/registrar-actions-docs.ts";
import { resolveDocs } from "../endpoints/resolve.ts";
import { docsPage } from "./docs-page.ts";
import type { EndpointDocs } from "./endpoint.ts";
import { openApiDocument } from "./openapi-document.ts";

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
