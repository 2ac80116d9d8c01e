import { checksum } from "../api/ensnode/checksum.ts";
import { config } from "../api/ensnode/config.ts";
import { indexingStatus, realtime } from "../api/ensnode/indexing-status.ts";
import { nameSales, nameTokens } from "../api/ensnode/name-tokens.ts";
import { permissions } from "../api/ensnode/permissions.ts";
import { registrarActions } from "../api/ensnode/registrar-actions.ts";
import { resolvedPrimaryName, resolvedPrimaryNames, resolvedRecords } from "../api/ensnode/resolve.ts";
import type { ContextOf, Endpoint } from "../api/kit/endpoint.ts";
import { nameAccounts } from "../api/v1/accounts.ts";
import { addressNames } from "../api/v1/addresses.ts";
import { addressCalendar } from "../api/v1/calendar.ts";
import { eventStream } from "../api/v1/events-stream.ts";
import { addressHistory, blockHistory, events, nameHistory } from "../api/v1/history.ts";
import { lookup } from "../api/v1/lookup.ts";
import { deadlineNames, nameDetail, nameRecords, search, subnames } from "../api/v1/names.ts";
import { overviews } from "../api/v1/overviews.ts";
import { lookupPermissions } from "../api/v1/permissions.ts";
import { addressPrimaryName } from "../api/v1/primary-name.ts";
import { referrer, referrers } from "../api/v1/referrers.ts";
import { stats } from "../api/v1/stats.ts";
import { lookupNamespace, lookupStatus } from "../api/v1/status.ts";

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
  nameAccounts,
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

/** Every REST endpoint that the app serves, in the order of the OpenAPI document and `/docs`. */
export const endpoints: readonly Endpoint<ApiContext>[] = list;
