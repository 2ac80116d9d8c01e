import { html } from "hono/html";
import type { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import type { EntryFacts, entrySchema } from "../../read/events/entries.ts";
import { fusesIn } from "../../read/names/rows.ts";
import type { registrarActions } from "../ensnode/registrar-actions.ts";
import type { BodyOf } from "../kit/endpoint.ts";
import {
  contract,
  day,
  linkAccount,
  moment,
  nameLink,
  place,
  price,
  shown,
  type View,
} from "./components.ts";
import type { Html } from "./frame.ts";
import { recordLabel, recordValue } from "./records.ts";
import { coinName, leaseLength, titleOfChain } from "./words.ts";

type At = { chain_id: number; address: string };

/** An entry of a history as `/v1` has it. */
export type Entry = z.output<typeof entrySchema>;

/** A registration or renewal as `/api/registrar-actions` has it. */
type Action = BodyOf<(typeof registrarActions)[0]>["registrarActions"][number];

/** What happened, for a page; actions complete the entries. `isWhole`: whether no older entries are left out. */
export type Activity = {
  entries: readonly Entry[];
  actions: readonly Action[];
  isWhole: boolean;
};

type ToldEntry = { view: View; entry: Entry; former: Entry["data"]; action: Action["action"] | undefined };

const paid = (action: Action["action"] | undefined, { cost, payment_token }: EntryFacts): Html => {
  const total =
    action?.pricing.total ??
    (cost === undefined || payment_token ? undefined : { amount: cost, currency: "ETH" });
  return total ? html` for ${price(total.amount, total.currency)}` : html``;
};

const until = ({ expires_at }: EntryFacts) => (expires_at ? html`, until ${day(expires_at)}` : html``);
const by = (view: View, address: string | undefined) =>
  address ? html` by ${linkAccount(view, address)}` : html``;
const to = (view: View, address: string | undefined) =>
  address ? html` to ${linkAccount(view, address)}` : html``;

// What had one value and now has another; either may be none.
function change(what: Html | string, before: Html | undefined, now: Html | undefined): Html {
  if (before !== undefined && String(before) === String(now)) return html`${what} set to ${now} again`;
  if (now === undefined)
    return before === undefined ? html`${what} cleared` : html`${what} cleared, was ${before}`;
  return before === undefined ? html`${what} set to ${now}` : html`${what} changed from ${before} to ${now}`;
}

const located = (view: View, at: At | undefined) => at && contract(view, at.chain_id, at.address);

const power = (word: string) => word.replace(/^admin_/, "grant ").replaceAll("_", " ");

function fusesSet(now: number, before: number): Html {
  const all = fusesIn(now);
  const had = fusesIn(before);
  const fresh = all.filter((one) => !had.includes(one));
  return html`Fuses burned: ${(fresh.length > 0 ? fresh : all).map(power).join(", ") || "none"}`;
}

function permission({ view, entry: { kind }, former, data }: ToldEntry & { data: EntryFacts }): Html {
  if (kind === "FusesSet") return fusesSet(data.fuses ?? 0, former?.fuses ?? 0);
  if (kind === "AuthorisationChanged") return html`Record permissions changed`;
  const { added_powers: added = [], removed_powers: removed = [] } = data;
  const gained = added.length > 0 ? html` received the roles ${added.map(power).join(", ")}` : "";
  const lost =
    removed.length > 0 ? html`${added.length > 0 ? ";" : ""} lost ${removed.map(power).join(", ")}` : "";
  const none = added.length + removed.length === 0 ? " received no other roles" : "";
  return html`${data.address ? linkAccount(view, data.address) : "Somebody"}${gained}${lost}${none}`;
}

function record({ view, former, data }: ToldEntry & { data: EntryFacts }): Html {
  if (data.action === "record_version_changed") return html`All records cleared`;
  const { key, value } = data;
  if (key === undefined) return html`A record changed`;
  const label = shown(recordLabel(key));
  // Events of older resolvers do not tell the value.
  if (value === undefined) return html`${label} changed`;
  const of = (text: string | undefined) =>
    text === undefined ? undefined : recordValue(view, key, text, 100);
  return change(label, of(former?.key === key ? former.value : undefined), of(value));
}

const onChain = (coin: number | undefined) =>
  coin === undefined || coin === 60 ? "" : ` on ${coinName(String(coin)).replace("Any", "any")}`;

const sentences: { readonly [Type in Entry["type"]]: (told: ToldEntry & { data: EntryFacts }) => Html } = {
  registration: ({ view, action, data }) => {
    const length = action ? ` for ${leaseLength(action.incrementalDuration)}` : "";
    const premium =
      action?.pricing.premium && action.pricing.premium.amount !== "0" ? ", with a premium" : "";
    return html`Registered${to(view, data.registrant)}${length}${paid(action, data)}${premium}${until(data)}`;
  },
  renewal: ({ view, action, former, data, entry }) => {
    const before = former?.expires_at;
    const added =
      action?.incrementalDuration ??
      (before && data.expires_at ? Number(data.expires_at) - Number(before) : 0);
    const length = added > 0 && entry.type === "renewal" ? ` for ${leaseLength(added)}` : "";
    return html`Renewed${length}${by(view, action?.registrant)}${paid(action, data)}${until(data)}`;
  },
  release: () => html`Released: nobody renewed it in its grace period`,
  expiry: ({ data }) => html`Expiry in the name wrapper changed${until(data)}`,
  transfer: ({ view, data }) => {
    if (data.from === zeroAddress)
      return html`Token minted${data.to ? html` for ${linkAccount(view, data.to)}` : ""}`;
    if (data.to === zeroAddress) return html`Token burned`;
    return html`Token transferred${data.from ? html` from ${linkAccount(view, data.from)}` : ""}${to(view, data.to)}`;
  },
  authority: ({ view, former, data }) => {
    if (data.action === "name_wrapped")
      return html`Wrapped${data.owner ? html` for ${linkAccount(view, data.owner)}` : ""}`;
    if (data.action === "name_unwrapped") return html`Unwrapped${to(view, data.owner)}`;
    const was = former?.action === data.action && former?.owner ? linkAccount(view, former.owner) : undefined;
    return change("Owner in the registry", was, data.owner ? linkAccount(view, data.owner) : undefined);
  },
  resolver: ({ view, former, data }) =>
    change("Resolver", located(view, former?.resolver), located(view, data.resolver)),
  record,
  primary_name: ({ view, data }) => {
    const whose = html`Primary name${data.address ? html` of ${linkAccount(view, data.address)}` : ""}${onChain(data.coin_type)}`;
    return change(whose, undefined, data.name ? shown(data.name) : undefined);
  },
  permission,
  subregistry: ({ view, former, data }) =>
    change("Registry of its subnames", located(view, former?.subregistry), located(view, data.subregistry)),
  migration: ({ view, data }) =>
    html`Migrated to ENSv2${to(view, data.registrant)}${data.migration_path ? `, ${data.migration_path.replaceAll("_", " ")}` : ""}${until(data)}`,
  reservation: ({ data }) => html`Reserved in ENSv2${until(data)}`,
};

// Types whose newest entry before tells the former value.
const dated: readonly string[] = ["registration", "renewal", "migration", "reservation"];
const isFormer = (entry: Entry, older: Entry) =>
  older.namehash === entry.namehash &&
  (entry.type === "renewal" ? dated.includes(older.type) : older.type === entry.type) &&
  (entry.type !== "permission" || older.kind === entry.kind) &&
  (entry.type !== "record" || isSameRecord(entry.data, older.data));

// Clearing all records of a resolver clears each.
const isSameRecord = (data: Entry["data"], older: Entry["data"]) =>
  older?.resolver?.address === data?.resolver?.address &&
  (older?.key === data?.key || older?.action === "record_version_changed");

const sameAction =
  (entry: Entry) =>
  ({ action: one }: Action) =>
    one.transactionHash === entry.transaction_hash &&
    one.registrationLifecycle.node === entry.namehash &&
    one.type === (entry.type === "migration" ? "registration" : entry.type);

type Line = {
  time: number;
  at: { chain: number; block: number; transaction: string | null } | undefined;
  name: { id: string; name: string | undefined } | undefined;
  words: Html;
};

function buildLines(view: View, { entries, actions, isWhole }: Activity): Line[] {
  const used = new Set<Action>();
  const own = entries.map((entry, at): Line => {
    const action = actions.find(sameAction(entry));
    if (action) used.add(action);
    const former = entries.slice(at + 1).find((older) => isFormer(entry, older))?.data;
    const { chain_id: chain, block_number: block, transaction_hash: transaction, namehash: id, name } = entry;
    const told = { view, entry, former, action: action?.action, data: entry.data ?? {} };
    return {
      time: Number(entry.timestamp),
      at: block === null ? undefined : { chain, block, transaction },
      name: id === undefined ? undefined : { id, name },
      words: sentences[entry.type](told),
    };
  });
  const others = actions
    .filter((one) => !used.has(one))
    .map(({ name, action }): Line => {
      const { timestamp: time, number: block } = action.block;
      const { node: id, subregistry } = action.registrationLifecycle;
      const what = action.type === "renewal" ? "Renewed" : "Registered";
      return {
        time,
        at: { chain: subregistry.subregistryId.chainId, block, transaction: action.transactionHash },
        name: { id, name },
        words: html`${what} for ${leaseLength(action.incrementalDuration)}${by(view, action.registrant)}${paid(action, {})}`,
      };
    });
  const oldest = isWhole ? 0 : (own.at(-1)?.time ?? 0);
  const more = others.filter(({ time }) => time >= oldest);
  return [...own, ...more].sort((a, b) => b.time - a.time);
}

/**
 * What happened, newest first, one entry for each transaction and name. `hasNames`: whether entries tell of which name.
 */
export function activityList(
  view: View,
  label: string,
  { hasNames, ...activity }: Activity & { hasNames: boolean },
): Html {
  const groups: Line[][] = [];
  for (const line of buildLines(view, activity)) {
    const last = groups.at(-1)?.[0];
    const isSame =
      last?.at &&
      last.at.transaction === line.at?.transaction &&
      last.name?.id === (line.name ?? last.name)?.id;
    if (isSame) groups.at(-1)?.push(line);
    else groups.push([line]);
  }
  const root = view.frame.chains?.[0];
  const entries = groups.flatMap((lines) => {
    const [first] = lines;
    if (first === undefined) return [];
    const { at, name } = first;
    const of = hasNames && name ? html`<strong>${nameLink(name)}</strong> ` : "";
    const said =
      lines.length === 1
        ? html`<p>${of}${first.words}</p>`
        : html`${of}<ul>${lines.toReversed().map(({ words }) => html`<li>${words}</li>`)}</ul>`;
    const on = at && at.chain !== root ? ` on ${titleOfChain(at.chain)}` : "";
    const where = at ? html`<small>${place(view, at)}${on}</small>` : "";
    return [html`<li><div>${moment(view, first.time)}${where}</div><div>${said}</div></li>`];
  });
  return html`<ol class="timeline" aria-label="${label}">${entries}</ol>`;
}
