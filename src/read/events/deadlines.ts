import type { Hex } from "viem";
import { zeroAddress } from "../../ens/ids.ts";
import { gracePeriodOfV2, isDotEth } from "../../ens/registrations.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";
import type { Branch } from "../names/lists.ts";
import type { Binder } from "../names/source.ts";
import {
  buildEntriesOfName,
  hideFromPlanner,
  noExpiry,
  notInSecond,
  partsOfNames,
  secondGeneration,
} from "../names/stored-name.ts";
import type { SortKey } from "../sql/keyset.ts";

/** A window of deadlines in Unix seconds: `from` included, `to` excluded. */
export type DeadlineWindow = { from: number | undefined; to: number | undefined };

/**
 * Order by the deadline, then by name. `plus`: seconds from the stored expiry to the deadline; `of`: the alias with
 * name and node.
 */
export const deadlineOrder = (plus: number, of = "domain"): readonly SortKey[] => [
  { sql: "o.expiry_date", type: "numeric", plus },
  { sql: `left(${of}.name, 256)`, type: "text", isAscending: true },
  { sql: `${of}.id`, type: "text", isAscending: true },
];

/**
 * The requested deadlines. `isGrace`: ends of grace periods. `only`: of direct subnames of a node, of a node itself, or
 * of names that an address may hold.
 */
type Deadlines = {
  namespace: string;
  isGrace: boolean;
  window: DeadlineWindow;
  isDescending: boolean;
  only: { parent?: Hex | undefined; node?: string | undefined; holder?: string | undefined };
};

/** Leases, wrapper entries and ENSv2 entries whose deadline is in a window, each in the order of an index. */
export function deadlineBranches(
  namespaces: readonly IndexedNamespace[],
  { bind }: Binder,
  { namespace, isGrace, window: { from, to }, isDescending, only }: Deadlines,
): Branch[] {
  const home = namespaces.find((one) => one.namespace === namespace);
  const v2 = home?.isRoot ? secondGeneration(namespaces) : undefined;
  const [first = ""] = partsOfNames(namespaces);
  const grace = isGrace ? (home?.grace ?? 0) : 0;
  const { parent, node, holder } = only;
  const within = (shift: number) =>
    [
      ...(from === undefined ? [] : [`o.expiry_date >= ${bind(from - shift)}::numeric`]),
      ...(to === undefined ? [] : [`o.expiry_date < ${bind(to - shift)}::numeric`]),
    ].join(" AND ");
  const ends = `o.expiry_date < ${noExpiry}`;
  const child = (of: string) => (parent === undefined ? "" : ` AND ${of}.parent_id = ${bind(parent)}`);
  const own = (id: string, holders: readonly string[]) =>
    [
      ...(node === undefined ? [] : [` AND ${id} = ${bind(node)}`]),
      ...(holder === undefined
        ? []
        : [` AND ${hideFromPlanner(`${bind(holder)} IN (${holders.join(", ")})`)}`]),
    ].join("");
  const holders = ["domain.registrant_id", "domain.wrapped_owner_id", "domain.owner_id"];
  // Only 3DNS leases names below more than one parent.
  const hasLeases = parent === undefined || home?.leases === undefined || home.leases === parent;
  // A reservation or an unregistered name has no owner, and so no grace period.
  const ofRegistry = (registry: Hex, isLeased: boolean): Branch => {
    const plus = isLeased && isGrace ? gracePeriodOfV2 : 0;
    const hasGrace = `(o.registry = '${registry}' AND o.owner_id <> '${zeroAddress}')`;
    const { from = "", where } = buildEntriesOfName(namespaces, "o") ?? {};
    return {
      from,
      where: `${within(plus)} AND ${ends} AND ${where} AND ${isLeased ? hasGrace : `NOT ${hasGrace}`}${child("o")}${own("o.id", ["o.owner_id"])}`,
      derived: ["names.is_v2 AND names.registry = o.registry"],
      order: deadlineOrder(plus, "o"),
      isLater: true,
    };
  };
  return [
    {
      from: `registration o JOIN ${first} ON domain.id = o.domain_id`,
      where: `${within(grace)}${v2 ? ` AND ${notInSecond(v2, "o.domain_id")}` : ""}${hasLeases ? "" : " AND false"}${own("o.domain_id", holders)}`,
      derived: v2 ? ["names.expires = o.expiry_date AND NOT names.is_v2"] : [],
      order: deadlineOrder(grace),
    },
    ...(home?.nameWrapper === undefined
      ? []
      : [
          ofWrapper(
            first,
            `${within(0)} AND o.expiry_date > 0 AND ${ends}${child("domain")}${own("o.id", holders)}`,
            isDescending,
          ),
        ]),
    ...(v2 ? [true, false].map((isLeased) => ofRegistry(v2.ethRegistry, isLeased)) : []),
  ];
}

// Names of one parent often end together: they are sorted by name before anything is derived of them.
function ofWrapper(names: string, within: string, isDescending: boolean): Branch {
  const ended = `SELECT o.id, o.expiry_date, left(domain.name, 256) AS name FROM wrapped_domain o JOIN ${names} ON domain.id = o.id
    WHERE ${within} AND o.fuses & ${isDotEth} = 0 ORDER BY o.expiry_date${isDescending ? " DESC" : ""}, left(domain.name, 256), o.id`;
  const [first, ...ties] = deadlineOrder(0);
  const keys = ties.map((key, at) => ({ ...key, sql: at === 0 ? "o.name" : "o.id" }));
  return {
    from: `(${ended}) o JOIN ${names} ON domain.id = o.id`,
    where: "true",
    derived: ["NOT names.is_lease AND names.is_wrapped"],
    order: first === undefined ? [] : [first, ...keys],
    isLater: true,
  };
}
