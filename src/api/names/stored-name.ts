import type { Hex } from "viem";

// A name's row on its way from the statement: a JSON list of the columns of `names`, which takes a third of the time of an object.

const columns = [
  ...["node", "labelhash", "parent", "place", "now", "status", "owner", "manager", "registered", "created"],
  ...[
    "expires",
    "grace_ends",
    "is_lease",
    "is_managed",
    "is_wrapped",
    "is_lapsed",
    "fuses",
    "wrapper_expires",
  ],
  ...["was_wrapped", "last_holder", "is_held_through_wrapper", "is_migrated", "is_owned", "resolver"],
] as const;
type Column = (typeof columns)[number];

/**
 * SQL of a row of `names` as the text of a JSON list: the name, what ENSv2 tells of it, and the columns as texts that need no quoting,
 * empty for null. `storedName` reads it.
 */
export const nameText: string = `concat('[', to_json(names.name)::text, ',', coalesce(names.v2::text, 'null'), ',"',
  ${columns.map((column) => `names.${column}`).join(`, '","', `)}, '"]')`;

/** SQL of a list of texts of JSON, as the text of a JSON list; '[]' without any. */
export const jointText = (found: string, order = "") =>
  `'[' || coalesce(string_agg(${found}, ','${order}), '') || ']'`;

/** What `nameText` gives, parsed. */
export type NameList = readonly [name: string, v2: NonNullable<StoredName["v2"]> | null, ...texts: string[]];

const places = Object.fromEntries(columns.map((column, at) => [column, at + 2])) as Record<Column, number>;

/** A name's row from the list that the statement gives. */
export function storedName(list: NameList): StoredName {
  const text = (column: Column) => (list[places[column]] as string) || null;
  const flag = (column: Column) => list[places[column]] === "t";
  const fuses = text("fuses");
  return {
    name: list[0],
    v2: list[1],
    node: text("node") as Hex,
    labelhash: text("labelhash") as Hex | null,
    parent: text("parent") as Hex | null,
    place: Number(text("place")),
    now: Number(text("now")),
    status: text("status") as StoredName["status"],
    owner: text("owner") as Hex | null,
    manager: text("manager") as Hex | null,
    since: text("registered"),
    created: text("created") ?? "0",
    expires: text("expires"),
    graceEnds: text("grace_ends"),
    isLease: flag("is_lease"),
    isManaged: flag("is_managed"),
    isWrapped: flag("is_wrapped"),
    isLapsed: flag("is_lapsed"),
    fuses: fuses === null ? null : Number(fuses),
    wrapperExpires: text("wrapper_expires"),
    wasWrapped: flag("was_wrapped"),
    holder: text("last_holder") as Hex | null,
    isHeldThroughWrapper: flag("is_held_through_wrapper"),
    isMigrated: flag("is_migrated"),
    isOwned: flag("is_owned"),
    resolver: text("resolver") as Hex | null,
  };
}

/** A name's row as the statement gives it. */
export type StoredName = {
  name: string;
  node: Hex;
  labelhash: Hex | null;
  parent: Hex | null;
  place: number;
  now: number;
  status: "active" | "expired" | "released" | "unregistered";
  owner: Hex | null;
  manager: Hex | null;
  since: string | null;
  created: string;
  expires: string | null;
  graceEnds: string | null;
  isLease: boolean;
  isManaged: boolean;
  isWrapped: boolean;
  isLapsed: boolean;
  fuses: number | null;
  wrapperExpires: string | null;
  wasWrapped: boolean;
  holder: Hex | null;
  isHeldThroughWrapper: boolean;
  isMigrated: boolean;
  isOwned: boolean;
  resolver: Hex | null;
  /** Where ENSv2 is indexed and knows the name. `isInForce`: the facts are those of its entry. */
  v2?: {
    version: "v1" | "v2" | null;
    isReserved: boolean;
    migrated: string | null;
    path: Hex[] | null;
    isInForce: boolean;
    token: Hex | null;
    subregistry: Hex | null;
    holder: Hex | null;
  } | null;
};
