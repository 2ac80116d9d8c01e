import type { Endpoint } from "../rest/endpoint.ts";
import { config } from "./config.ts";
import { indexingStatus, realtime } from "./indexing-status.ts";
import { nameSales } from "./name-sales.ts";
import { nameTokens } from "./name-tokens.ts";
import { permissions } from "./permissions.ts";
import { registrarActions } from "./registrar-actions.ts";
import { resolvedPrimaryName, resolvedPrimaryNames, resolvedRecords } from "./resolve.ts";

const list = [
  config,
  indexingStatus,
  ...realtime,
  ...registrarActions,
  nameTokens,
  nameSales,
  permissions,
  resolvedRecords,
  resolvedPrimaryName,
  resolvedPrimaryNames,
];

/** What the endpoints respond from, all together. */
export type ApiContext = ContextOf<(typeof list)[number]>;

type ContextOf<E> = (E extends Endpoint<infer C> ? (context: C) => void : never) extends (
  context: infer All,
) => void
  ? All
  : never;

/** Every REST endpoint: what the app serves, and what OpenAPI and `/docs` show, in this order. */
export const endpoints: readonly Endpoint<ApiContext>[] = list;
