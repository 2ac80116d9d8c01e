import type { Hex } from "viem";
import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import { parseNativeAddress } from "../../ens/native-addresses.ts";
import { parseAccountKey } from "../../ens/owned-accounts.ts";
import {
  anyCaseAddress,
  booleanParameter,
  choice,
  closedQuery,
  oneText,
  textParameter,
} from "../../ens/parameters.ts";
import { isEvmCoinType, reverseNode } from "../../ens/reverse-names.ts";
import { HttpError } from "../../http/error.ts";
import { addKeys, keyOfAll, keysOfAddress, unkeyed } from "../../read/names/cache-keys.ts";
import { withCounts } from "../../read/names/counts.ts";
import { type IndexedNamespace, isCustodian } from "../../read/names/indexed-namespaces.ts";
import { type Branch, byNumber, sortedByName, sorts, withText } from "../../read/names/lists.ts";
import {
  claimOfCoin,
  claimSql,
  forwardSql,
  maxCountedOfAddress,
  readGivenNames,
} from "../../read/names/lookups.ts";
import { namesByRecord } from "../../read/names/record-keys.ts";
import {
  addressRow,
  defaultCoin,
  detailRow,
  findRecord,
  type NameRow,
  rowSchema,
} from "../../read/names/rows.ts";
import { inNamespace, nameIn, namespaceParameter, ofAuthority } from "../../read/names/scopes.ts";
import type { Binder, LookupContext, StatementCall } from "../../read/names/source.ts";
import {
  nameOfNode,
  namesHeldBy,
  noExpiry,
  ownResolver,
  partsOfNames,
  type StoredName,
  secondGeneration,
} from "../../read/names/stored-name.ts";
import { isCurrentRecord } from "../../read/names/v2-records.ts";
import { refuse } from "../../read/refusal.ts";
import { hasMoreRoles, hasRole, namesByRole } from "../../read/roles/holders.ts";
import { withSummaries } from "../../read/roles/permissions.ts";
import { planOnce } from "../../read/sql/prepared.ts";
import { endpoint } from "../kit/endpoint.ts";
import { cursorParameters } from "../kit/paging.ts";
import { listPosition, windowEnd } from "./contract.ts";
import { checkOrder } from "./history.ts";
import { describeAnswers, listPage, ofLookup, pageShape, requireRecords } from "./lists.ts";
import {
  authorityParameter,
  includeParameter,
  type Relation,
  type RelationOfState,
  relationText,
} from "./parameters.ts";

const orders = { ...sorts, created_at: byNumber("domain.created_at", { isDerived: false }) };

// The limit of `include=total_count`.
const maxCountedAsked = 100_000;

const query = closedQuery({
  namespace: namespaceParameter,
  relation: relationText.describe(
    "Any of `owner`, `manager` and `role_holder`, `any` for all three, or `resolves_to`, `former_owner` or `owned_account` alone; default `any`",
  ),
  coin_type: oneText("coin_type")
    .regex(/^(\d{1,19}|evm)$/, { error: "coin_type must be decimal digits, or evm", abort: true })
    .transform((text) => (text === "evm" ? text : String(BigInt(text))))
    .optional()
    .describe("With `relation=resolves_to`: coin type of the record, or `evm` for any EVM chain; default 60"),
  q: textParameter("q", 500).optional().describe("Text that the name contains"),
  match: choice("match", ["prefix", "contains"]).default("prefix"),
  parent: textParameter("parent", 500).optional().describe("Only its direct subnames"),
  status: choice("status", ["active"]).optional().describe("Omits names that have ended"),
  authority: authorityParameter,
  is_migrated: booleanParameter("is_migrated")
    .optional()
    .describe("Whether the name was migrated from ENSv1 to ENSv2"),
  expires_after: windowEnd("expires_after", "inclusive; with `relation=former_owner`"),
  expires_before: windowEnd("expires_before", "exclusive; with `relation=former_owner`"),
  sort: choice("sort", ["name", "expires_at", "registered_at", "created_at"])
    .optional()
    .describe("Default `name`; with `relation=former_owner` only `expires_at`"),
  order: choice("order", ["asc", "desc"]).default("asc"),
  dedupe: choice("dedupe", ["name", "registration"])
    .optional()
    .describe("One row per name, which has one registration"),
  include: includeParameter(["counts", "total_count", "role_summary"]).describe(
    `\`counts\`: of subnames and records; \`total_count\`: exact up to ${maxCountedAsked}, null with \`resolves_to\` and \`owned_account\`; \`role_summary\`: who has which powers over each name`,
  ),
  ...listPosition,
  ...cursorParameters,
});

const maxResolutions = 100;
const tooManyCoins = `A name has the address for more than ${maxResolutions} coin types: ask for one of them`;

const isMigrated = "names.is_v2 AND names.v2->>'migrated' IS NOT NULL";

type AskedNames = z.output<typeof query>;

// Parameters that have a meaning with one relation alone, and those that have none with a relation.
const neededBy = {
  coin_type: "resolves_to",
  expires_after: "former_owner",
  expires_before: "former_owner",
} as const;
const refusedWith: Readonly<Record<string, readonly (keyof AskedNames)[]>> = {
  resolves_to: ["is_migrated"],
  former_owner: ["q", "include", "authority", "is_migrated"],
  owned_account: ["is_migrated"],
};

function checkRelation(asked: AskedNames): void {
  const { sort = "expires_at", dedupe, expires_after, expires_before } = asked;
  const { alone: relation = "" } = asked.relation;
  checkOrder({ expires_after, expires_before });
  for (const [name, needed] of Object.entries(neededBy))
    if (asked[name as keyof typeof neededBy] !== undefined && relation !== needed)
      refuse("invalid_input", `${name} needs relation=${needed}`);
  for (const name of refusedWith[relation] ?? [])
    if (asked[name] !== undefined)
      refuse("invalid_input", `${name} is not supported with relation=${relation}`);
  if (relation === "former_owner" && sort !== "expires_at")
    refuse("invalid_input", "sort must be expires_at with relation=former_owner");
  if (relation === "former_owner" && dedupe === "registration")
    refuse("invalid_input", "dedupe=registration is not supported with relation=former_owner");
}

const evmAddress = anyCaseAddress("address");

// The address as records have it. One of a coin without EVM is not the holder of anything.
function readAddressInPath(given: string, { relation, coin_type = "60" }: AskedNames): Hex {
  const { data, error } = evmAddress.safeParse(given);
  if (data !== undefined) return data;
  const isNative =
    relation.alone === "resolves_to" && coin_type !== "evm" && !isEvmCoinType(BigInt(coin_type));
  const bytes = isNative ? parseNativeAddress(coin_type, given.trim()) : undefined;
  if (typeof bytes === "string") return bytes;
  const reason = bytes && `address must be one of coin type ${coin_type}, but is ${bytes.reason}`;
  const fault = { code: "invalid_input", details: { field: "address" } };
  throw new HttpError(400, reason ?? error.issues[0]?.message ?? "", fault);
}

/** GET /v1/addresses/{address}/names. */
export const addressNames = endpoint({
  ...ofLookup,
  path: "/v1/addresses/{address}/names",
  summary: "Names of an address on all indexed chains",
  description: `By role: names that it owns or manages, that resolve to it, that it held until they ended, or that claim it as an account of theirs (ENSIP-28; \`/v1/names/{name}/accounts\` checks its consent). \`total_count\` is exact up to ${maxCountedOfAddress}, else null. \`is_primary\` is the claim of the address; for a claimed name, \`is_primary_verified\` says whether it resolves to the address, if the index can tell.`,
  params: z.object({
    address: textParameter("address", 200).describe(
      "20 bytes in hex; with `relation=resolves_to` also a native address of the `coin_type`, such as `bc1q…`",
    ),
  }),
  query,
  answers: describeAnswers("A page of names, possibly empty", pageShape(rowSchema), 404, 422),
  handle: async (call, context: LookupContext) => {
    const { lookup } = context;
    checkRelation(call.query);
    const address = readAddressInPath(call.params.address, call.query);
    const { order, relation, match, include = [], coin_type = "60" } = call.query;
    addKeys(
      call,
      ...keysOfAddress(lookup.namespaces, address),
      ...(include.includes("counts") ? [keyOfAll] : []),
    );
    const isClaimed = relation.alone === "owned_account";
    const isByRecord = isClaimed || relation.alone === "resolves_to";
    if (isClaimed) requireRecords(lookup, "relation=owned_account");
    // Data records are no events of a name, and in ENSv2 neither are roles and other records.
    const isUnkeyed = isByRecord || include.includes("role_summary");
    if (isClaimed || (secondGeneration(lookup.namespaces) && isUnkeyed)) addKeys(call, unkeyed);
    const { namespace, parent, q, status, authority, is_migrated, expires_after, expires_before } =
      call.query;
    const { sort = relation.alone === "former_owner" ? "expires_at" : "name" } = call.query;
    const window = { expires_after, expires_before };
    const given = { namespace, parent, q, status, authority, is_migrated, ...window };
    const asked = { lookup, address, relation, coinType: coin_type, sort, order };
    const ofKind = [...inNamespace(lookup, namespace), ...ofAuthority(authority, lookup.namespaces)];
    if (is_migrated !== undefined) ofKind.push(`${is_migrated ? "" : "NOT "}(${isMigrated})`);
    if (status !== undefined) ofKind.push("names.status = 'active'");
    const maxCounted = include.includes("total_count") ? maxCountedAsked : maxCountedOfAddress;
    const shown = new Map<string, StoredName>();
    const listed = listPage(context, call, {
      list: ["addresses", address, { relation, coin_type, match, sort, order, ...given }],
      isCommon:
        sort === "name" &&
        order === "asc" &&
        coin_type === "60" &&
        Object.values(given).every((one) => one === undefined),
      isDescending: order === "desc",
      // Names by roles alone are in the order of another row.
      hasFew: !isByRecord && relation.of.join() !== "role_holder",
      branches: (statement) => {
        const { branches, filters } = buildBranches(asked, statement);
        const ofParent = parent && `domain.parent_id = ${statement.bind(nameIn(parent).node)}`;
        return {
          ...withText(branches, statement, { text: q?.toLowerCase(), match }),
          rowFilters: ofParent ? [ofParent] : [],
          filters: [...filters, ...ofKind, ...buildExpiryConditions(window, statement)],
        };
      },
      extra: (statement) => buildExtra(asked, statement),
      maxCounted: relation.alone === undefined ? maxCounted : undefined,
      of: isByRecord ? undefined : { holder: address },
      show: (listed) => {
        shown.set(listed.row.node, listed.row);
        return {
          ...addressRow(lookup.namespaces, listed, lookup.known),
          ...(listed.coins && buildResolutions(listed.coins, coin_type)),
        };
      },
    });
    const [{ body: found }, meta] = await Promise.all([listed, describeRolesNotRead(asked, call)]);
    const data = isByRecord ? await forward(lookup, call, { address, rows: found.data, shown }) : found.data;
    const page = { ...found, data, meta: { ...found.meta, ...meta } };
    const counted = include.includes("counts") ? await withCounts(lookup, call, page, true) : page;
    const body = include.includes("role_summary")
      ? await withSummaries(lookup, call, counted, shown)
      : counted;
    return { status: 200, body };
  },
});

// What `meta` says where an address has more roles than are read: it may be the role holder of more names.
async function describeRolesNotRead({ lookup, address, relation }: AddressRequest, call: StatementCall) {
  const v2 = secondGeneration(lookup.namespaces);
  if (v2 === undefined || !relation.of.includes("role_holder")) return {};
  const sql = planOnce(`SELECT (${hasMoreRoles(v2, "$1")})::text`);
  const [isMore] = await lookup.database.row(sql, [address], call.request.raw.signal);
  const reason = { unsupported_fields: ["relations"], unsupported_reason: "roles_above_limit" };
  return isMore === "true" ? { completeness: "partial" as const, ...reason } : {};
}

// Leaves out names of ENSv2 whose records are others: an alias leads elsewhere, records were cleared, or the resolver
// is of unknown code.
async function forward(
  lookup: LookupContext["lookup"],
  call: StatementCall,
  {
    address,
    rows,
    shown,
  }: { address: Hex; rows: readonly NameRow[]; shown: ReadonlyMap<string, StoredName> },
): Promise<NameRow[]> {
  const given = rows.flatMap(({ namehash }) => (shown.get(namehash)?.v2?.isInForce ? namehash : []));
  const read = await readGivenNames(lookup, call, { given, withRecords: true });
  const names = new Map(given.map((node, at) => [node, read[at]?.found]));
  return rows.flatMap((row) => {
    const found = names.get(row.namehash);
    if (!found) return names.has(row.namehash) ? [] : row;
    const detail = detailRow(lookup.namespaces, found, lookup.known);
    if (row.relations?.includes("owned_account"))
      return detail.records?.seen_data?.some((key) => parseAccountKey(key)?.account === address) ? row : [];
    const { resolution, resolutions = [] } = row;
    const own = [resolution ?? [], resolutions].flat().filter(({ record_key: key }) => {
      const { value } = findRecord(detail, key, { found, fallback: undefined });
      return value === address;
    });
    if (own.length === 0) return [];
    return resolution ? row : { ...row, resolutions: own };
  });
}

type AddressRequest = {
  lookup: LookupContext["lookup"];
  address: Hex;
  relation: Relation;
  coinType: string;
  sort: keyof typeof orders;
  order: "asc" | "desc";
};

// Members beyond the name's own. The primary name is the address's claim for the coin type.
function buildExtra({ lookup, address, relation, coinType }: AddressRequest, statement: Binder) {
  const holder = statement.bind(address);
  const coins = relation.alone === "resolves_to" ? buildMatchedCoinsSql(lookup, holder, coinType) : undefined;
  const extra = {
    relations: buildRelationsSql(lookup.namespaces, relation, holder),
    ...(coins && { coins }),
  };
  if (coins && coinType !== "60" && coinType !== "evm")
    return { ...extra, isPrimary: `coalesce(domain.name = ${claimOfCoin(holder, coinType)}, false)` };
  const claim = claimSql(lookup, holder, statement.bind(reverseNode(address)));
  if (coins && coinType === "evm")
    return { ...extra, isPrimary: `coalesce(${claimedInEvm(claim, holder, coins)}, false)` };
  const isPrimary = `coalesce(domain.name = ${claim}, false)`;
  const forward = `CASE WHEN ${isPrimary} THEN ${forwardSql(lookup, holder)} ELSE 'null'::json END`;
  return { ...extra, isPrimary, forward };
}

/** `name`: SQL of the name by which the branch is sorted. */
type AddressBranches = { branches: (Branch & { name?: string })[]; filters: string[] };

function buildBranches(asked: AddressRequest, { bind }: Binder): AddressBranches {
  const { lookup, address, relation, sort } = asked;
  const { namespaces } = lookup;
  if (relation.alone === "owned_account") {
    const claiming = namesByRecord(namespaces, { bind }, { account: address });
    return { branches: [{ ...claiming, order: orders[sort] }], filters: ["names.status <> 'released'"] };
  }
  const holder = bind(address);
  if (relation.alone === "resolves_to") return buildResolvingBranches(asked, holder);
  const isNobody = isCustodian(namespaces, address) ? " AND false" : "";
  const held = namesHeldBy(namespaces, holder).map((found) => ({
    ...found,
    where: `${found.where}${isNobody}`,
    order: sort === "name" ? sortedByName(found) : orders[sort],
  }));
  if (relation.alone !== undefined) {
    return {
      branches: held.filter(({ by }) => by !== "owner_id"),
      // A name of ENSv2 has no owner from its expiry on.
      filters: [
        "(names.status = 'released' OR names.is_v2 AND names.status = 'expired')",
        `names.last_holder = ${holder}`,
      ],
    };
  }
  const filters = [`(${relation.of.map((one) => isRelated(namespaces, one, holder)).join(" OR ")})`];
  const byRole = relation.of.includes("role_holder")
    ? namesByRole(namespaces, holder, asked.order === "desc")
    : undefined;
  if (byRole === undefined) return { branches: held, filters };
  const sorted = [byRole.sorted, byRole.id].map((sql) => ({ sql, type: "text" as const }));
  const order = sort === "name" ? sorted : orders[sort];
  const ofRole = { ...byRole, where: `${byRole.where}${isNobody}`, order };
  return { branches: relation.of.length === 1 ? [ofRole] : [...held, ofRole], filters };
}

/** SQL condition that an address has a relation to a row of `names`. */
function isRelated(
  namespaces: readonly IndexedNamespace[],
  relation: RelationOfState,
  holder: string,
): string {
  if (relation !== "role_holder") return `names.${relation} = ${holder}`;
  const v2 = secondGeneration(namespaces);
  return v2 === undefined ? "false" : hasRole(v2, holder);
}

// SQL conditions that names have a date, and one within a window.
function buildExpiryConditions(
  { expires_after: from, expires_before: to }: Pick<AskedNames, "expires_after" | "expires_before">,
  { bind }: Binder,
): string[] {
  const ends = [
    ...(from === undefined ? [] : [`names.expires >= ${bind(from)}::numeric`]),
    ...(to === undefined ? [] : [`names.expires < ${bind(to)}::numeric`]),
  ];
  return ends.length === 0 ? [] : [`names.expires NOT IN (0, ${noExpiry})`, ...ends];
}

// Names by the address records of their resolvers: a stored record counts while its resolver is the name's; the default
// one if the resolver falls back to it and the name has no record of its own (ENSIP-19). No name resolves to zero.
function buildResolvingBranches(
  { lookup, address, coinType, sort }: AddressRequest,
  holder: string,
): AddressBranches {
  const { namespaces, known, hasRecords } = lookup;
  const order = orders[sort];
  const isEvm = coinType === "evm";
  const [first = ""] = partsOfNames(namespaces);
  const root = namespaces[0]?.chainId ?? 0;
  // Names of ENSv1 on the root chain have the address beside them.
  const elsewhere = secondGeneration(namespaces) ? "" : ` AND a.chain_id <> ${root}`;
  const isZero = address === zeroAddress ? " AND false" : "";
  const inForce = (where: string, resolver: string, chain: string | number) => ({
    where: `${where}${isZero}`,
    derived: [`names.resolver = ${resolver} AND names.chain = ${chain}`],
  });
  // A name may have the address in several records.
  const stored = (condition: string): Branch => ({
    from: `(SELECT DISTINCT a.chain_id, a.address, a.node FROM ${buildAddressRecordsSql(namespaces)} a
      WHERE left(a.value, 256) = ${holder} AND ${condition}) a ${nameOfNode(namespaces, "a.node")}`,
    ...inForce("true", "a.address", "a.chain_id"),
    order,
  });
  // Digits only, so it is inlined: a statement must use each of its values.
  const coin = `${coinType}::numeric`;
  const exact =
    coinType === "60" || isEvm
      ? [
          { from: first, ...inForce(`domain.resolved_address_id = ${holder}`, ownResolver, root), order },
          stored(isEvm ? `(${isEvmCoin})` : `a.coin_type = ${coin}${elsewhere}`),
        ]
      : [stored(`a.coin_type = ${coin}`)];
  const general = [...new Set(namespaces.map(({ chainId }) => chainId))].flatMap((chain) =>
    known.resolversWithDefault(chain).map((resolver) => `(${chain}, '${resolver}')`),
  );
  const filters = ["names.status <> 'released' AND NOT names.is_unresolvable"];
  const hasDefault = hasRecords && !isEvm && isEvmCoinType(BigInt(coinType)) && coinType !== defaultCoin;
  if (!hasDefault || general.length === 0) return { branches: exact, filters };
  const byDefault = `a.coin_type = ${defaultCoin} AND (a.chain_id, a.address) IN (${general.join(", ")})
    AND NOT EXISTS (SELECT FROM resolver_address_records o WHERE o.chain_id = a.chain_id AND o.address = a.address AND o.node = a.node AND o.coin_type = ${coin})`;
  return { branches: [...exact, stored(byDefault)], filters };
}

/**
 * SQL of the stored address records: under nodes, and in ENSv2 under record ids, of each node that is linked to one.
 */
function buildAddressRecordsSql(namespaces: readonly IndexedNamespace[]): string {
  if (secondGeneration(namespaces) === undefined) return "resolver_address_records";
  return `(SELECT chain_id, address, node, coin_type, value FROM resolver_address_records UNION ALL
    SELECT l.chain_id, l.resolver, l.node, CASE WHEN r.kind = 'address' AND length(r.key) < 19 THEN r.key::bigint END, r.value
    FROM v2_records r JOIN v2_record_links l USING (chain_id, resolver, record_id) WHERE r.kind = 'address' AND ${isCurrentRecord("r")})`;
}

// 60, and those from the default one on (ENSIP-19).
const isEvmCoin = `a.coin_type = 60 OR a.coin_type BETWEEN ${defaultCoin} AND ${2n * BigInt(defaultCoin) - 1n}`;

/**
 * SQL of the requested coin types whose record at the resolver in force is the address, as a JSON list, or the default
 * one for them.
 */
function buildMatchedCoinsSql(
  { hasRecords, namespaces }: AddressRequest["lookup"],
  holder: string,
  coinType: string,
) {
  if (!hasRecords) return "'[60]'::json";
  const isAsked = coinType === "evm" ? isEvmCoin : `a.coin_type IN (${coinType}, ${defaultCoin})`;
  return `(SELECT coalesce(json_agg(a.coin_type ORDER BY a.coin_type), '[]') FROM (SELECT a.coin_type FROM ${buildAddressRecordsSql(namespaces)} a
    WHERE a.chain_id = names.chain AND a.address = names.resolver AND a.node = domain.id AND a.value = ${holder} AND (${isAsked})
    ORDER BY a.coin_type LIMIT ${maxResolutions + 1}) a)`;
}

// Whether the address claims the name for any of the matched coin types.
const claimedInEvm = (
  claim: string,
  holder: string,
  coins: string,
) => `(SELECT bool_or(CASE WHEN c.coin = '60' THEN domain.name = ${claim}
  ELSE EXISTS (SELECT FROM reverse_name_records r WHERE r.address = ${holder} AND r.coin_type = c.coin::bigint AND r.value = domain.name) END)
  FROM json_array_elements_text(${coins}) c (coin))`;

function buildResolutions(
  coins: readonly number[],
  coinType: string,
): Pick<NameRow, "resolution" | "resolutions"> {
  const of = (coin: number | string, record: number | string) => ({
    coin_type: Number(coin),
    record_key: `addr:${record}`,
  });
  if (coinType !== "evm")
    return { resolution: of(coinType, coins.includes(Number(coinType)) ? coinType : defaultCoin) };
  if (coins.length > maxResolutions) refuse("unsupported", tooManyCoins);
  return { resolutions: coins.map((coin) => of(coin, coin)) };
}

function buildRelationsSql(
  namespaces: readonly IndexedNamespace[],
  relation: Relation,
  holder: string,
): string {
  if (relation.alone) return `json_build_array('${relation.alone}')`;
  const words = relation.of.map((one) => `CASE WHEN ${isRelated(namespaces, one, holder)} THEN '${one}' END`);
  return `array_to_json(array_remove(ARRAY[${words.join(", ")}], NULL))`;
}
