import type { Hex } from "viem";
import { reminderSpan } from "../../config/webhooks-file.ts";
import { premiumPeriod } from "../../ens/registrations.ts";
import { listSql } from "../names/lists.ts";
import { listRow } from "../names/rows.ts";
import { inNamespace } from "../names/scopes.ts";
import { binder, type NamesSource } from "../names/source.ts";
import type { Listed } from "../names/stored-name.ts";
import type { Database } from "../sql/client.ts";
import { planOnce } from "../sql/prepared.ts";
import { deadlineBranches } from "./deadlines.ts";

/**
 * A place between two reminders: Unix seconds, and the name (its first 256 characters) and node of the one before it;
 * empty texts are before all.
 */
export type ReminderPlace = readonly [moment: string, name: string, node: string];

/**
 * What reminders read from. `times`: of the last indexed block of each namespace, in Unix seconds; empty if unknown.
 */
type RemindersSource = Pick<NamesSource, "namespaces"> & {
  database: Database;
  times: () => readonly number[];
};

/** Which reminders, by their words: all, or of a node, of direct subnames, of an address's names, of a namespace. */
type RemindersQuery = Partial<
  Record<"address" | "namespace" | "node", string | undefined> & Record<"parent", Hex | undefined>
> & {
  reminders: readonly string[];
  limit: number;
};

// How far chain time advances before it is looked for what is due, up to how much of it one reading covers, and what is
// late.
const [everySeconds, maxSeconds, lateSeconds] = [60, 86_400, 3_600];

/**
 * The first reminders behind a place that are due by chain time, that of the namespace furthest behind; each with the
 * place behind it. `place`: where to go on. Without `after` none, and where a new reader begins. Undefined until chain
 * time has advanced by a minute.
 */
export async function readReminders(
  { database, namespaces, times: readTimes }: RemindersSource,
  after: ReminderPlace | undefined,
  { reminders, node, parent, address, namespace: asked, limit }: RemindersQuery,
  signal: AbortSignal,
) {
  const times = readTimes();
  const homes = namespaces.filter(({ namespace }) => (asked ?? namespace) === namespace);
  const now = Math.min(...homes.map((home) => times[namespaces.indexOf(home)] ?? Number.NaN));
  if (!Number.isFinite(now)) return undefined;
  if (after === undefined) return { reminders: [], place: buildFirstPlace(now + 1) };
  const [start, ...name] = after;
  // A reorganization takes chain time back, but no place.
  if (now < Number(start) + (name[0] === "" ? everySeconds : 0)) return undefined;
  const end = Math.min(now + 1, Number(start) + maxSeconds);

  async function dueOf(namespace: string, reminder: string) {
    const isPremium = reminder === "premium_ends";
    if (isPremium && namespace !== namespaces[0]?.namespace) return [];
    const span = reminderSpan(reminder) ?? (isPremium ? -premiumPeriod : 0);
    const window = { from: Number(start) + span, to: end + span };
    const isGrace = isPremium || reminder === "grace_ends";
    const of = { namespace, isGrace, window, isDescending: false, only: { node, parent, holder: address } };
    const { bind, values } = binder(times);
    const holder = address && `${bind(address)} IN (names.owner, names.manager, names.last_holder)`;
    const hasGrace = (isPremium || reminder === "grace_begins") && "names.grace_ends > names.expires";
    const sql = listSql(namespaces, {
      branches: deadlineBranches(namespaces, { bind }, of),
      filters: [...inNamespace({ namespaces }, namespace), holder, hasGrace].filter(
        (one) => typeof one === "string",
      ),
      after: [window.from, ...name].map(bind),
      isDescending: false,
      limit,
    });
    const [text] = await database.row(planOnce(sql), values, signal);
    return (JSON.parse(text ?? "[]") as Listed[]).map(({ row, after: [deadline, name = "", node = ""] }) => {
      const moment = Number(deadline) - span;
      const data = { reminder, due_at: String(moment), late: now - moment > lateSeconds };
      const place: ReminderPlace = [data.due_at, name, node];
      return { place, data: { ...data, ...listRow(namespaces, row) } };
    });
  }

  const found = [];
  for (const namespace of new Set(homes.map((home) => home.namespace)))
    for (const reminder of reminders) found.push(...(await dueOf(namespace, reminder)));
  const first = found.sort((a, b) => compareReminders(a.place, b.place)).slice(0, limit);
  const cut = found.length < limit ? undefined : first.at(-1)?.place;
  return { reminders: first, place: cut ?? buildFirstPlace(end) };
}

const buildFirstPlace = (moment: number): ReminderPlace => [String(moment), "", ""];

// As the database orders: times, then bytes.
const compareReminders = ([a, ...one]: ReminderPlace, [b, ...other]: ReminderPlace) =>
  Number(a) - Number(b) || Buffer.compare(Buffer.from(one.join("\0")), Buffer.from(other.join("\0")));
