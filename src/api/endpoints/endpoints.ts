import type { Endpoint } from "../rest/endpoint.ts";
import { checksum } from "./checksum.ts";
import { config } from "./config.ts";
import { indexingStatus, realtime } from "./indexing-status.ts";
import { nameSales, nameTokens } from "./name-tokens.ts";
import { permissions } from "./permissions.ts";
import { registrarActions } from "./registrar-actions.ts";
import { resolvedPrimaryName, resolvedPrimaryNames, resolvedRecords } from "./resolve.ts";
import { addressCalendar, addressNames, addressPrimaryName } from "./v1-addresses.ts";
import { eventStream } from "./v1-events-stream.ts";
import { addressHistory, blockHistory, events, nameHistory } from "./v1-history.ts";
import { lookup } from "./v1-lookup.ts";
import { deadlineNames, nameDetail, nameRecords, search, subnames } from "./v1-names.ts";
import { overviews } from "./v1-overviews.ts";
import { lookupPermissions } from "./v1-permissions.ts";
import { referrer, referrers } from "./v1-referrers.ts";
import { stats } from "./v1-stats.ts";
import { lookupNamespace, lookupStatus } from "./v1-status.ts";

const list = [
  config,
  indexingStatus,
  ...realtime,
  checksum,
  ...registrarActions,
  nameTokens,
  nameSales,
  permissions,
  resolvedRecords,
  resolvedPrimaryName,
  resolvedPrimaryNames,
  lookup,
  nameDetail,
  nameRecords,
  subnames,
  nameHistory,
  addressNames,
  addressPrimaryName,
  addressHistory,
  addressCalendar,
  events,
  blockHistory,
  eventStream,
  lookupPermissions,
  deadlineNames,
  search,
  ...overviews,
  referrers,
  referrer,
  ...stats,
  lookupStatus,
  lookupNamespace,
];

/** The context of all endpoints together. */
export type ApiContext = ContextOf<(typeof list)[number]>;

type ContextOf<E> = (E extends Endpoint<infer C> ? (context: C) => void : never) extends (
  context: infer All,
) => void
  ? All
  : never;

/** Every REST endpoint that the app serves, in the order of the OpenAPI document and `/docs`. */
export const endpoints: readonly Endpoint<ApiContext>[] = list;
