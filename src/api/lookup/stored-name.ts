import type { Hex } from "viem";
import { zeroAddress } from "../../ens/ids.ts";
import { generationJson, secondGeneration } from "./generations.ts";
import type { Place } from "./places.ts";

// A name's row on its way from the statement.

/** SQL of the address in the SQL of a resolver's id, which ends with `0x<address>-0x<node>`, or of an address alone. A regular expression takes 20 times as long. */
export const addressOfResolver = (id: string) => `left(right(${id}, 109), 42)`;

/** SQL of the address of the resolver that the root chain's registry of the first generation has. */
export const ownResolver = addressOfResolver("d.resolver_id");

// By the place of a name: on all chains but the root one registries' links to resolvers are rows of their own.
function byPlace(
  places: readonly Place[],
  onRoot: string,
  elsewhere: (place: Place, link: string) => string,
) {
  const others = places.flatMap((place, at) => {
    const { chainId, linker } = place;
    if (linker === undefined) return [];
    const link = `domain_resolver_relations l WHERE l.chain_id = ${chainId} AND l.address = '${linker}' AND l.domain_id = d.id`;
    return [`WHEN ${at + 1} THEN (${elsewhere(place, link)})`];
  });
  return others.length === 0 ? onRoot : `CASE p.place ${others.join(" ")} ELSE ${onRoot} END`;
}

/** SQL of the address of the resolver that the registry of a name's place has for it. */
const linkedResolver = (places: readonly Place[]) =>
  byPlace(places, ownResolver, (_, link) => `SELECT l.resolver FROM ${link}`);

/** SQL of the id of the row of `resolver` that belongs to a name. */
export const resolverRowId = (places: readonly Place[]) =>
  byPlace(
    places,
    "d.resolver_id",
    ({ chainId }, link) => `SELECT '${chainId}-' || l.resolver || '-' || d.id FROM ${link}`,
  );

/** SQL of the address of the resolver in force. */
export const resolverSql = (places: readonly Place[]) =>
  secondGeneration(places) === undefined
    ? linkedResolver(places)
    : `CASE WHEN g.is_v2 OR g.is_gone THEN v.effective_resolver ELSE ${linkedResolver(places)} END`;

/** SQL of who held a name in the first generation, also one that has ended: nobody whose token the wrapper has without an entry in force. */
export const lastHolder =
  "CASE WHEN x.is_wrapped THEN w.owner_id WHEN r.registrant_id IS DISTINCT FROM s.wrapper THEN r.registrant_id END";

// What a row has, in its order. Texts that need no quoting, `t` or `f`, and the empty text for null.
const members = (places: readonly Place[]) => [
  "d.id",
  "d.labelhash",
  "d.parent_id",
  "p.place",
  "s.now",
  "x.status",
  "x.owner",
  "x.manager",
  "x.since",
  "d.created_at",
  "x.expires",
  "x.grace_ends",
  "x.is_lease",
  "s.is_managed",
  "x.is_wrapped",
  "x.is_lapsed",
  "w.fuses",
  "w.expiry_date",
  // Never all of them at once.
  "w.id IS NOT NULL OR (SELECT true FROM domain_event e WHERE e.domain_id = d.id AND e.type = 'NameWrapped' LIMIT 1) IS NOT NULL",
  lastHolder,
  "r.registrant_id = s.wrapper",
  "d.is_migrated",
  `d.owner_id <> '${zeroAddress}'`,
  resolverSql(places),
];

/** SQL of a name's row, from `nameJoins`: the text of a JSON list, which takes a third of the time of an object. `storedName` reads it. */
export const nameText = (places: readonly Place[]) =>
  `concat('[', to_json(d.name)::text, ',', ${secondGeneration(places) ? `(json_build_object(${generationJson})->'v2')::text` : "'null'"}, ',"',
${members(places).join(`, '","', `)}, '"]')`;

/** SQL of a list of texts of JSON, as the text of a JSON list; '[]' without any. */
export const jointText = (found: string, order = "") =>
  `'[' || coalesce(string_agg(${found}, ','${order}), '') || ']'`;

/** What `nameText` gives, parsed: the name, what ENSv2 tells of it, and texts. */
export type NameList = [name: string, v2: NonNullable<StoredName["v2"]> | null, ...texts: string[]];

const textOr = (text: string | undefined) => (text === "" || text === undefined ? null : text);
const hexOr = (text: string | undefined) => textOr(text) as Hex | null;

/** A name's row from the list that the statement gives. */
export function storedName(list: NameList): StoredName {
  const [name, v2, node, labelhash, parent, place, now, status, owner, manager, since, created, ...more] =
    list;
  const [expires, graceEnds, isLease, isManaged, isWrapped, isLapsed, fuses, wrapperExpires, ...last] = more;
  const [wasWrapped, holder, isHeldThroughWrapper, isMigrated, isOwned, resolver] = last;
  return {
    name,
    node: node as Hex,
    labelhash: hexOr(labelhash),
    parent: hexOr(parent),
    place: Number(place),
    now: Number(now),
    status: status as StoredName["status"],
    owner: hexOr(owner),
    manager: hexOr(manager),
    since: textOr(since),
    created: created ?? "0",
    expires: textOr(expires),
    graceEnds: textOr(graceEnds),
    isLease: isLease === "t",
    isManaged: isManaged === "t",
    isWrapped: isWrapped === "t",
    isLapsed: isLapsed === "t",
    fuses: fuses === "" ? null : Number(fuses),
    wrapperExpires: textOr(wrapperExpires),
    wasWrapped: wasWrapped === "t",
    holder: hexOr(holder),
    isHeldThroughWrapper: isHeldThroughWrapper === "t",
    isMigrated: isMigrated === "t",
    isOwned: isOwned === "t",
    resolver: hexOr(resolver),
    v2,
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
