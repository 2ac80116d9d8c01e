import { z } from "zod/v4";
import type { WalkContracts } from "../database/v2-walk.ts";
import { claimSql, mostCountedOfAddress, reverseNode } from "../lookup/address-sql.ts";
import { closedQuery, cursorParameter, lookupEnvelope, pageSize, refuse } from "../lookup/contract.ts";
import { nameOfNode, namesHeldBy, partsOfNames, secondGeneration } from "../lookup/generations.ts";
import {
  choice,
  inNamespace,
  type LookupContext,
  listAnswer,
  listPage,
  nameIn,
  namespaceParameter,
  needsNames,
  notFoundAnswer,
  textParameter,
} from "../lookup/lists.ts";
import { noExpiry, resolverSql } from "../lookup/name-rows.ts";
import { type Binder, type Branch, byName, byNumber, nameFilter } from "../lookup/names-query.ts";
import type { Place } from "../lookup/places.ts";
import { addressRow, listRow } from "../lookup/rows.ts";
import { endpoint } from "../rest/endpoint.ts";
import { addressParameter, timestampParameter } from "../rest/values.ts";

const graceOfV2 = 28 * 86_400;
const relationWords = ["any", "owner", "manager", "owner,manager", "resolves_to", "former_owner"] as const;

const sorts = {
  name: byName,
  expires_at: byNumber("x.expires"),
  registered_at: byNumber("x.since"),
  created_at: byNumber("d.created_at"),
};

const query = closedQuery({
  namespace: namespaceParameter,
  relation: choice("relation", relationWords).default("any"),
  coin_type: z
    .string({ error: "coin_type must be given once" })
    .regex(/^\d{1,19}$/, { error: "coin_type must be decimal digits" })
    .optional()
    .meta({ description: "With `relation=resolves_to`: of which record; default 60" }),
  q: textParameter("q", 500).optional().meta({ description: "Text in the name" }),
  match: choice("match", ["prefix", "contains"]).default("prefix"),
  parent: textParameter("parent", 500).optional().meta({ description: "Only its direct subnames" }),
  status: choice("status", ["active"]).optional().meta({ description: "Leaves out names that have ended" }),
  sort: choice("sort", ["name", "expires_at", "registered_at", "created_at"]).default("name"),
  order: choice("order", ["asc", "desc"]).default("asc"),
  cursor: cursorParameter,
  page_size: pageSize,
});
type Relation = z.output<typeof query>["relation"];

/** GET /v1/addresses/{address}/names. */
export const addressNames = endpoint({
  path: "/v1/addresses/{address}/names",
  tag: "Lookup",
  summary: "Names of an address on all indexed chains",
  description: `By role: what it owns, manages, resolves to it, or what it held until it ended. \`total_count\` is exact up to ${mostCountedOfAddress}, else null. \`is_primary\` is the claim of the address, which is not checked forward.`,
  envelope: lookupEnvelope,
  params: z.object({ address: addressParameter("address") }),
  query,
  needs: needsNames,
  answers: { 200: listAnswer, 404: notFoundAnswer },
  handle: (context: LookupContext) => async (call) => {
    const { lookup } = context;
    const { address } = call.params;
    const { cursor: _, page_size: __, ...list } = call.query;
    const { sort, order, relation, coin_type = "60", namespace, parent, q, match, status } = call.query;
    if (relation !== "resolves_to" && call.query.coin_type !== undefined)
      refuse("invalid_input", "coin_type needs relation=resolves_to");
    const ofNamespace = inNamespace(lookup, namespace);
    return listPage(context, call, {
      list: ["addresses", address, list],
      isCommon:
        sort === "name" &&
        order === "asc" &&
        [namespace, parent, q, status, call.query.coin_type].every((one) => one === undefined),
      isDescending: order === "desc",
      branches: (statement) => {
        const holder = statement.bind(address);
        const named = q === undefined ? undefined : nameFilter(statement, q.toLowerCase(), match);
        const found = branchesOf(relation, {
          places: lookup.places,
          statement,
          holder,
          coinType: coin_type,
          order: sorts[sort],
        });
        return {
          branches: found.branches.map((branch) =>
            named === undefined || match === "contains"
              ? branch
              : { ...branch, where: `${branch.where} AND ${named}` },
          ),
          filters: [
            ...found.filters,
            ...ofNamespace,
            ...(parent === undefined ? [] : [`d.parent_id = ${statement.bind(nameIn(parent).node)}`]),
            ...(named !== undefined && match === "contains" ? [named] : []),
            ...(status === undefined ? [] : ["x.status = 'active'"]),
          ],
        };
      },
      extra: (statement) => {
        const relations = relationsOf(relation, () => statement.bind(address));
        if (!lookup.hasRecords) return { relations };
        const reverse = statement.bind(reverseNode(address));
        const claim = claimSql(lookup.places, statement.bind(address), reverse);
        return { relations, isPrimary: `coalesce(d.name = ${claim}, false)` };
      },
      ...(relation === "resolves_to" || relation === "former_owner"
        ? {}
        : { mostCounted: mostCountedOfAddress }),
      show: ({ row, relations, isPrimary }) => addressRow(lookup.places, { row, relations, isPrimary }),
    });
  },
});

type Finding = {
  places: readonly Place[];
  statement: Binder;
  holder: string;
  coinType: string;
  order: Branch["order"];
};

function branchesOf(relation: Relation, { places, statement, holder, coinType, order }: Finding) {
  if (relation === "resolves_to") return resolving({ places, statement, holder, coinType, order });
  const held = namesHeldBy(places, holder).map((found) => ({ ...found, order }));
  if (relation === "former_owner") {
    const last =
      "CASE WHEN x.is_wrapped OR r.registrant_id = s.wrapper THEN w.owner_id ELSE r.registrant_id END";
    const entry = secondGeneration(places) ? `CASE WHEN g.is_v2 THEN v.holder ELSE ${last} END` : last;
    return {
      branches: held.filter(({ where }) => !where.startsWith("d.owner_id")),
      filters: ["x.status = 'released'", `${entry} = ${holder}`],
    };
  }
  const owner = relation === "manager" ? [] : [`x.owner = ${holder}`];
  const manager = relation === "owner" ? [] : [`x.manager = ${holder}`];
  return { branches: held, filters: [`(${[...owner, ...manager].join(" OR ")})`] };
}

function resolving({ places, statement, holder, coinType, order }: Finding) {
  const [first = ""] = partsOfNames(places);
  // An address that a resolver was told counts while it is the name's resolver.
  const inForce = (address: string) =>
    secondGeneration(places) ? [`${resolverSql(places)} = ${address}`] : [];
  if (coinType === "60") {
    const where = `d.resolved_address_id = ${holder}`;
    const filters = inForce("substring(d.resolver_id FROM '0x[0-9a-f]{40}')");
    return { branches: [{ from: first, where, order }], filters };
  }
  const where = `left(a.value, 256) = ${holder} AND a.coin_type = ${statement.bind(coinType)}::numeric`;
  const from = `resolver_address_records a JOIN ${first} ON d.id = a.node AND substring(d.resolver_id FROM '0x[0-9a-f]{40}') = a.address`;
  return { branches: [{ from, where, order }], filters: inForce("a.address") };
}

// A value that is bound must be used.
function relationsOf(relation: Relation, bind: () => string): string {
  if (relation === "resolves_to" || relation === "former_owner") return `json_build_array('${relation}')`;
  const holder = bind();
  return `array_to_json(array_remove(ARRAY[CASE WHEN x.owner = ${holder} THEN 'owner' END, CASE WHEN x.manager = ${holder} THEN 'manager' END], NULL))`;
}

const deadlineParameters = {
  expires_after: timestampParameter("expires_after")
    .optional()
    .meta({ description: "Unix seconds, included" }),
  expires_before: timestampParameter("expires_before")
    .optional()
    .meta({ description: "Unix seconds, excluded" }),
  grace_ends_after: timestampParameter("grace_ends_after")
    .optional()
    .meta({ description: "Unix seconds, included" }),
  grace_ends_before: timestampParameter("grace_ends_before")
    .optional()
    .meta({ description: "Unix seconds, excluded" }),
};

/** GET /v1/names: deadlines. */
export const deadlineNames = endpoint({
  path: "/v1/names",
  tag: "Lookup",
  summary: "Names whose expiry or grace period ends in a window",
  description:
    "In the order of the deadline. Give a window of expiries or one of ends of grace. Names that have ended are included; names without a date are not.",
  envelope: lookupEnvelope,
  query: closedQuery({
    namespace: textParameter("namespace", 60).meta({
      description: "`ens`, `basenames`, `lineanames` or `threedns`",
    }),
    ...deadlineParameters,
    parent: textParameter("parent", 500).optional().meta({ description: "Only its direct subnames" }),
    order: choice("order", ["asc", "desc"]).default("asc"),
    cursor: cursorParameter,
    page_size: pageSize,
  }),
  needs: needsNames,
  answers: { 200: listAnswer, 404: notFoundAnswer },
  handle: (context: LookupContext) => async (call) => {
    const { lookup } = context;
    const { namespace, parent, order, cursor: _, page_size: __, ...window } = call.query;
    const isExpiry = window.expires_after !== undefined || window.expires_before !== undefined;
    const isGrace = window.grace_ends_after !== undefined || window.grace_ends_before !== undefined;
    if (isExpiry === isGrace)
      refuse(
        "invalid_input",
        "Give expires_after or expires_before, or grace_ends_after or grace_ends_before",
      );
    const filters = inNamespace(lookup, namespace);
    const places = lookup.places.filter((place) => place.namespace === namespace);
    const [first = ""] = partsOfNames(lookup.places);
    const v2 = namespace === "ens" ? secondGeneration(lookup.places) : undefined;
    const grace = isExpiry ? 0 : (places[0]?.grace ?? 0);
    const [from, to] = isExpiry
      ? [window.expires_after, window.expires_before]
      : [window.grace_ends_after, window.grace_ends_before];
    return listPage(context, call, {
      list: ["deadlines", namespace, parent, order, window],
      isCommon: parent === undefined && order === "asc",
      isDescending: order === "desc",
      branches: (statement) => {
        const within = (column: string, shift: number) =>
          [
            from === undefined ? undefined : `${column} >= ${statement.bind(from - shift)}::numeric`,
            to === undefined ? undefined : `${column} < ${statement.bind(to - shift)}::numeric`,
          ]
            .filter((condition) => condition !== undefined)
            .join(" AND ");
        const sorted = (plus: number): Branch["order"] => [
          { sql: "o.expiry_date", type: "numeric", plus },
          { sql: "o.id", type: "text" },
        ];
        const ends = `o.expiry_date < ${noExpiry}`;
        const entries = (v2: WalkContracts): Branch[] =>
          [true, false].map((isLeased) => {
            const plus = isLeased && isGrace ? graceOfV2 : 0;
            const registry = `o.registry ${isLeased ? "=" : "<>"} '${v2.ethRegistry}'`;
            return {
              from: `v2_domains o ${nameOfNode(lookup.places, "o.id")}`,
              where: `${within("o.expiry_date", plus)} AND ${ends} AND ${registry} AND g.is_v2 AND v.registry = o.registry`,
              order: sorted(plus),
            };
          });
        return {
          branches: [
            {
              from: `registration o JOIN ${first} ON d.id = o.domain_id`,
              where: `${within("o.expiry_date", grace)}${v2 ? " AND x.expires = o.expiry_date AND NOT g.is_v2" : ""}`,
              order: sorted(grace),
            },
            {
              from: `wrapped_domain o JOIN ${first} ON d.id = o.id`,
              where: `${within("o.expiry_date", 0)} AND ${ends} AND o.fuses & 131072 = 0 AND NOT x.is_lease AND x.is_wrapped AND o.expiry_date > 0`,
              order: sorted(0),
            },
            ...(v2 ? entries(v2) : []),
          ],
          filters: [
            ...filters,
            ...(parent === undefined ? [] : [`d.parent_id = ${statement.bind(nameIn(parent).node)}`]),
          ],
        };
      },
      show: ({ row }) => listRow(lookup.places, row),
    });
  },
});
