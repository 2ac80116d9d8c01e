import { ICalAlarmType, ICalCalendar } from "ical-generator";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { isNormalizedName } from "../../ens/normalization.ts";
import { anyCaseAddress, choice, closedQuery, textParameter } from "../../ens/parameters.ts";
import { addKeys, keysOfAddress } from "../../read/names/cache-keys.ts";
import { homeOfRow, type IndexedNamespace, isCustodian } from "../../read/names/indexed-namespaces.ts";
import { byNumber, listSql } from "../../read/names/lists.ts";
import { listRow, type NameRow } from "../../read/names/rows.ts";
import { inNamespace, namespaceParameter } from "../../read/names/scopes.ts";
import { type LookupContext, openStatement } from "../../read/names/source.ts";
import { type Listed, namesHeldBy } from "../../read/names/stored-name.ts";
import { endpoint } from "../kit/endpoint.ts";
import { notFoundAnswer, ofLookup } from "./lists.ts";

// The deadlines of an address's names for calendar apps.

const maxNames = 500;
const maxAlarms = 5;
// The last second of the year 9999.
const lastDate = 253_402_300_799;
const day = 86_400;
const shownCharacters = 100;

const alarms = textParameter("alarms", 40)
  .regex(/^\d{1,3}(,\d{1,3})*$/, { error: "alarms must be numbers of days with commas between" })
  .transform((text) => text.split(",").map(Number))
  .refine((days) => days.length <= maxAlarms && days.every((one) => one >= 1 && one <= 365), {
    error: `alarms must be at most ${maxAlarms} numbers from 1 to 365`,
  })
  .default([30, 7, 1])
  .describe("Days before each deadline; default `30,7,1`");

/** GET /v1/addresses/{address}/calendar.ics. */
export const addressCalendar = endpoint({
  ...ofLookup,
  path: "/v1/addresses/{address}/calendar.ics",
  summary: "Deadlines of an address's names, for calendar apps",
  description: `Expiry and end of grace of each name that it owns, with alarms (RFC 5545): of ${maxNames} names, registrations before others, each by their end. The calendar's description says if names are left out. Names that have ended or never end are omitted.`,
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
  handle: async (call, { lookup }: LookupContext) => {
    const { address } = call.params;
    const { namespace, relation, alarms } = call.query;
    addKeys(call, ...keysOfAddress(lookup.namespaces, address));
    const statement = openStatement(lookup, call);
    const holder = statement.bind(address);
    const sql = listSql(lookup.namespaces, {
      branches: namesHeldBy(lookup.namespaces, holder).map((found) => ({
        ...found,
        where: `${found.where}${isCustodian(lookup.namespaces, address) ? " AND false" : ""}`,
        // Anybody can give the address free names that end soon, so leases come first.
        order: [
          { sql: "CASE WHEN names.is_lease THEN 0 ELSE 1 END", type: "int", isDerived: true },
          ...byNumber("names.expires"),
        ],
      })),
      filters: [
        `names.${relation} = ${holder}`,
        "names.status IN ('active', 'expired')",
        `names.expires BETWEEN 1 AND ${lastDate}`,
        // A wrapper entry's expiry has no effect unless its parent gave up control.
        "(names.is_lease OR names.is_emancipated)",
        ...inNamespace(lookup, namespace),
      ],
      after: undefined,
      isDescending: false,
      limit: maxNames + 1,
    });
    const found = await statement.rows<Listed>(sql);
    const rows = found.map(({ row }) => ({
      row: listRow(lookup.namespaces, row),
      home: homeOfRow(lookup.namespaces, row),
      parent: row.parent,
    }));
    return { status: 200, text: writeCalendar(address, rows, alarms) };
  },
});

type Deadline = { row: NameRow; home: IndexedNamespace; parent: Hex | undefined };

// Receives one name more than it shows if there are more.
function writeCalendar(address: string, deadlines: readonly Deadline[], alarms: readonly number[]): string {
  const calendar = new ICalCalendar({
    name: `Names of ${address.slice(0, 6)}…${address.slice(-4)}`,
    prodId: "//nsindex//names//EN",
    ttl: day,
    ...(deadlines.length > maxNames
      ? {
          description: `Shows ${maxNames} names. Others are left out: /v1/addresses/${address}/names?sort=expires_at lists all.`,
        }
      : {}),
  });
  const byDate = ({ row: a }: Deadline, { row: b }: Deadline) =>
    Number(a.expires_at) - Number(b.expires_at) || (a.name < b.name ? -1 : 1);
  for (const { row, home, parent } of deadlines.slice(0, maxNames).sort(byDate)) {
    const { expires_at: expires, grace_ends_at: graceEnds } = row;
    if (!expires) continue;
    const name = formatSafeName(row);
    const grace = Number(graceEnds) - Number(expires);
    // Anybody can register names below a registrar's own; any other name is its parent's to give.
    const afterwards =
      home.leases === undefined || home.leases === parent
        ? `Afterwards anybody can register ${name}.`
        : `Afterwards ${name} has no owner, and the owner of its parent can give it to somebody else.`;
    const renewable = `It can still be renewed for ${grace / day} days, in which nobody else can register it.`;
    if (!row.in_grace) add("expires", expires, `${name} expires`, grace === 0 ? afterwards : renewable);
    if (graceEnds && grace !== 0 && Number(graceEnds) <= lastDate)
      add("grace-ends", graceEnds, `Grace period of ${name} ends`, afterwards);

    function add(kind: string, time: string, summary: string, then: string) {
      const event = calendar.createEvent({
        // Stable, so that a renewal moves the event.
        id: `${home.chainId}-${row.namehash}-${kind}`,
        // The current time would change an otherwise unchanged calendar.
        stamp: new Date(Number(row.registered_at ?? row.created_at) * 1_000),
        start: new Date(Number(time) * 1_000),
        summary,
        description: `${then} Network: ${home.network}.`,
      });
      for (const days of alarms)
        event.createAlarm({ type: ICalAlarmType.display, trigger: days * day, description: summary });
    }
  }
  return calendar.toString();
}

const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

// A name that is not normalized may contain line breaks, control characters and any number of characters.
function formatSafeName({ name, display_name }: NameRow): string {
  const safe = isNormalizedName(name) ? display_name : name.replace(controls, "\ufffd");
  const characters = [...safe];
  return characters.length > shownCharacters ? `${characters.slice(0, shownCharacters).join("")}…` : safe;
}
