import { createHash } from "node:crypto";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import { namehash } from "../../ens/names.ts";
import { reverseName } from "../../ens/reverse-names.ts";
import { powersOf, powerWords } from "../../ens/roles.ts";
import { addressSchema, hashSchema, located } from "../../ens/schemas.ts";
import { hexOf } from "../../schema/sql.ts";
import { scopeSchema, wholeContract } from "../names/grants.ts";
import { type IndexedNamespace, isSubregistry } from "../names/indexed-namespaces.ts";
import {
  addressOfResolver,
  hideFromPlanner,
  indexTime,
  noExpiry,
  secondGeneration,
} from "../names/stored-name.ts";
import { reachedJoin, type WalkContracts } from "../names/v2-walk.ts";
import type { SortType } from "../sql/keyset.ts";

// Events shown in histories: the emitter of each, the type of its entry, and the action if it is not the type's default. `Migration`,
// `ReverseNameChanged` and `RootPermissionChanged` replace certain events of other kinds; no contract emits `Release`.
const events = {
  WrappedTransfer: ["wrapper", "transfer"],
  Transfer: ["registry", "authority"],
  NewOwner: ["registry", "authority"],
  NameWrapped: ["wrapper", "authority", "name_wrapped"],
  NameUnwrapped: ["wrapper", "authority", "name_unwrapped"],
  NewResolver: ["registry", "resolver"],
  FusesSet: ["wrapper", "permission"],
  ExpiryExtended: ["wrapper", "expiry"],
  NameRegistered: ["registrar", "registration"],
  NameRenewed: ["registrar", "renewal"],
  NameTransferred: ["registrar", "transfer"],
  AuthorisationChanged: ["resolver", "permission"],
  AddrChanged: ["resolver", "record"],
  MulticoinAddrChanged: ["resolver", "record"],
  NameChanged: ["resolver", "record"],
  ReverseNameChanged: ["resolver", "primary_name"],
  AbiChanged: ["resolver", "record"],
  PubkeyChanged: ["resolver", "record"],
  TextChanged: ["resolver", "record"],
  ContenthashChanged: ["resolver", "record"],
  InterfaceChanged: ["resolver", "record"],
  VersionChanged: ["resolver", "record", "record_version_changed"],
  LabelRegistered: ["registryOfV2", "registration"],
  Migration: ["registryOfV2", "migration"],
  LabelReserved: ["registryOfV2", "reservation"],
  LabelUnregistered: ["registryOfV2", "release"],
  ExpiryUpdated: ["registryOfV2", "renewal"],
  TransferSingle: ["registryOfV2", "transfer"],
  TransferBatch: ["registryOfV2", "transfer"],
  ResolverUpdated: ["registryOfV2", "resolver"],
  SubregistryUpdated: ["registryOfV2", "subregistry"],
  EACRolesChanged: ["registryOfV2", "permission"],
  RootPermissionChanged: ["registryOfV2", "permission"],
  NameForAddrChanged: ["reverseRegistrar", "primary_name"],
  Release: ["nobody", "release"],
} as const;

/** A kind of event. */
export type EventKind = keyof typeof events;
type EventEmitter = (typeof events)[EventKind][0];

// EACRolesChanged of the roles on a whole registry.
const rootChange = "RootPermissionChanged" satisfies EventKind;

const emitterOf = (event: EventKind): EventEmitter => events[event][0];

/** The type of an event's entry. */
export const entryType = (event: EventKind): HistoryType => events[event][1];

/** The kinds of events shown in histories. */
export const eventKinds = Object.keys(events) as [EventKind, ...EventKind[]];

/** The events of one kind of contract. Reverse registrars name accounts on other chains, or on all chains by default (ENSIP-19). */
export const eventsOf = (emitter: EventEmitter): EventKind[] =>
  eventKinds.filter((kind) => emitterOf(kind) === emitter);

// The kinds of events in the words of ENS's own API, by ours.
const ofPipeline: Readonly<Record<string, readonly EventKind[]>> = {
  RegistrationGranted: ["NameRegistered", "LabelRegistered", "Migration"],
  RegistrationRenewed: ["NameRenewed", "ExpiryUpdated"],
  RegistrationReleased: ["Release", "LabelUnregistered"],
  RegistrationReserved: ["LabelReserved"],
  ExpiryChanged: ["ExpiryExtended"],
  TokenControlTransferred: ["NameTransferred", "WrappedTransfer", "TransferSingle", "TransferBatch"],
  AuthorityTransferred: ["NewOwner", "Transfer", "NameWrapped", "NameUnwrapped"],
  AuthorityEpochChanged: ["NewOwner", "Transfer", "NameWrapped", "NameUnwrapped"],
  ResolverChanged: ["NewResolver", "ResolverUpdated"],
  RecordChanged: eventsOf("resolver").filter((kind) => entryType(kind) === "record"),
  RecordVersionChanged: ["VersionChanged"],
  ReverseChanged: ["ReverseNameChanged", "NameForAddrChanged"],
  PermissionChanged: ["EACRolesChanged", "FusesSet", "AuthorisationChanged"],
  PermissionScopeChanged: ["EACRolesChanged", "FusesSet", "AuthorisationChanged"],
  RolesChanged: ["EACRolesChanged", "FusesSet", "AuthorisationChanged"],
  SubregistryChanged: ["SubregistryUpdated"],
  MigrationApplied: ["Migration"],
};

/** The words of ENS's own API for kinds of events. */
export const pipelineKinds: readonly string[] = Object.keys(ofPipeline);

/** The kinds of events that words name, ours or those of ENS's own API; all without words. */
export const kindsNamed = (words: readonly string[] | undefined): readonly EventKind[] =>
  words === undefined
    ? eventKinds
    : eventKinds.filter((kind) => words.some((word) => word === kind || ofPipeline[word]?.includes(kind)));

// Events that begin a registration in ENSv2.
const begins = ["LabelRegistered", "Migration"];

// `data` of entries: what each entry changed, by its type. Unknown members are absent; `null` is an expiry that is no date.

/**
 * An entry as the statement returns it, without `node` for reverse registrars. `since`: start of its registration; `old`: emitted by the
 * older of two registries.
 */
export type StoredEntry = {
  id: string;
  type: EventKind;
  timestamp: number | null;
  block: number | null;
  log: number | null;
  transaction: string | null;
  node: Hex | null;
  name: string | null;
  parent: Hex | null;
  chain: number;
  namespace: string;
  holder: Hex | null;
  resolver: string | null;
  key: string | null;
  value: string | null;
  fuses: number | null;
  expiry: string | null;
  coin: string | null;
  old: boolean | null;
  since: number | null;
  facts: EventFacts | null;
  payment: Payment | null;
  after: string[];
};

/** Event-specific fields, beyond the common columns of parts; null or absent if there are none. */
type EventFacts = {
  labelhash?: Hex;
  token?: Hex | null;
  from?: Hex | null;
  sender?: Hex | null;
  formerRoles?: Hex | null;
  /** How the name was migrated. */
  path?: (typeof migrationPaths)[number];
};

/** The price of a registration or renewal, in wei or units of the token. */
type Payment = {
  base: string | null;
  premium: string | null;
  total: string | null;
  token: Hex | null;
  referrer: Hex | null;
};

const migrationPaths = [
  "unwrapped",
  "unlocked_wrapped",
  "locked_wrapped",
  "locked_child",
  "emancipated_child",
] as const;

const digits = z.string().regex(/^\d+$/);
const power = z.enum(powerWords("registry"));

type Told = { type: string; entry: StoredEntry; contract?: Hex | undefined };

// A member of `data`, with its value if the event tells it.
const member = <S extends z.ZodType>(
  schema: S,
  value: (told: Told) => z.output<S> | null | undefined,
  description?: string,
) => ({ schema: description === undefined ? schema : schema.describe(description), value });

const holder = ({ entry }: Told) => entry.holder;
const sender = ({ entry }: Told) => entry.facts?.sender;
const at = ({ chain }: StoredEntry, address: string | null | undefined) =>
  address && address !== zeroAddress ? { chain_id: chain, address: address as Hex } : undefined;
// Older controllers emit a single amount, stored as a base without premium: only a premium proves that there are two.
const isSplit = ({ entry: { payment }, type }: Told) =>
  type === "registration" && (payment?.token !== null || (payment.premium ?? "0") !== "0");

const members = {
  registrant: member(addressSchema, holder),
  expires_at: member(digits.nullable(), (told) => expiryOf(told).expiry, "Unix seconds; null with a reason"),
  expires_at_reason: member(z.enum(["no_expiry", "not_set", "released"]), (told) => expiryOf(told).reason),
  token_id: member(
    digits,
    ({ entry: { facts } }) => facts?.token && String(BigInt(facts.token)),
    "The token in ENSv2 at the event",
  ),
  canonical_id: member(
    digits,
    ({ entry: { facts } }) => facts?.labelhash && String(BigInt(facts.labelhash) & ~0xffff_ffffn),
    "Of an entry in ENSv2: its token ids without their last 32 bits",
  ),
  sender: member(addressSchema, sender, "Caller of the ENSv2 registry"),
  cost: member(digits, ({ entry }) => entry.payment?.total, "In wei; in ENSv2 in units of `payment_token`"),
  base_cost: member(digits, (told) => (isSplit(told) ? told.entry.payment?.base : undefined)),
  premium: member(digits, (told) => (isSplit(told) ? told.entry.payment?.premium : undefined)),
  payment_token: member(located, ({ entry }) => at(entry, entry.payment?.token)),
  referrer: member(hashSchema, ({ entry }) => entry.payment?.referrer),
  action_id: member(z.string().length(64), actionId),
  action_role: member(z.literal("registered"), () => "registered" as const),
  fuses: member(
    z.int(),
    ({ entry: { fuses } }) => (fuses === null ? undefined : fuses >>> 0),
    "32 bits, unsigned",
  ),
  from: member(addressSchema, ({ entry }) => entry.facts?.from),
  to: member(addressSchema, holder),
  operator: member(addressSchema, sender, "Account that moved the token of the name wrapper or of ENSv2"),
  owner: member(addressSchema, holder),
  node: member(hashSchema, ({ entry, type }) =>
    type === "authority" && emitterOf(entry.type) !== "wrapper" ? undefined : entry.node,
  ),
  resolver: member(located, ({ entry }) => at(entry, entry.resolver), "Absent if cleared"),
  subregistry: member(located, ({ entry }) => at(entry, entry.value), "Absent if cleared"),
  key: member(z.string(), recordKey, "`addr:60`, `text:url`, `contenthash`, `name` or `abi:1`"),
  value: member(
    z.string(),
    ({ entry }) => (entry.type === "NameChanged" ? entry.key : entry.value),
    "A text, or bytes in hex",
  ),
  coin_type: member(z.int(), coinTypeOf),
  record_version: member(digits, ({ entry }) => (entry.type === "VersionChanged" ? entry.expiry : undefined)),
  address: member(addressSchema, holder),
  name: member(z.string(), ({ entry }) => entry.key || undefined),
  name_status: member(z.enum(["set", "cleared"]), ({ entry }) => (entry.key ? "set" : "cleared")),
  grant_scope: member(
    scopeSchema,
    (told) => rolesOf(told)?.scope,
    "`registry`: of an entry; `root`: of a whole registry, which `detail` names",
  ),
  powers: member(z.array(power), (told) => rolesOf(told)?.now, "All powers of the account after the event"),
  added_powers: member(z.array(power), (told) => rolesOf(told)?.added),
  removed_powers: member(z.array(power), (told) => rolesOf(told)?.removed),
  old_role_bitmap: member(digits, (told) => rolesOf(told)?.old),
  new_role_bitmap: member(digits, (told) => rolesOf(told)?.new),
  migration_path: member(z.enum(migrationPaths), ({ entry }) => entry.facts?.path),
};

/** What entries tell, by member of their `data`. */
export type EntryFacts = { action?: string } & {
  [Name in keyof typeof members]?: z.output<(typeof members)[Name]["schema"]>;
};

const expiry = ["expires_at", "expires_at_reason"] as const;
const paid = ["cost", "base_cost", "premium", "payment_token", "referrer"] as const;
const lease = [
  "registrant",
  ...expiry,
  "token_id",
  "canonical_id",
  "sender",
  "action_id",
  "action_role",
] as const;

// The actions of each type, the default first, and its members.
const dataOfTypes = {
  registration: [["registration_granted"], [...lease, ...paid]],
  renewal: [["registration_renewed"], [...expiry, ...paid, "canonical_id"]],
  release: [["registration_released"], [...expiry, "canonical_id"]],
  expiry: [["expiry_changed"], [...expiry, "fuses"]],
  transfer: [["token_transferred"], ["from", "to", "operator", "token_id", "canonical_id"]],
  authority: [
    ["authority_changed", "name_wrapped", "name_unwrapped"],
    ["owner", "node", "fuses", ...expiry],
  ],
  resolver: [["resolver_changed"], ["resolver", "canonical_id", "sender"]],
  record: [
    ["record_changed", "record_version_changed"],
    ["key", "value", "coin_type", "record_version", "resolver", "node"],
  ],
  primary_name: [["primary_name_recorded"], ["address", "coin_type", "name", "name_status"]],
  permission: [
    ["permission_changed"],
    [
      ...["address", "grant_scope", "powers", "added_powers", "removed_powers"],
      ...["old_role_bitmap", "new_role_bitmap", "fuses", "token_id", "canonical_id"],
    ],
  ],
  subregistry: [["subregistry_changed"], ["subregistry", "canonical_id", "sender"]],
  migration: [["migration_applied"], [...lease, "migration_path"]],
  reservation: [["registration_reserved"], [...expiry, "token_id", "canonical_id", "node"]],
} as const satisfies Record<string, readonly [readonly string[], readonly (keyof typeof members)[]]>;

type HistoryType = keyof typeof dataOfTypes;

/** The types of entries. */
export const historyTypes = Object.keys(dataOfTypes) as [HistoryType, ...HistoryType[]];

/** `data` of entries: the members of each type. */
export const dataSchema = z.union(
  Object.entries(dataOfTypes).map(([type, [actions, names]]) =>
    z
      .strictObject({
        action: z.enum(actions),
        ...Object.fromEntries(names.map((name) => [name, members[name].schema.optional()])),
      })
      .meta({ title: type }),
  ),
);

/** What an entry of a type changed. */
export function dataOf(type: HistoryType, entry: StoredEntry, contract?: Hex): z.output<typeof dataSchema> {
  const [[action], names] = dataOfTypes[type];
  const told = names.map((name) => [name, members[name].value({ type, entry, contract })] as const);
  // `expires_at` is null for a reason, which is another member.
  const known = told.filter(([name, value]) => value != null || (name === "expires_at" && value === null));
  return { action: events[entry.type][2] ?? action, ...Object.fromEntries(known) };
}

// Wrapper and ENSv2 entries never expire at the highest date; a wrapper expiry of 0 is not set.
function expiryOf({ entry: { type, expiry } }: Told) {
  const isWrapped = emitterOf(type) === "wrapper";
  if (type === "LabelUnregistered") return { expiry: null, reason: "released" as const };
  if (isWrapped && expiry === "0") return { expiry: null, reason: "not_set" as const };
  if ((isWrapped || emitterOf(type) === "registryOfV2") && expiry === noExpiry)
    return { expiry: null, reason: "no_expiry" as const };
  return { expiry: expiry ?? undefined };
}

function actionId({ entry: { chain, transaction, node, facts }, contract }: Told): string {
  return createHash("sha256")
    .update([chain, transaction, contract, facts?.token ?? node].join(" "))
    .digest("hex");
}

function rolesOf({ entry }: Told) {
  const { type, value, facts } = entry;
  const registry = at(entry, entry.key);
  const isRoot = type === rootChange && registry;
  if (type !== "EACRolesChanged" && !isRoot) return undefined;
  const [before, after] = [facts?.formerRoles ?? "0x0", (value ?? "0x0") as Hex];
  const [former, now] = [powersOf(before, "registry"), powersOf(after, "registry")];
  return {
    scope: isRoot
      ? { kind: "root" as const, detail: { registry } }
      : { kind: "registry" as const, detail: {} },
    now,
    added: now.filter((one) => !former.includes(one)),
    removed: former.filter((one) => !now.includes(one)),
    old: String(BigInt(before)),
    new: String(BigInt(after)),
  };
}

function recordKey({ entry: { type, key, coin } }: Told): string | undefined {
  if (type === "TextChanged") return `text:${key ?? ""}`;
  if (type === "ContenthashChanged") return "contenthash";
  if (type === "NameChanged") return "name";
  if (type === "AbiChanged") return `abi:${key}`;
  return type === "AddrChanged" || type === "MulticoinAddrChanged" ? `addr:${coin ?? "60"}` : undefined;
}

// For addresses and primary names. A coin type beyond safe integers is only in the key.
function coinTypeOf({ entry: { type, coin } }: Told): number | undefined {
  const number = Number(coin ?? "60");
  const isOfCoin = coin !== null || type === "AddrChanged" || type === "ReverseNameChanged";
  return isOfCoin && Number.isSafeInteger(number) ? number : undefined;
}

export const entrySchema = z.strictObject({
  id: z.string().length(64),
  type: z.enum(historyTypes),
  name: z.string().optional(),
  namehash: hashSchema.optional().describe("Absent for roles on a whole registry, which belong to no name"),
  namespace: z.string(),
  chain_id: z.int(),
  registration_id: z.string().nullable(),
  block_number: z.int().nullable(),
  timestamp: z.string().nullable(),
  transaction_hash: z.string().nullable(),
  log_index: z.int().nullable(),
  kind: z.enum(eventKinds).optional(),
  contract_address: addressSchema.nullable().optional(),
  data: dataSchema.optional(),
  subject: z.enum(["name", "child"]).optional(),
});

/** The id of an event's entry in responses. */
export const entryId = ({ type, id }: Pick<StoredEntry, "type" | "id">) =>
  createHash("sha256").update(`${type}:${id}`).digest("hex");

/** An entry of a history as responses have it. */
export function entryOf(
  entry: StoredEntry,
  namespaces: readonly IndexedNamespace[],
  { hasData, hasKind }: { hasData: boolean; hasKind: boolean },
): z.output<typeof entrySchema> {
  const type = entryType(entry.type);
  const contract = contractOf(entry, namespaces);
  const { name, node } = subjectOf(entry);
  return {
    id: entryId(entry),
    type,
    name: name || undefined,
    namehash: node ?? undefined,
    namespace: entry.namespace,
    chain_id: entry.chain,
    registration_id: registrationOf(entry),
    block_number: entry.block,
    timestamp: entry.timestamp === null ? null : String(entry.timestamp),
    transaction_hash: entry.transaction,
    log_index: entry.log,
    kind: hasKind ? entry.type : undefined,
    contract_address: hasData ? (contract ?? null) : undefined,
    data: hasData ? dataOf(type, { ...entry, node }, contract) : undefined,
  };
}

// Events of reverse registrars have no node; the reverse name follows from the account.
function subjectOf({ node, name, holder, coin }: StoredEntry) {
  if (node !== null || holder === null || coin === null) return { node, name };
  const reverse = reverseName({ address: holder, coinType: BigInt(coin) });
  return { node: namehash(reverse), name: reverse };
}

function registrationOf({ type, chain, node, since }: StoredEntry): string | null {
  if (since !== null) return `${chain}-${node}-${since}`;
  return emitterOf(type) === "wrapper" ? `${chain}-${node}-wrapper` : null;
}

function contractOf(
  { type, chain, namespace, resolver, key, old }: StoredEntry,
  namespaces: readonly IndexedNamespace[],
): Hex | undefined {
  const home = namespaces.find((one) => one.chainId === chain && one.namespace === namespace);
  const emitter = emitterOf(type);
  if (emitter === "registryOfV2") return (key ?? undefined) as Hex | undefined;
  if (emitter === "reverseRegistrar") return namespaces[0]?.reverseRegistrars.get(chain);
  if (emitter === "wrapper") return home?.nameWrapper;
  if (emitter === "registrar") return home?.registrar;
  if (emitter === "registry") return old ? home?.oldRegistry : home?.registry;
  return (resolver ?? undefined) as Hex | undefined;
}

// The history of a name or an address, from the stored events of all chains by time. Releases have no event: they follow from the dates.

/** SQL of a list of words. */
export const literal = (words: readonly string[]) => `(${words.map((word) => `'${word}'`).join(", ")})`;

/** SQL of the node above the name of an entry under an alias. */
export const parentOfEntry = (of: string) =>
  `coalesce((SELECT d.parent_id FROM domain d WHERE d.id = ${of}.node), (SELECT d.parent_id FROM v2_domains d WHERE d.id = ${of}.node LIMIT 1))`;

/** SQL of the chain of an entry under an alias: the root chain in subgraph mode, where event ids have no chain. */
export const chainOfEntry = (namespaces: readonly IndexedNamespace[], of: string) =>
  `coalesce(${of}.chain, ${namespaces[0]?.chainId ?? 0})`;

/**
 * SQL of the namespace of an entry under an alias. Where two namespaces share a chain, the name's row decides, else the first counts. A
 * reverse registrar belongs to the namespace that leases on its chain, else to ENS.
 */
export function namespaceOfEntry(namespaces: readonly IndexedNamespace[], of: string): string {
  const text = ({ namespace }: IndexedNamespace) => `'${namespace}'`;
  const ofChain = (cases: string[]) =>
    cases.length === 0 ? "'ens'" : `CASE ${chainOfEntry(namespaces, of)} ${cases.join(" ")} ELSE 'ens' END`;
  const leasing = namespaces.filter(isSubregistry).map((home) => `WHEN ${home.chainId} THEN ${text(home)}`);
  const homes = [...Map.groupBy(namespaces, ({ chainId }) => chainId)].map(([chain, [first, ...next]]) => {
    const ofFirst = first ? text(first) : "'ens'";
    if (next.length === 0) return `WHEN ${chain} THEN ${ofFirst}`;
    const ofName = `SELECT n.namespace FROM domain n WHERE n.id = ${of}.node AND n.namespace IN (${next.map(text).join(", ")})`;
    return `WHEN ${chain} THEN coalesce((${ofName}), ${ofFirst})`;
  });
  return `CASE WHEN ${of}.type = 'NameForAddrChanged' THEN ${ofChain(leasing)} ELSE ${ofChain(homes)} END`;
}

// Columns of all parts: the node, the holder who received it, a resolver, a key and its value, and dates. `e` is the event.
const partColumns = {
  id: "e.id",
  chain: "CASE WHEN split_part(e.id, '-', 2) = e.block_number::text THEN split_part(e.id, '-', 1)::int END",
  type: "e.type",
  timestamp: "e.timestamp",
  block_number: "e.block_number",
  log_index: "e.log_index",
  transaction_id: hexOf("e.transaction_id"),
  node: "NULL::text",
  holder: "NULL::text",
  resolver: "NULL::text",
  key: "NULL::text",
  value: "NULL::text",
  fuses: "NULL::int",
  expiry: "NULL::numeric",
  coin: "NULL::numeric",
  old: "NULL::boolean",
};

const partSql = (from: string, where: string, columns: Partial<typeof partColumns>) =>
  `SELECT ${Object.entries({ ...partColumns, ...columns })
    .map(([name, sql]) => `${sql} AS ${name}`)
    .join(", ")} FROM ${from} WHERE ${where}`;

const ofDomain = (where: string) =>
  partSql("domain_event e", where, {
    node: "e.domain_id",
    holder: "e.owner_id",
    resolver: "e.resolver_id",
    key: "e.name",
    fuses: "e.fuses",
    expiry: "e.expiry_date",
    old: "e.from_old_registry",
  });

// `from` gives `e` of `registration_event` and `r` of `registration`.
const ofRegistration = (from: string, where: string) =>
  partSql(from, where, {
    node: "r.domain_id",
    holder: "coalesce(e.registrant_id, e.new_owner_id)",
    expiry: "e.expiry_date",
  });

// Resolvers emit the older AddrChanged beside the event for coin type 60, and it says no more.
const isDuplicateAddrChanged = `e.type = 'AddrChanged' AND EXISTS (
    SELECT FROM resolver_event o WHERE o.resolver_id = e.resolver_id AND o.block_number = e.block_number AND o.type = 'MulticoinAddrChanged'
      AND o.coin_type = 60 AND abs(o.log_index - e.log_index) = 1)`;
const ofResolver = (where: string) =>
  partSql(
    "resolver s JOIN resolver_event e ON e.resolver_id = s.id",
    `${where} AND NOT (${isDuplicateAddrChanged})`,
    {
      type: "CASE WHEN e.primary_name_of IS NULL THEN e.type ELSE 'ReverseNameChanged' END",
      node: "s.domain_id",
      holder: "e.primary_name_of",
      resolver: "s.id",
      key: "coalesce(e.key, e.name, e.content_type::text)",
      value: "coalesce(e.value, e.addr, e.addr_id, e.hash)",
      expiry: "e.version",
      coin: "e.coin_type",
    },
  );

// Names of reverse registrars have no node in any registry.
const ofReverseName = (where: string) =>
  partSql("reverse_name_events e", where, {
    type: "'NameForAddrChanged'",
    transaction_id: hexOf("e.transaction_hash"),
    holder: "e.address",
    key: "e.name",
    coin: "e.coin_type",
  });

// ENSv2 events; the key is their registry. `from` gives `e` of `v2_events` and `n` of `v2_domains`.
const ofEntries = (from: string, where: string, columns: Partial<typeof partColumns> = {}) =>
  partSql(from, where, {
    transaction_id: hexOf("e.transaction_hash"),
    node: "n.id",
    holder: "e.holder",
    resolver: "CASE WHEN e.type = 'ResolverUpdated' THEN e.address END",
    key: "e.registry",
    value: "CASE WHEN e.type = 'SubregistryUpdated' THEN e.address ELSE e.roles END",
    expiry: "e.expiry",
    ...columns,
  });

// The names of the entry that a row tells under an alias. If its registry has several, `max` that are reached count.
const namesOfEntry = (v2: WalkContracts, of: string, max = 1) => `(
    SELECT v.id FROM v2_domains v ${reachedJoin("v", "m", v2, indexTime)}
    WHERE v.chain_id = ${v2.chainId} AND v.registry = ${of}.registry AND v.labelhash = ${of}.labelhash AND m.is_reached ORDER BY v.id LIMIT ${max})`;

function entriesWhere(namespaces: readonly IndexedNamespace[], where: string): string[] {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return [];
  return [
    ofEntries(
      `v2_events e CROSS JOIN LATERAL ${namesOfEntry(v2, "e")} n`,
      `e.chain_id = ${v2.chainId} AND ${where}`,
    ),
  ];
}

// Changes of roles on whole registries.
function rootsWhere(namespaces: readonly IndexedNamespace[], where: string): string[] {
  const v2 = secondGeneration(namespaces);
  const columns = { type: `'${rootChange}'`, node: partColumns.node };
  return v2 ? [ofEntries("v2_events e", `e.chain_id = ${v2.chainId} AND ${where}`, columns)] : [];
}

// Of an account, by the resource: no statistics tell how many of an account's changes are of whole registries.
const rootsOf = (address: string, namespaces: readonly IndexedNamespace[]) =>
  rootsWhere(
    namespaces,
    `e.holder = ${address} AND e.resource = '${wholeContract}' AND ${hideFromPlanner(`e.type = '${rootChange}'`)}`,
  );

/**
 * The parts of the registrations of a name's direct subnames, which ENSv2 alone has: each in the order of an index. Below a name that is
 * reached and in force, so is each name of its registry, unless the registry has a place of its own.
 */
export function partsOfChildren(node: string, namespaces: readonly IndexedNamespace[]): string[] {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return [];
  const registry = `(SELECT v.subregistry FROM v2_domains v ${reachedJoin("v", "m", v2, indexTime)}
    WHERE v.chain_id = ${v2.chainId} AND v.id = ${node} AND v.expiry_date > ${indexTime} AND m.is_reached
      AND v.subregistry NOT IN ${literal([v2.root, v2.ethRegistry])} LIMIT 1)`;
  const child = `SELECT v.id FROM v2_domains v
    WHERE v.chain_id = ${v2.chainId} AND v.registry = e.registry AND v.labelhash = e.labelhash AND v.parent_id = ${node} LIMIT 1`;
  return begins.map((type) =>
    ofEntries(
      `v2_events e CROSS JOIN LATERAL (${child}) n`,
      `e.chain_id = ${v2.chainId} AND e.registry = ${registry} AND e.type = '${type}'`,
    ),
  );
}

// `isOnce`: only at the name that counts for the entry, so that the names of one entry do not all have its events.
function entriesOfName(
  namespaces: readonly IndexedNamespace[],
  node: string,
  { isOnce = false } = {},
): string[] {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return [];
  const once = isOnce ? ` AND n.id = ${namesOfEntry(v2, "n")}` : "";
  const named = `v2_domains n ${reachedJoin("n", "m", v2, indexTime)} JOIN v2_events e ON e.chain_id = n.chain_id
    AND e.registry = n.registry AND e.labelhash = n.labelhash`;
  return [ofEntries(named, `n.chain_id = ${v2.chainId} AND n.id = ${node} AND m.is_reached${once}`)];
}

const byName = "registration r JOIN registration_event e ON e.registration_id = r.id";
const byEvent = "registration_event e JOIN registration r ON r.id = e.registration_id";

// Leases that were not renewed within their grace period, at the first second after it.
function releases(node: string, namespaces: readonly IndexedNamespace[]): string {
  const managed = namespaces.flatMap(({ leases, grace }) =>
    leases === undefined ? [] : [`WHEN '${leases}' THEN ${grace + 1}`],
  );
  const ended = `(SELECT e.id, ${partColumns.chain} AS chain, e.expiry_date, g.grace, lead(e.timestamp, 1, ($1::bigint[])[1]::int) OVER (ORDER BY e.timestamp, e.log_index) AS next
    FROM ${byName} JOIN domain ON domain.id = r.domain_id CROSS JOIN LATERAL (SELECT CASE domain.parent_id ${["WHEN 'none' THEN 0", ...managed].join(" ")} ELSE 0 END AS grace) g
    WHERE r.domain_id = ${node} AND e.expiry_date IS NOT NULL AND e.expiry_date < 4000000000) t`;
  const isOver = `t.expiry_date + t.grace <= t.next${secondGeneration(namespaces) ? notBroughtOver(node) : ""}`;
  return partSql(ended, isOver, {
    id: "'release-' || t.id",
    chain: "t.chain",
    type: "'Release'",
    timestamp: "(t.expiry_date + t.grace)::int",
    block_number: "NULL::int",
    log_index: "NULL::int",
    transaction_id: "NULL::text",
    node,
    expiry: "t.expiry_date",
  });
}

// A first-generation lease that lapses after ENSv2 has the name is no release.
const notBroughtOver = (
  node: string,
) => ` AND NOT EXISTS (SELECT FROM v2_entries o WHERE o.node = ${node} AND EXISTS (
  SELECT FROM v2_events b WHERE b.registry = o.registry AND b.labelhash = o.labelhash AND b.type IN ${literal(begins)}
    AND b.timestamp <= t.expiry_date + t.grace))`;

/** The parts of a name's history: events of its node, at any resolver. */
export const partsOfName = (
  node: string,
  namespaces: readonly IndexedNamespace[],
  options?: Parameters<typeof entriesOfName>[2],
) => [
  ofDomain(`e.domain_id = ${node}`),
  ofRegistration(byName, `r.domain_id = ${node}`),
  ofResolver(`s.domain_id = ${node}`),
  releases(node, namespaces),
  ...entriesOfName(namespaces, node, options),
];

/** The parts of an address's history that can have such kinds, at least one: what it received, and its primary names. */
export function partsOfAddress(
  address: string,
  namespaces: readonly IndexedNamespace[],
  kinds: readonly EventKind[],
): string[] {
  const emitters = new Set(kinds.filter((kind) => kind !== rootChange).map(emitterOf));
  const ifOf = (emitter: EventEmitter, parts: string[]) => (emitters.has(emitter) ? parts : []);
  return [
    ofDomain(`e.owner_id = ${address} AND ${emitters.has("registry") || emitters.has("wrapper")}`),
    ...ifOf("registrar", [
      ofRegistration(byEvent, `e.registrant_id = ${address}`),
      ofRegistration(byEvent, `e.new_owner_id = ${address}`),
    ]),
    ...ifOf("resolver", [ofResolver(`e.primary_name_of = ${address}`)]),
    ...ifOf("reverseRegistrar", [ofReverseName(`e.address = ${address}`)]),
    ...ifOf("registryOfV2", entriesWhere(namespaces, `e.holder = ${address} AND e.labelhash IS NOT NULL`)),
    ...(kinds.includes(rootChange) ? rootsOf(address, namespaces) : []),
  ];
}

/** How an address holds a name, or held it. */
export type Holding = "owner" | "manager" | "role_holder";

/** The most names whose entries a history of an address has, and the most events of a kind that are read for them. */
export const maxHeldNames = 1_000;
const maxNamesOfEntry = 10;

/**
 * SQL of the names that an address holds or held, by the newest events that say so: `nodes`, one beyond the most if there are more, and
 * `max`, how many events of a kind were read.
 */
export function heldNamesSql(
  address: string,
  holdings: readonly Holding[],
  namespaces: readonly IndexedNamespace[],
): string {
  const v2 = secondGeneration(namespaces);
  const [isOwner, isManager] = [holdings.includes("owner"), holdings.includes("manager")];
  const ofEntriesAlone = "(SELECT * FROM v2_events WHERE labelhash IS NOT NULL)";
  const newest = (table: string, columns: string, holder: string) =>
    `SELECT ${columns}, e.timestamp FROM ${table} e WHERE e.${holder} = ${address} ORDER BY e.timestamp DESC LIMIT ${maxHeldNames + 1}`;
  // The owner of a leased name in the registry only manages it.
  const leased = literal(["none", ...namespaces.flatMap(({ leases }) => leases ?? [])]);
  const isOwned = `e.type IN ${literal(eventsOf("wrapper"))} OR NOT coalesce((SELECT d.parent_id FROM domain d WHERE d.id = e.domain_id) IN ${leased}, false)`;
  const granting = (kind: EventKind) =>
    kind === "EACRolesChanged" ? holdings.includes("role_holder") : isOwner || isManager;
  const sources = [
    ...["registrant_id", "new_owner_id"].map((holder) => ({
      isAsked: isOwner,
      events: newest("registration_event", "e.registration_id", holder),
      nodes: (of: string) =>
        `SELECT r.domain_id AS node, e.timestamp FROM ${of} e JOIN registration r ON r.id = e.registration_id`,
    })),
    {
      isAsked: isOwner || isManager,
      events: newest("domain_event", "e.domain_id, e.type", "owner_id"),
      nodes: (of: string) =>
        `SELECT e.domain_id AS node, e.timestamp FROM ${of} e WHERE ${isManager ? "true" : isOwned}`,
    },
    ...(v2 === undefined ? [] : [v2]).map((contracts) => ({
      isAsked: true,
      events: newest(ofEntriesAlone, "e.registry, e.labelhash, e.type", "holder"),
      nodes: (of: string) =>
        `SELECT n.id AS node, e.timestamp FROM ${of} e CROSS JOIN LATERAL ${namesOfEntry(contracts, "e", maxNamesOfEntry)} n WHERE e.type IN ${literal(["none", ...eventsOf("registryOfV2").filter(granting)])}`,
    })),
  ].filter(({ isAsked }) => isAsked);
  const tables = sources.map(({ events }, at) => `held_${at} AS MATERIALIZED (${events})`);
  const nodes = [
    `SELECT NULL::text COLLATE "C" AS node, 0 AS timestamp WHERE false`,
    ...sources.map((source, at) => source.nodes(`held_${at}`)),
  ];
  const counts = sources.map((_, at) => `(SELECT count(*) FROM held_${at})`);
  return `${[`WITH given AS (SELECT $1::bigint[], ${address})`, ...tables].join(",\n")}
SELECT json_build_array(json_build_object('max', greatest(${["0", ...counts].join(", ")}), 'nodes', (SELECT coalesce(json_agg(h.node), '[]') FROM (
  SELECT u.node FROM (${nodes.join("\nUNION ALL ")}) u GROUP BY u.node ORDER BY max(u.timestamp) DESC LIMIT ${maxHeldNames + 1}) h)))::text`;
}

/** The history of names that an address holds or held, given as SQL of an array, of its primary names, and of its root roles. */
export const entriesOfHeldNames = (
  { address, nodes, hasRoots }: { address: string; nodes: string; hasRoots: boolean },
  namespaces: readonly IndexedNamespace[],
) => ({
  parts: [
    ofResolver(`e.primary_name_of = ${address} AND NOT s.domain_id = ANY (${nodes}::text[])`),
    ofReverseName(`e.address = ${address}`),
    ...(hasRoots ? rootsOf(address, namespaces) : []),
  ],
  ofEach: {
    from: `(SELECT unnest(${nodes}::text[]) COLLATE "C" AS node) held`,
    parts: partsOfName("held.node", namespaces, { isOnce: true }),
  },
});

// Each condition has an index in order of time.
function whereKind(kind: EventKind): string {
  if (kind === "ReverseNameChanged") return "e.primary_name_of IS NOT NULL";
  return `e.type = '${kind}'${kind === "NameChanged" ? " AND e.primary_name_of IS NULL" : ""}`;
}

/** SQL of the emitters' addresses. `isOld`: whether the older of a chain's two registries emitted. */
type EmitterSql = { resolver?: string; registryOfV2?: string; isOld?: boolean | undefined };

/** The parts of a history by kind of event, each in the order of an index and without releases. Of any emitter, or the given one. */
export const partsOfKinds = (
  kinds: readonly EventKind[],
  namespaces: readonly IndexedNamespace[],
  { resolver, registryOfV2, isOld }: EmitterSql = {},
) =>
  kinds.flatMap((kind) => {
    const where = whereKind(kind);
    const and = (condition: string, isGiven: boolean) => (isGiven ? `${where} AND ${condition}` : where);
    const emitter = emitterOf(kind);
    if (emitter === "reverseRegistrar") return [ofReverseName("true")];
    if (emitter === "registry" || emitter === "wrapper")
      return [ofDomain(and(`e.from_old_registry IS ${isOld ? "" : "NOT "}TRUE`, isOld !== undefined))];
    if (emitter === "registrar") return [ofRegistration(byEvent, where)];
    if (emitter === "registryOfV2") {
      const parts = kind === rootChange ? rootsWhere : entriesWhere;
      return parts(namespaces, and(`e.registry = ${registryOfV2}`, registryOfV2 !== undefined));
    }
    return emitter === "resolver" ? [ofResolver(and(`s.address = ${resolver}`, resolver !== undefined))] : [];
  });

/**
 * The parts of all events that meet a condition on their row `e`, each event once and without releases. `isNamed`: with the names of ENSv2
 * entries, `node` being null for those that no name leads to; else `node` is null for all events of ENSv2.
 */
export function partsOfEvents(
  namespaces: readonly IndexedNamespace[],
  where: string,
  { isNamed }: { isNamed: boolean },
): string[] {
  const ofTypes = (emitters: readonly EventEmitter[]) =>
    `e.type IN ${literal(emitters.flatMap(eventsOf))} AND ${where}`;
  const v2 = secondGeneration(namespaces);
  const ofSecond = (contracts: WalkContracts) => {
    const name = isNamed
      ? `LEFT JOIN LATERAL ${namesOfEntry(contracts, "e")} n ON true`
      : "CROSS JOIN (SELECT NULL::text AS id) n";
    const condition = `e.chain_id = ${contracts.chainId} AND ${ofTypes(["registryOfV2"])}`;
    return [ofEntries(`v2_events e ${name}`, condition)];
  };
  return [
    ofDomain(ofTypes(["registry", "wrapper"])),
    ofRegistration(byEvent, ofTypes(["registrar"])),
    ofResolver(ofTypes(["resolver"])),
    ofReverseName(where),
    ...(v2 === undefined ? [] : ofSecond(v2)),
  ];
}

/** The order of entries under an alias: by time, then by position in the chain. */
export const historyOrder = (of: string) => [
  `${of}.timestamp`,
  `coalesce(${of}.block_number, 2147483647)`,
  `coalesce(${of}.log_index, -1)`,
  `${of}.id`,
];
export const historyOrderTypes: readonly SortType[] = ["int", "int", "int", "text"];

/** A history: its parts, its kinds of events, and conditions on the common columns of parts. `ofEach`: parts of each row of a source. */
export type HistoryQuery = {
  parts: readonly string[];
  ofEach?: { from: string; parts: readonly string[] };
  kinds: readonly EventKind[];
  conditions: readonly string[];
};

const conditionsOf = ({ kinds, conditions }: HistoryQuery) =>
  [`type IN ${literal([...kinds, "none"])}`, ...conditions].join(" AND ");

// All parts, at least one. `limited` limits those of each row of a source.
function partsOf({ parts, ofEach }: HistoryQuery, limited: (part: string) => string): string[] {
  const ofRows = (part: string) => `SELECT l.* FROM ${ofEach?.from} CROSS JOIN LATERAL ${limited(part)} l`;
  const all = [...parts, ...(ofEach?.parts.map(ofRows) ?? [])];
  return all.length === 0 ? [ofDomain("false")] : all;
}

type PageOfHistory = {
  /** Bound sort values after which the page begins. */
  after: readonly string[] | undefined;
  isDescending: boolean;
  limit: number;
};

/**
 * SQL of a page of history. Each part gives up to a page, and the rest of its last second: parts are sorted by time alone, as in their
 * indexes. For the whole order the planner would sort all rows of a part that it takes for short.
 */
export function historySql(
  query: HistoryQuery,
  { after, isDescending, limit }: PageOfHistory,
  namespaces: readonly IndexedNamespace[],
): string {
  const direction = isDescending ? " DESC" : "";
  const orderOf = (alias: string) => historyOrder(alias).map((key) => `${key}${direction}`);
  const start = after?.map((value, at) => `${value}::${historyOrderTypes[at]}`).join(", ");
  const beyond =
    start === undefined
      ? ""
      : ` AND (${historyOrder("p").join(", ")}) ${isDescending ? "<" : ">"} (${start})`;
  const where = `${conditionsOf(query)}${beyond}`;
  const firstOf = (part: string) =>
    `(SELECT * FROM (${part}) p WHERE ${where} ORDER BY timestamp${direction} FETCH FIRST ${limit} ROWS WITH TIES)`;
  const limited = partsOf(query, firstOf).map(firstOf);
  const page = `SELECT * FROM (${limited.join("\nUNION ALL\n")}) u ORDER BY ${orderOf("u").join(", ")} LIMIT ${limit}`;
  return listOf(entriesSql(page, orderOf("h"), namespaces));
}

const listOf = (entries: string) => `SELECT coalesce(json_agg(found), '[]')::text FROM (
${entries}) listed`;

/** SQL of the entries of events, whose ids are bound as an array. */
export function entriesOfIdsSql(ids: string, namespaces: readonly IndexedNamespace[]): string {
  const parts = partsOfEvents(namespaces, `e.id = ANY (${ids}::text[])`, { isNamed: true });
  return listOf(entriesSql(parts.join("\nUNION ALL\n"), historyOrder("h"), namespaces));
}

// What events tell beyond the common columns of parts, by their ids.
function factsSql(namespaces: readonly IndexedNamespace[]): string {
  const held = (table: string, more: string) =>
    `(SELECT json_build_object('from', e.from_id${more}) FROM ${table} e WHERE e.id = h.id)`;
  const v2 = secondGeneration(namespaces);
  const isUnwrapped = `EXISTS (SELECT FROM domain_event u WHERE u.domain_id = h.node AND u.block_number = h.block_number
      AND ${hexOf("u.transaction_id")} = h.transaction_id AND u.type = 'NameUnwrapped')`;
  // A name that the wrapper unwraps in the same transaction was not locked. Registries of locked names migrate their subnames themselves.
  const path = `CASE WHEN h.type <> 'Migration' THEN NULL WHEN e.sender = '${v2?.lockedMigrator}' THEN 'locked_wrapped'
      WHEN e.sender = e.registry THEN CASE WHEN ${isUnwrapped} THEN 'emancipated_child' ELSE 'locked_child' END
      WHEN ${isUnwrapped} THEN 'unlocked_wrapped' ELSE 'unwrapped' END`;
  const ofEntry = `(SELECT json_build_object('labelhash', e.labelhash, 'token', e.token_id, 'sender', e.sender, 'formerRoles', e.former_roles,
      'from', CASE WHEN h.type IN ('TransferSingle', 'TransferBatch') THEN e.address END, 'path', ${path}) FROM v2_events e WHERE e.id = h.id)`;
  return `CASE WHEN h.type = 'NameTransferred' THEN ${held("registration_event", "")}
    WHEN h.type = 'WrappedTransfer' THEN ${held("domain_event", ", 'sender', e.operator_id")}${v2 ? ` WHEN h.type IN ${literal(eventsOf("registryOfV2"))} THEN ${ofEntry}` : ""} END`;
}

// The first action on the name in its transaction, at or after the event. Action ids are checkpoints: time first, log index last.
const paymentSql = `CASE WHEN h.type IN ('NameRegistered', 'NameRenewed', 'LabelRegistered', 'ExpiryUpdated') THEN (
    SELECT json_build_object('base', a.base_cost::text, 'premium', a.premium::text, 'total', a.total::text, 'token', a.payment_token, 'referrer', a.encoded_referrer)
    FROM registrar_actions a WHERE a.node = h.node AND a.id >= h.timestamp::text AND a.id < (h.timestamp + 1)::text AND ${hexOf("a.transaction_hash")} = h.transaction_id
      AND a.type = CASE WHEN h.type IN ('NameRegistered', 'LabelRegistered') THEN 'registration' ELSE 'renewal' END
      AND right(a.id, 16)::bigint >= h.log_index ORDER BY a.id LIMIT 1) END`;

/** SQL of a `StoredEntry` per row, as JSON in the column `found`, from rows with the common columns. */
function entriesSql(
  entries: string,
  order: readonly string[],
  namespaces: readonly IndexedNamespace[],
): string {
  const keys = historyOrder("h").map((key) => `(${key})::text`);
  return `SELECT json_build_object('id', h.id, 'type', h.type, 'timestamp', h.timestamp, 'block', h.block_number, 'log', h.log_index, 'transaction', h.transaction_id,
  'node', h.node, 'name', coalesce(domain.name, (SELECT v.name FROM v2_domains v WHERE v.id = h.node LIMIT 1)), 'parent', ${parentOfEntry("h")},
  'chain', ${chainOfEntry(namespaces, "h")}, 'namespace', ${namespaceOfEntry(namespaces, "h")}, 'holder', h.holder, 'resolver', ${addressOfResolver("h.resolver")}, 'key', left(h.key, 1000),
  'value', left(h.value, 5000), 'fuses', h.fuses, 'expiry', h.expiry::text, 'coin', h.coin::text, 'old', h.old, 'since', coalesce(l.since, b.since), 'facts', ${factsSql(namespaces)}, 'payment', ${paymentSql},
  'after', json_build_array(${keys.join(", ")})) AS found
FROM (${entries}) h LEFT JOIN domain ON domain.id = h.node
LEFT JOIN LATERAL (SELECT e.timestamp AS since FROM ${byName} WHERE r.domain_id = h.node AND e.type = 'NameRegistered' AND e.timestamp <= h.timestamp
  AND h.type IN ${literal([...eventsOf("registrar"), ...eventsOf("wrapper"), "Release"])} ORDER BY e.timestamp DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT max(e.timestamp) AS since FROM v2_domains n JOIN v2_events e ON e.registry = n.registry AND e.labelhash = n.labelhash
  WHERE n.id = h.node AND n.registry = h.key AND h.type IN ${literal(eventsOf("registryOfV2"))} AND e.type IN ${literal(begins)}
    AND e.timestamp <= h.timestamp) b ON true
ORDER BY ${order.join(", ")}`;
}

/** A name that has its labels now. */
export type HealedName = Pick<StoredEntry, "name" | "parent" | "chain" | "namespace"> & { node: Hex };

/** SQL of names by their nodes, which are bound as an array. */
export const healedNamesSql = (namespaces: readonly IndexedNamespace[]) =>
  `SELECT coalesce(json_agg(json_build_object('node', h.node, 'name', h.name, 'parent', h.parent, 'chain', h.chain,
    'namespace', ${namespaceOfEntry(namespaces, "h")})), '[]')::text AS found
  FROM (SELECT d.id AS node, d.name, d.parent_id AS parent, d.chain_id::int AS chain, NULL::text AS type FROM domain d WHERE d.id = ANY($1::text[])) h`;

/** SQL of the number of entries, counted up to `max` and one. */
export function historyCountSql(query: HistoryQuery, max: number): string {
  const where = conditionsOf(query);
  const limited = partsOf(query, (part) => `(${part})`).map(
    (part) => `(SELECT 1 FROM (${part}) p WHERE ${where} LIMIT ${max + 1})`,
  );
  return `SELECT count(*)::text FROM (SELECT FROM (${limited.join(" UNION ALL ")}) u LIMIT ${max + 1}) c`;
}

/** SQL condition that an entry belongs to the registration of a name that began at a time, both bound. */
export function ofRegistrationSince(node: string, since: string): string {
  return `timestamp >= ${since}::bigint AND timestamp < coalesce(least((SELECT min(e.timestamp) FROM ${byName}
    WHERE r.domain_id = ${node} AND e.type = 'NameRegistered' AND e.timestamp > ${since}::bigint),
    (SELECT min(e.timestamp) FROM v2_entries o JOIN v2_events e ON e.registry = o.registry AND e.labelhash = o.labelhash
    WHERE o.node = ${node} AND e.type IN ${literal(begins)} AND e.timestamp > ${since}::bigint)), 2147483647)`;
}

/** Whether an entry writes the record of a key, as `ofRecord` says it in SQL. */
export function writesRecord(entry: StoredEntry, key: string): boolean {
  const type = entryType(entry.type);
  const written = recordKey({ type, entry }) ?? (type === "primary_name" ? "name" : undefined);
  return written === key && entry.type !== "NameForAddrChanged";
}

/** Whether a contract emitted the event of an entry. */
export const isEmittedBy = (entry: StoredEntry, contract: Hex, namespaces: readonly IndexedNamespace[]) =>
  contractOf(entry, namespaces) === contract;

/** Whether a resolver emitted the event of an entry. */
export const isOfResolver = ({ type }: StoredEntry) => emitterOf(type) === "resolver";

/** Whether an entry belongs to no name and never will: roles on whole registries, and names that reverse registrars give accounts. */
export const hasNoNode = ({ type }: StoredEntry) =>
  type === rootChange || emitterOf(type) === "reverseRegistrar";

/** SQL condition that an entry writes a record, by its key such as `addr:60` or `text:url`; undefined for an unknown family. */
export function ofRecord(key: string, bind: (value: string) => string): string | undefined {
  const [family = "", ...rest] = key.split(":");
  const name = rest.join(":");
  const isNumbered = /^\d{1,19}$/.test(name);
  if (family === "text" && rest.length > 0) return `type = 'TextChanged' AND key = ${bind(name)}`;
  if (key === "contenthash") return "type = 'ContenthashChanged'";
  if (key === "name") return "type IN ('NameChanged', 'ReverseNameChanged')";
  if (family === "abi" && isNumbered) return `type = 'AbiChanged' AND key = ${bind(name)}`;
  if (family !== "addr" || !isNumbered) return undefined;
  const former = name === "60" ? " OR type = 'AddrChanged'" : "";
  return `(type = 'MulticoinAddrChanged' AND coin = ${bind(name)}::numeric${former})`;
}
