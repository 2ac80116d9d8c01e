import { createHash } from "node:crypto";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import { addressSchema, hashSchema } from "../rest/values.ts";
import { type HistoryType, isEntryEvent, wrapperEvents } from "./history-kinds.ts";
import { noExpiry } from "./name-rows.ts";

// What entries of histories changed, by their type: `data`. A member is there if the index knows it; `null` is an expiry that is no date.

/**
 * An entry as the statement gives it. `since`: the start of the registration that it belongs to; `old`: whether the older of two registries
 * emitted it; without `node` one of a reverse registrar.
 */
export type StoredEntry = {
  id: string;
  type: string;
  timestamp: number | null;
  block: number | null;
  log: number | null;
  transaction: string | null;
  node: Hex | null;
  name: string | null;
  namespace: string | null;
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

/** What an event tells beside what the parts of a history have in common; null or absent where it tells nothing. */
type EventFacts = {
  labelhash?: Hex;
  token?: Hex | null;
  from?: Hex | null;
  sender?: Hex | null;
  formerRoles?: Hex | null;
  /** Of a migration: how the name came over. */
  path?: (typeof migrationPaths)[number];
};

/** What a registration or renewal was paid with, in wei or units of the token. */
type Payment = {
  base: string | null;
  premium: string | null;
  total: string | null;
  token: Hex | null;
  referrer: Hex | null;
};

/** Where an entry was emitted. */
export type Emitter = { chainId: number; contract?: string | undefined };

const migrationPaths = [
  "unwrapped",
  "unlocked_wrapped",
  "locked_wrapped",
  "locked_child",
  "emancipated_child",
] as const;

// Places of the roles of registries (four bits each); the admin of a role is 32 further. Others have no word.
const powers: Readonly<Record<number, string>> = {
  0: "registrar",
  1: "register_reserved",
  2: "set_parent",
  3: "unregister",
  4: "renew",
  5: "set_subregistry",
  6: "set_resolver",
  8: "was_reserved",
  9: "set_uri",
  30: "can_name",
  31: "upgrade",
  32: "admin_registrar",
  33: "admin_register_reserved",
  34: "admin_set_parent",
  35: "admin_unregister",
  36: "admin_renew",
  37: "admin_set_subregistry",
  38: "admin_set_resolver",
  39: "can_transfer_admin",
  41: "admin_set_uri",
  62: "admin_can_name",
  63: "admin_upgrade",
};

const powersOf = (bitmap: Hex) =>
  Object.entries(powers).flatMap(([place, power]) =>
    (BigInt(bitmap) >> (4n * BigInt(place))) & 1n ? power : [],
  );

const located = z.strictObject({ chain_id: z.int(), address: addressSchema });
const digits = z.string().regex(/^\d+$/);
const power = z.enum(Object.values(powers) as [string, ...string[]]);

const fields = {
  registrant: addressSchema,
  expires_at: digits.nullable().meta({ description: "Unix seconds; null with the reason" }),
  expires_at_reason: z.enum(["no_expiry", "not_set", "released"]),
  token_id: digits.meta({ description: "The token in ENSv2 at the event" }),
  canonical_id: digits.meta({
    description: "Of an entry in ENSv2: its token ids without their last 32 bits",
  }),
  sender: addressSchema.meta({ description: "Who called the registry of ENSv2" }),
  cost: digits.meta({ description: "In wei, in ENSv2 in units of `payment_token`" }),
  base_cost: digits,
  premium: digits,
  payment_token: located,
  referrer: hashSchema,
  action_id: z.string().length(64),
  action_role: z.literal("registered"),
  fuses: z.int().meta({ description: "32 bits, unsigned" }),
  from: addressSchema,
  to: addressSchema,
  operator: addressSchema.meta({ description: "Who moved the token of the name wrapper or of ENSv2" }),
  owner: addressSchema,
  node: hashSchema,
  resolver: located.meta({ description: "Absent: cleared" }),
  subregistry: located.meta({ description: "Absent: cleared" }),
  key: z.string().meta({ description: "`addr:60`, `text:url`, `contenthash`, `name` or `abi:1`" }),
  value: z.string().meta({ description: "A text, or bytes in hex" }),
  coin_type: z.int(),
  record_version: digits,
  address: addressSchema,
  name: z.string(),
  name_status: z.enum(["set", "cleared"]),
  grant_scope: z.strictObject({ kind: z.literal("registry"), detail: z.strictObject({}) }),
  powers: z.array(power).meta({ description: "All that the account has from then on" }),
  added_powers: z.array(power),
  removed_powers: z.array(power),
  old_role_bitmap: digits,
  new_role_bitmap: digits,
  migration_path: z.enum(migrationPaths),
} as const;
type Facts = { [K in keyof typeof fields]?: z.output<(typeof fields)[K]> | null | undefined };

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

// The actions of each type, the ordinary one first, and its members.
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
} as const satisfies Record<HistoryType, readonly [readonly string[], readonly string[]]>;

/** `data` of entries: the members of each action, which belong to one type each. */
export const dataSchema = z.union(
  Object.entries(dataOfTypes).map(([type, [actions, members]]) =>
    z
      .strictObject({
        action: z.enum(actions),
        ...Object.fromEntries(members.map((member) => [member, fields[member].optional()])),
      })
      .meta({ title: type }),
  ),
);

type Data = z.output<typeof dataSchema>;

/** What an entry of a type changed. */
export function dataOf(type: HistoryType, entry: StoredEntry, emitter: Emitter): Data {
  const facts = factsOf(type, entry, emitter);
  const [[action], members] = dataOfTypes[type];
  // An expiry is null for a reason.
  const isKnown = (member: keyof Facts) =>
    facts[member] != null || (member === "expires_at" && facts.expires_at_reason !== undefined);
  return {
    action: actionOf[entry.type] ?? action,
    ...Object.fromEntries(members.filter(isKnown).map((member) => [member, facts[member]])),
  };
}

const actionOf: Readonly<Record<string, Data["action"]>> = {
  NameWrapped: "name_wrapped",
  NameUnwrapped: "name_unwrapped",
  VersionChanged: "record_version_changed",
};

// What is known of an event, of which its type has some.
function factsOf(type: HistoryType, entry: StoredEntry, { chainId, contract }: Emitter): Facts {
  const { node, holder, resolver, value, fuses, facts: more } = entry;
  const isPrimary = type === "primary_name";
  const at = (address: string | null | undefined) =>
    address && address !== zeroAddress ? { chain_id: chainId, address: address as Hex } : undefined;
  return {
    ...{ registrant: holder, owner: holder, to: holder, address: holder },
    ...expiryOf(entry),
    ...paymentOf(entry.payment, type, chainId),
    ...(entry.type === "EACRolesChanged" ? rolesOf(entry) : {}),
    token_id: more?.token && String(BigInt(more.token)),
    canonical_id: more?.labelhash && String(BigInt(more.labelhash) & ~0xffff_ffffn),
    ...{ sender: more?.sender, operator: more?.sender, from: more?.from, migration_path: more?.path },
    action_id: createHash("sha256")
      .update([chainId, entry.transaction, contract, more?.token ?? node].join(" "))
      .digest("hex"),
    action_role: "registered",
    fuses: fuses === null ? undefined : fuses >>> 0,
    node: type === "authority" && !wrapperEvents.includes(entry.type) ? undefined : node,
    resolver: at(resolver),
    subregistry: at(value),
    key: recordKey(entry),
    value: entry.type === "NameChanged" ? entry.key : value,
    coin_type: coinTypeOf(entry),
    record_version: entry.type === "VersionChanged" ? entry.expiry : undefined,
    name: isPrimary ? entry.key || undefined : undefined,
    name_status: isPrimary && entry.key ? "set" : "cleared",
  };
}

// Entries of the name wrapper and of ENSv2 have no end at the highest date, those of the wrapper none at 0.
function expiryOf({ type, expiry }: StoredEntry): Facts {
  const isWrapped = wrapperEvents.includes(type);
  if (type === "LabelUnregistered") return { expires_at: null, expires_at_reason: "released" };
  if (isWrapped && expiry === "0") return { expires_at: null, expires_at_reason: "not_set" };
  if ((isWrapped || isEntryEvent(type)) && expiry === noExpiry)
    return { expires_at: null, expires_at_reason: "no_expiry" };
  return { expires_at: expiry };
}

// Older controllers emit one amount, which is kept as a base without premium: only a premium proves two.
function paymentOf(payment: Payment | null | undefined, type: HistoryType, chainId: number): Facts {
  if (!payment) return {};
  const { base, premium, total, token, referrer } = payment;
  const isSplit = type === "registration" && (token !== null || (premium ?? "0") !== "0");
  return {
    cost: total,
    ...(isSplit ? { base_cost: base, premium } : {}),
    payment_token: token && { chain_id: chainId, address: token },
    referrer,
  };
}

function rolesOf({ value, facts }: StoredEntry): Facts {
  const [before, after] = [facts?.formerRoles ?? "0x0", (value ?? "0x0") as Hex];
  const [former, now] = [powersOf(before), powersOf(after)];
  return {
    grant_scope: { kind: "registry", detail: {} },
    powers: now,
    added_powers: now.filter((one) => !former.includes(one)),
    removed_powers: former.filter((one) => !now.includes(one)),
    old_role_bitmap: String(BigInt(before)),
    new_role_bitmap: String(BigInt(after)),
  };
}

function recordKey({ type, key, coin }: StoredEntry): string | undefined {
  if (type === "TextChanged") return `text:${key ?? ""}`;
  if (type === "ContenthashChanged") return "contenthash";
  if (type === "NameChanged") return "name";
  if (type === "AbiChanged") return `abi:${key}`;
  return type === "AddrChanged" || type === "MulticoinAddrChanged" ? `addr:${coin ?? "60"}` : undefined;
}

// Of addresses and primary names; the key has one beyond what JSON's numbers hold.
function coinTypeOf({ type, coin }: StoredEntry): number | undefined {
  const number = Number(coin ?? "60");
  const isOfCoin = coin !== null || type === "AddrChanged" || type === "ReverseNameChanged";
  return isOfCoin && Number.isSafeInteger(number) ? number : undefined;
}
