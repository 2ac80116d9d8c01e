import { ICalAlarmType, ICalCalendar } from "ical-generator";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { isNormalizedName } from "../../ens/normalization.ts";
import { closedQuery } from "../names/contract.ts";
import {
  binder,
  byNumber,
  choice,
  inNamespace,
  type LookupContext,
  listSql,
  namespaceParameter,
  notFoundAnswer,
  ofLookup,
  textParameter,
} from "../names/lists.ts";
import { readList } from "../names/lookups.ts";
import { namesHeldBy } from "../names/names.ts";
import { isCustodian, type Place, placeOfRow, timesOf } from "../names/places.ts";
import { listRow, type Row } from "../names/rows.ts";
import { endpoint } from "../rest/endpoint.ts";
import { anyCaseAddress } from "../rest/values.ts";

const mostNames = 500;
const mostAlarms = 5;
// The last second that programs with four digits of a year know.
const lastDate = 253_402_300_799;
const day = 86_400;
const shownCharacters = 100;

const alarms = textParameter("alarms", 40)
  .regex(/^\d{1,3}(,\d{1,3})*$/, { error: "alarms must be numbers of days with commas between" })
  .transform((text) => text.split(",").map(Number))
  .refine((days) => days.length <= mostAlarms && days.every((one) => one >= 1 && one <= 365), {
    error: `alarms must be at most ${mostAlarms} numbers from 1 to 365`,
  })
  .default([30, 7, 1])
  .meta({ description: "Days before each deadline; default `30,7,1`" });

/** GET /v1/addresses/{address}/calendar.ics. */
export const addressCalendar = endpoint({
  ...ofLookup,
  path: "/v1/addresses/{address}/calendar.ics",
  summary: "Deadlines of an address's names, for calendar programs",
  description: `Expiry and end of grace of each name that it owns, with alarms (RFC 5545): of ${mostNames} names, leases before others, of each those that end first. The calendar's description says where names are left out. Names that have ended are left out, and names that never end.`,
  hasTags: true,
  params: z.object({ address: anyCaseAddress("address") }),
  query: closedQuery({
    namespace: namespaceParameter,
    relation: choice("relation", ["owner", "manager"]).default("owner"),
    alarms,
  }),
  answers: {
    200: { description: "The calendar", schema: z.string(), type: "text/calendar; charset=utf-8" },
    404: notFoundAnswer,
  },
  handle:
    ({ lookup }: LookupContext) =>
    async ({ params: { address }, query: { namespace, relation, alarms }, current, request }) => {
      const statement = binder(timesOf(lookup.places, current));
      const holder = statement.bind(address);
      const sql = listSql(lookup.places, {
        branches: namesHeldBy(lookup.places, holder).map((found) => ({
          ...found,
          where: `${found.where}${isCustodian(lookup.places, address) ? " AND false" : ""}`,
          // Anybody can give the address names that cost nothing and end soon: these come last.
          order: [
            { sql: "CASE WHEN names.is_lease THEN 0 ELSE 1 END", type: "int", isDerived: true },
            ...byNumber("names.expires"),
          ],
        })),
        filters: [
          `names.${relation} = ${holder}`,
          "names.status IN ('active', 'expired')",
          `names.expires BETWEEN 1 AND ${lastDate}`,
          // A wrapper entry's date has no effect unless its parent gave up control.
          "(names.is_lease OR names.is_emancipated)",
          ...inNamespace(lookup, namespace),
        ],
        after: undefined,
        isDescending: false,
        limit: mostNames + 1,
      });
      const found = await readList(lookup, { sql, values: statement.values }, request.raw.signal);
      const rows = found.map(({ row }) => ({
        row: listRow(lookup.places, row),
        place: placeOfRow(lookup.places, row),
        parent: row.parent,
      }));
      return { status: 200, text: calendarOf(address, rows, alarms), isCached: true };
    },
});

type Deadline = { row: Row; place: Place; parent: Hex | null };

// One name more than it shows says that there are more.
function calendarOf(address: string, deadlines: readonly Deadline[], alarms: readonly number[]): string {
  const calendar = new ICalCalendar({
    name: `Names of ${address.slice(0, 6)}…${address.slice(-4)}`,
    prodId: "//nsindex//names//EN",
    ttl: day,
    ...(deadlines.length > mostNames
      ? {
          description: `Shows ${mostNames} names. Others are left out: /v1/addresses/${address}/names?sort=expires_at lists all.`,
        }
      : {}),
  });
  const byDate = ({ row: a }: Deadline, { row: b }: Deadline) =>
    Number(a.expires_at) - Number(b.expires_at) || (a.name < b.name ? -1 : 1);
  for (const { row, place, parent } of deadlines.slice(0, mostNames).sort(byDate)) {
    const { expires_at: expires, grace_ends_at: graceEnds } = row;
    if (!expires) continue;
    const name = safeName(row);
    // A registrar leases names below its own; other names are their parents' to give.
    const isFree = place.leases === undefined || place.leases === parent;
    const about = { name, place, row, isFree };
    if (!row.in_grace) add("expires", Number(expires), `${name} expires`, about);
    if (graceEnds && graceEnds !== expires && Number(graceEnds) <= lastDate)
      add("grace-ends", Number(graceEnds), `Grace period of ${name} ends`, about);
  }
  return calendar.toString();

  function add(
    kind: "expires" | "grace-ends",
    time: number,
    summary: string,
    { name, place, row, isFree }: { name: string; place: Place; row: Row; isFree: boolean },
  ) {
    const grace = Number(row.grace_ends_at) - Number(row.expires_at);
    const then =
      kind === "grace-ends" || grace === 0
        ? isFree
          ? `Afterwards anybody can register ${name}.`
          : `Afterwards ${name} has no owner, and the owner of its parent can give it to somebody else.`
        : `It can still be renewed for ${grace / day} days, in which nobody else can register it.`;
    const event = calendar.createEvent({
      // The same after a renewal, which moves the event.
      id: `${place.chainId}-${row.namehash}-${kind}`,
      // Not the present, so that a calendar that has not changed is the same text.
      stamp: new Date(Number(row.registered_at ?? row.created_at) * 1_000),
      start: new Date(time * 1_000),
      summary,
      description: `${then} Network: ${place.network}.`,
    });
    for (const days of alarms)
      event.createAlarm({ type: ICalAlarmType.display, trigger: days * day, description: summary });
  }
}

const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

// A name that nobody can have typed may hold line breaks, controls and any number of characters.
function safeName({ name, display_name }: Row): string {
  const safe = isNormalizedName(name) ? display_name : name.replace(controls, "\ufffd");
  const characters = [...safe];
  return characters.length > shownCharacters ? `${characters.slice(0, shownCharacters).join("")}…` : safe;
}
