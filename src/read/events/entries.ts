import { createHash } from "node:crypto";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import { namehash } from "../../ens/names.ts";
import { reverseName } from "../../ens/reverse-names.ts";
import { listPowers, powerWords } from "../../ens/roles.ts";
import { addressSchema, hashSchema, located } from "../../ens/schemas.ts";
import { scopeSchema } from "../names/grants.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";
import { noExpiry } from "../names/stored-name.ts";
import { recordKey } from "./entry-conditions.ts";
import { type EventKind, entryType, eventKinds, findEmitter, ownAction, rootChange } from "./kinds.ts";

// Entries as statements return them and as responses have them. `data` is what an entry changed, by its type: unknown
// members are absent, and `null` is an expiry that is no date.

/**
 * An entry as the statement returns it, without `node` for reverse registrars. `since`: start of its registration;
 * `old`: emitted by the older of two registries.
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
  expires_at: member(
    digits.nullable(),
    (told) => deriveExpiry(told).expiry,
    "Unix seconds; null with a reason",
  ),
  expires_at_reason: member(
    z.enum(["no_expiry", "not_set", "released"]),
    (told) => deriveExpiry(told).reason,
  ),
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
  action_id: member(z.string().length(64), computeActionId),
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
    type === "authority" && findEmitter(entry.type) !== "wrapper" ? undefined : entry.node,
  ),
  resolver: member(located, ({ entry }) => at(entry, entry.resolver), "Absent if cleared"),
  subregistry: member(located, ({ entry }) => at(entry, entry.value), "Absent if cleared"),
  key: member(
    z.string(),
    ({ entry }) => recordKey(entry),
    "`addr:60`, `text:url`, `contenthash`, `name` or `abi:1`",
  ),
  value: member(
    z.string(),
    ({ entry }) => (entry.type === "NameChanged" ? entry.key : entry.value),
    "A text, or bytes in hex",
  ),
  coin_type: member(z.int(), findCoinType),
  record_version: member(digits, ({ entry }) => (entry.type === "VersionChanged" ? entry.expiry : undefined)),
  address: member(addressSchema, holder),
  name: member(z.string(), ({ entry }) => entry.key || undefined),
  name_status: member(z.enum(["set", "cleared"]), ({ entry }) => (entry.key ? "set" : "cleared")),
  grant_scope: member(
    scopeSchema,
    (told) => compareRoles(told)?.scope,
    "`registry`: of an entry; `root`: of a whole registry, which `detail` names",
  ),
  powers: member(
    z.array(power),
    (told) => compareRoles(told)?.now,
    "All powers of the account after the event",
  ),
  added_powers: member(z.array(power), (told) => compareRoles(told)?.added),
  removed_powers: member(z.array(power), (told) => compareRoles(told)?.removed),
  old_role_bitmap: member(digits, (told) => compareRoles(told)?.old),
  new_role_bitmap: member(digits, (told) => compareRoles(told)?.new),
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

/** What an entry changed. */
export function toEntryData(entry: StoredEntry, contract?: Hex): z.output<typeof dataSchema> {
  const type = entryType(entry.type);
  const [[action], names] = dataOfTypes[type];
  const told = names.map((name) => [name, members[name].value({ type, entry, contract })] as const);
  // `expires_at` is null for a reason, which is another member.
  const known = told.filter(([name, value]) => value != null || (name === "expires_at" && value === null));
  return { action: ownAction(entry.type) ?? action, ...Object.fromEntries(known) };
}

// Wrapper and ENSv2 entries never expire at the highest date; a wrapper expiry of 0 is not set.
function deriveExpiry({ entry: { type, expiry } }: Told) {
  const isWrapped = findEmitter(type) === "wrapper";
  if (type === "LabelUnregistered") return { expiry: null, reason: "released" as const };
  if (isWrapped && expiry === "0") return { expiry: null, reason: "not_set" as const };
  if ((isWrapped || findEmitter(type) === "registryOfV2") && expiry === noExpiry)
    return { expiry: null, reason: "no_expiry" as const };
  return { expiry: expiry ?? undefined };
}

function computeActionId({ entry: { chain, transaction, node, facts }, contract }: Told): string {
  return createHash("sha256")
    .update([chain, transaction, contract, facts?.token ?? node].join(" "))
    .digest("hex");
}

function compareRoles({ entry }: Told) {
  const { type, value, facts } = entry;
  const registry = at(entry, entry.key);
  const isRoot = type === rootChange && registry;
  if (type !== "EACRolesChanged" && !isRoot) return undefined;
  const [before, after] = [facts?.formerRoles ?? "0x0", (value ?? "0x0") as Hex];
  const [former, now] = [listPowers(before, "registry"), listPowers(after, "registry")];
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

// For addresses and primary names. A coin type beyond safe integers is only in the key.
function findCoinType({ entry: { type, coin } }: Told): number | undefined {
  const number = Number(coin ?? "60");
  const isOfCoin = coin !== null || type === "AddrChanged" || type === "ReverseNameChanged";
  return isOfCoin && Number.isSafeInteger(number) ? number : undefined;
}

/** An entry of a history in responses. */
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
  data: (dataSchema as z.ZodType<EntryFacts>).optional(),
  subject: z.enum(["name", "child"]).optional(),
});

/** The id of an event's entry in responses. */
export const entryId = ({ type, id }: Pick<StoredEntry, "type" | "id">) =>
  createHash("sha256").update(`${type}:${id}`).digest("hex");

/** An entry of a history as responses have it. */
export function toEntry(
  entry: StoredEntry,
  namespaces: readonly IndexedNamespace[],
  { hasData, hasKind }: { hasData: boolean; hasKind: boolean },
): z.output<typeof entrySchema> {
  const contract = findContract(entry, namespaces);
  const { name, node } = deriveSubject(entry);
  return {
    id: entryId(entry),
    type: entryType(entry.type),
    name: name || undefined,
    namehash: node ?? undefined,
    namespace: entry.namespace,
    chain_id: entry.chain,
    registration_id: buildRegistrationId(entry),
    block_number: entry.block,
    timestamp: entry.timestamp === null ? null : String(entry.timestamp),
    transaction_hash: entry.transaction,
    log_index: entry.log,
    kind: hasKind ? entry.type : undefined,
    contract_address: hasData ? (contract ?? null) : undefined,
    data: hasData ? toEntryData({ ...entry, node }, contract) : undefined,
  };
}

// Events of reverse registrars have no node; the reverse name follows from the account.
function deriveSubject({ node, name, holder, coin }: StoredEntry) {
  if (node !== null || holder === null || coin === null) return { node, name };
  const reverse = reverseName({ address: holder, coinType: BigInt(coin) });
  return { node: namehash(reverse), name: reverse };
}

function buildRegistrationId({ type, chain, node, since }: StoredEntry): string | null {
  if (since !== null) return `${chain}-${node}-${since}`;
  return findEmitter(type) === "wrapper" ? `${chain}-${node}-wrapper` : null;
}

/** The contract that emitted the event of an entry, if it is known. */
export function findContract(
  { type, chain, namespace, resolver, key, old }: StoredEntry,
  namespaces: readonly IndexedNamespace[],
): Hex | undefined {
  const home = namespaces.find((one) => one.chainId === chain && one.namespace === namespace);
  const emitter = findEmitter(type);
  if (emitter === "registryOfV2") return (key ?? undefined) as Hex | undefined;
  if (emitter === "reverseRegistrar") return namespaces[0]?.reverseRegistrars.get(chain);
  if (emitter === "wrapper") return home?.nameWrapper;
  if (emitter === "registrar") return home?.registrar;
  if (emitter === "registry") return old ? home?.oldRegistry : home?.registry;
  return (resolver ?? undefined) as Hex | undefined;
}
