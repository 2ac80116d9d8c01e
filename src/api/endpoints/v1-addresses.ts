import type { Hex } from "viem";
import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import { isEvmCoinType } from "../../ens/reverse-names.ts";
import { claimSql, forwardSql, mostCountedOfAddress, reverseNode } from "../lookup/address-sql.ts";
import { closedQuery, cursorParameter, lookupEnvelope, pageSize, refuse } from "../lookup/contract.ts";
import { namesHeldBy, partsOfNames, secondGeneration } from "../lookup/generations.ts";
import { type Binder, type Branch, byName, byNumber, sortedByName } from "../lookup/list-sql.ts";
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
import { defaultCoin } from "../lookup/name-records.ts";
import { opaque } from "../lookup/name-rows.ts";
import { anywhereIn, beginsWith } from "../lookup/names-with-text.ts";
import { chainOfPlace, ownsNothing } from "../lookup/places.ts";
import { addressRow } from "../lookup/rows.ts";
import { lastHolder, ownResolver, resolverSql } from "../lookup/stored-name.ts";
import { endpoint } from "../rest/endpoint.ts";
import { addressParameter } from "../rest/values.ts";

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
  dedupe: choice("dedupe", ["name"]).optional().meta({ description: "One row for each name" }),
  cursor: cursorParameter,
  page_size: pageSize,
});
type Relation = z.output<typeof query>["relation"];

/** GET /v1/addresses/{address}/names. */
export const addressNames = endpoint({
  path: "/v1/addresses/{address}/names",
  tag: "Lookup",
  summary: "Names of an address on all indexed chains",
  description: `By role: what it owns, manages, resolves to it, or what it held until it ended. \`total_count\` is exact up to ${mostCountedOfAddress}, else null. \`is_primary\` is the claim of the address; of a claimed name \`is_primary_verified\` says whether it resolves to the address, where the index can tell.`,
  envelope: lookupEnvelope,
  params: z.object({ address: addressParameter("address") }),
  query,
  needs: needsNames,
  answers: { 200: listAnswer, 404: notFoundAnswer },
  handle: (context: LookupContext) => async (call) => {
    const { lookup } = context;
    const { address } = call.params;
    const { cursor: _, page_size: __, dedupe: ___, ...list } = call.query;
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
        const text = q?.toLowerCase();
        const begins =
          text === undefined || match === "contains" ? undefined : beginsWith(statement.bind, text);
        const anywhere =
          text === undefined || match === "prefix"
            ? []
            : [anywhereIn(statement.bind, text, { isOfAll: false }).text];
        const found = branchesOf(relation, {
          source: lookup,
          statement,
          address,
          coinType: coin_type,
          sort,
        });
        return {
          branches: found.branches.map(({ name, ...branch }) =>
            begins === undefined ? branch : { ...branch, where: `${branch.where} AND ${begins(name)}` },
          ),
          filters: [
            ...found.filters,
            ...ofNamespace,
            ...(parent === undefined ? [] : [`d.parent_id = ${statement.bind(nameIn(parent).node)}`]),
            ...anywhere,
            ...(status === undefined ? [] : ["x.status = 'active'"]),
          ],
        };
      },
      extra: (statement) => {
        const relations = relationsOf(relation, () => statement.bind(address));
        if (!lookup.hasRecords) return { relations };
        const reverse = statement.bind(reverseNode(address));
        const claim = claimSql(lookup.places, statement.bind(address), reverse);
        const isPrimary = `coalesce(d.name = ${claim}, false)`;
        const forward = `CASE WHEN ${isPrimary} THEN ${forwardSql(lookup.places, statement.bind(address))} ELSE 'null'::json END`;
        return { relations, isPrimary, forward };
      },
      ...(relation === "resolves_to" || relation === "former_owner"
        ? {}
        : { mostCounted: mostCountedOfAddress }),
      show: (listed) => addressRow(lookup.places, listed, lookup.known),
    });
  },
});

type Finding = {
  source: LookupContext["lookup"];
  statement: Binder;
  address: Hex;
  coinType: string;
  sort: keyof typeof sorts;
};

/** `name`: SQL of the name by which the branch is sorted. */
type Found = { branches: (Branch & { name?: string })[]; filters: string[] };

function branchesOf(relation: Relation, finding: Finding): Found {
  const { source, statement, address, sort } = finding;
  const { places } = source;
  const holder = statement.bind(address);
  if (relation === "resolves_to") return resolving(finding, holder);
  const isNobody = ownsNothing(places, address) ? " AND false" : "";
  const held = namesHeldBy(places, holder).map((found) => ({
    ...found,
    where: `${found.where}${isNobody}`,
    order: sort === "name" ? sortedByName(found) : sorts[sort],
  }));
  if (relation === "former_owner") {
    const entry = secondGeneration(places)
      ? `CASE WHEN g.is_v2 THEN v.holder ELSE ${lastHolder} END`
      : lastHolder;
    return {
      branches: held.filter(({ by }) => by !== "owner_id"),
      filters: ["x.status = 'released'", `${entry} = ${holder}`],
    };
  }
  const owner = relation === "manager" ? [] : [`x.owner = ${holder}`];
  const manager = relation === "owner" ? [] : [`x.manager = ${holder}`];
  return { branches: held, filters: [`(${[...owner, ...manager].join(" OR ")})`] };
}

// Address records of names' resolvers. An address that a resolver stores counts while it is the name's resolver; the default one
// where the resolver returns it and the name has no record of its own (ENSIP-19). Nothing resolves to zero.
function resolving({ source, statement, address, coinType, sort }: Finding, holder: string): Found {
  const { places, known, hasRecords } = source;
  const order = sorts[sort];
  const [first = ""] = partsOfNames(places);
  const root = places[0]?.chainId ?? 0;
  const isZero = address === zeroAddress ? " AND false" : "";
  const isSimple =
    secondGeneration(places) === undefined && places.every(({ linker }) => linker === undefined);
  const inForce = (resolver: string, chain: string | number) =>
    isSimple
      ? `${ownResolver} = ${resolver} AND ${chain} = ${root}`
      : opaque(`${resolverSql(places)} = ${resolver} AND ${chainOfPlace(places)} = ${chain}`);
  const stored = (condition: string): Branch => ({
    from: `resolver_address_records a JOIN ${first} ON d.id = a.node`,
    where: `left(a.value, 256) = ${holder} AND ${condition} AND ${inForce("a.address", "a.chain_id")}${isZero}`,
    order,
  });
  const coin = statement.bind(coinType);
  const exact =
    coinType === "60"
      ? [
          {
            from: first,
            where: `d.resolved_address_id = ${holder} AND ${inForce(ownResolver, root)}${isZero}`,
            order,
          },
          ...(isSimple ? [] : [stored(`a.coin_type = ${coin}::numeric AND a.chain_id <> ${root}`)]),
        ]
      : [stored(`a.coin_type = ${coin}::numeric`)];
  const general = [...new Set(places.map(({ chainId }) => chainId))].flatMap((chain) =>
    known.resolversWithDefault(chain).map((resolver) => `(${chain}, '${resolver}')`),
  );
  const hasDefault = hasRecords && isEvmCoinType(BigInt(coinType)) && coinType !== defaultCoin;
  return {
    branches: [
      ...exact,
      ...(hasDefault && general.length > 0
        ? [
            stored(`a.coin_type = ${defaultCoin} AND (a.chain_id, a.address) IN (${general.join(", ")})
    AND NOT EXISTS (SELECT FROM resolver_address_records o WHERE o.chain_id = a.chain_id AND o.address = a.address AND o.node = a.node AND o.coin_type = ${coin}::numeric)`),
          ]
        : []),
    ],
    filters: [],
  };
}

// A value that is bound must be used.
function relationsOf(relation: Relation, bind: () => string): string {
  if (relation === "resolves_to" || relation === "former_owner") return `json_build_array('${relation}')`;
  const holder = bind();
  return `array_to_json(array_remove(ARRAY[CASE WHEN x.owner = ${holder} THEN 'owner' END, CASE WHEN x.manager = ${holder} THEN 'manager' END], NULL))`;
}
