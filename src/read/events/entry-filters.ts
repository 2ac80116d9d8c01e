import type { Hex } from "viem";
import type { z } from "zod/v4";
import {
  anyCaseAddress,
  chainIdParameter,
  contractParameter,
  textParameter,
  wordsParameter,
} from "../../ens/parameters.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";
import { nameIn, namespaceParameter, namespacesIn } from "../names/scopes.ts";
import type { Binder, LookupContext } from "../names/source.ts";
import { secondGeneration } from "../names/stored-name.ts";
import { findContract, historyTypes, type StoredEntry } from "./entries.ts";
import {
  buildValueConditions,
  given,
  inByteOrder,
  inNamespaceOf,
  namespaceOfEntry,
  ofRecord,
  ofRegistrationSince,
  onChain,
  parentOfEntry,
  writesRecord,
} from "./entry-conditions.ts";
import type { HealedName, HistoryQuery } from "./history.ts";
import {
  type EventKind,
  entryType,
  eventKinds,
  findEmitter,
  kindsNamed,
  listEventKinds,
  literal,
  pipelineKinds,
} from "./kinds.ts";
import { partsOfKinds, partsOfName } from "./parts.ts";
import { partsOfAddress } from "./parts-of-address.ts";

// No stored event has the last three types. `healed` is of messages of the feed.
const askedTypes = [...historyTypes, "token", "contract", "healed"] as const;

/** Parameters of all histories: kinds of entries. */
export const entryWords = {
  type: wordsParameter("type", askedTypes)
    .optional()
    .describe(`Only entries of these types: ${askedTypes.map((type) => `\`${type}\``).join(", ")}`),
  exclude_type: wordsParameter("exclude_type", askedTypes).optional().describe("No entries of these types"),
  kind: wordsParameter("kind", [...eventKinds, ...pipelineKinds])
    .optional()
    .describe("Names of events, or of groups as in ENS's own API"),
  record_key: textParameter("record_key", 1_000)
    .optional()
    .describe("Writes of one record: `addr:60`, `text:url`, `contenthash`, `name` or `abi:1`"),
};

/** The parameters that narrow `/v1/events` by what can be told of each entry alone. */
export const entryParameters = {
  ...entryWords,
  namespace: namespaceParameter,
  chain_id: chainIdParameter("chain_id").optional().describe("Events of this chain"),
  name: textParameter("name", 2_000).optional(),
  parent: textParameter("parent", 2_000).optional().describe("Direct subnames of this name"),
  address: anyCaseAddress("address")
    .optional()
    .describe("Account that received something, or whose primary name or roles changed"),
  resolver: contractParameter("resolver").optional().describe("`<chain id>:<address>`: its records"),
  contract_address: anyCaseAddress("contract_address")
    .optional()
    .describe("The emitting contract: a resolver, registrar, reverse registrar, name wrapper or registry"),
};

type EntryWords = z.output<z.ZodObject<typeof entryWords>>;
type KindQuery = Partial<EntryWords> & { scope?: (typeof scopes)[number] };

/** What histories can be limited to. */
export const scopes = ["both", "name", "registration"] as const;

// Types of entries of one scope alone; the others are of both.
const onlyIn: Readonly<Record<string, (typeof scopes)[number]>> = {
  ...{ record: "name", primary_name: "name" },
  ...{ registration: "registration", renewal: "registration", release: "registration" },
  ...{ expiry: "registration", transfer: "registration", permission: "registration" },
  ...{ migration: "registration", reservation: "registration", subregistry: "registration" },
};

/** The kinds of events that a query asks for. */
export function chooseKinds({ type, exclude_type = [], kind, scope = "both" }: KindQuery) {
  return kindsNamed(kind).filter((one) => {
    const of = entryType(one);
    const isInScope = scope === "both" || (onlyIn[of] ?? scope) === scope;
    return isInScope && (type === undefined || type.includes(of)) && !exclude_type.includes(of);
  });
}

/** What a reader of the feed asks of events. */
export type EntryFilter = {
  kinds: ReadonlySet<EventKind>;
  /** The node of a name, if only its events are asked for. */
  node: Hex | undefined;
  /** Whether an entry of one of the kinds is asked for. */
  accepts: (entry: StoredEntry) => boolean;
  /** Whether names that have their labels now are asked for, and this is one of them; `address` narrows them too. */
  healed: (name: HealedName) => boolean;
  address: Hex | undefined;
  /** The same in SQL, with bound values. */
  history: (statement: Binder) => HistoryQuery;
};

type EntryQuery = z.output<z.ZodObject<typeof entryParameters>>;

/** The nodes that a query names. Refuses names and namespaces that mean nothing. */
export function resolveNodes({ namespace, name, parent }: EntryQuery, { lookup }: LookupContext) {
  namespacesIn(lookup, namespace);
  const nodeOf = (text: string | undefined) => (text === undefined ? undefined : nameIn(text).node);
  return { node: nodeOf(name), parent: nodeOf(parent) };
}

/** The filter of the feed that these parameters mean. Refuses names and namespaces that mean nothing. */
export function buildEntryFilter(query: EntryQuery, context: LookupContext): EntryFilter {
  const { namespaces } = context.lookup;
  const nodes = resolveNodes(query, context);
  const kinds = chooseKinds(query).filter((kind) => kind !== "Release");
  const { record_key: key, resolver, contract_address: contract } = query;
  const hasKey = key === undefined || ofRecord(key, String) !== undefined;
  const isOrAny = <T>(asked: T | undefined, value: T) => asked === undefined || asked === value;
  return {
    kinds: new Set(kinds),
    node: nodes.node,
    accepts: (entry) =>
      hasKey &&
      isOrAny(query.namespace, entry.namespace) &&
      isOrAny(query.chain_id, entry.chain) &&
      isOrAny(nodes.parent, entry.parent) &&
      isOrAny(query.address, entry.holder) &&
      (key === undefined || entry.type === "VersionChanged" || writesRecord(entry, key)) &&
      (contract === undefined || findContract(entry, namespaces) === contract) &&
      (resolver === undefined ||
        (findEmitter(entry.type) === "resolver" &&
          entry.chain === resolver.chainId &&
          entry.resolver === resolver.address)),
    healed: (name) =>
      areHealedAsked(query) &&
      isOrAny(query.namespace, name.namespace) &&
      isOrAny(query.chain_id, name.chain) &&
      isOrAny(nodes.node, name.node) &&
      isOrAny(nodes.parent, name.parent),
    address: query.address,
    history: (statement) => {
      const found = buildFilteredParts({ ...query, ...nodes }, { statement, kinds, namespaces });
      return {
        ...found,
        kinds,
        conditions: [...found.conditions, ...buildValueConditions(query, statement)],
      };
    },
  };
}

// No contract emits them.
const areHealedAsked = ({ type, exclude_type = [], ...query }: EntryQuery) =>
  (type?.includes("healed") ?? true) &&
  !exclude_type.includes("healed") &&
  [query.kind, query.record_key, query.resolver, query.contract_address].every((one) => one === undefined);

type NamedNodes = Partial<Omit<ReturnType<typeof resolveNodes>, "parent">> & {
  parent: Hex | undefined;
  registration_id?:
    | { chainId: number; node: string; emitter: "wrapper" | "registry" | undefined; since: string }
    | undefined;
};

type Finding = { statement: Binder; kinds: HistoryQuery["kinds"]; namespaces: readonly IndexedNamespace[] };

/** The parts of a history, and conditions on them: the narrowest filter determines the parts. */
export function buildFilteredParts(
  { node, parent, registration_id, ...query }: Partial<EntryQuery> & NamedNodes,
  { statement: { bind }, kinds, namespaces }: Finding,
): Pick<HistoryQuery, "parts" | "ofEach" | "conditions"> {
  const { resolver, address, contract_address, namespace, chain_id } = query;
  const roles = contract_address === undefined ? [] : listContractRoles(contract_address, namespaces);
  const of = node ?? registration_id?.node;
  const bound = of === undefined ? undefined : inByteOrder(bind(of));
  const holder = address === undefined ? undefined : inByteOrder(bind(address));
  const isHeld = given(holder, (one) => `holder = ${one}`);
  const above = parent === undefined ? undefined : inByteOrder(bind(parent));
  const conditions = [
    ...given(above, (one) => `${parentOfEntry("p")} = ${one}`),
    ...given(namespace, (one) => inNamespaceOf(one, namespaces)),
    ...given(chain_id, (one) => onChain(one, namespaces)),
    ...given(registration_id, ({ chainId, emitter, since }) => [
      onChain(chainId, namespaces),
      emitter === undefined
        ? ofRegistrationSince(bound ?? "", bind(since))
        : `type IN ${literal(listEventKinds(emitter))}`,
      ...(of === registration_id?.node ? [] : ["false"]),
    ]),
    ...given(resolver, ({ chainId }) => [
      onChain(chainId, namespaces),
      "type NOT IN ('NewResolver', 'Release')",
    ]),
    ...(roles.length === 0
      ? []
      : [`(${roles.map(({ own, where }) => `type IN ${literal(own)} AND ${where}`).join(" OR ")})`]),
  ];
  if (bound !== undefined) {
    const atResolver = given(resolver, ({ address }) => `resolver LIKE ${bind(`%${address}-%`)}`);
    return { parts: partsOfName(bound, namespaces), conditions: [...conditions, ...atResolver, ...isHeld] };
  }
  if (resolver !== undefined) {
    const own = kinds.filter((kind) => listEventKinds("resolver").includes(kind));
    const at = own.length > 0 ? { resolver: inByteOrder(bind(resolver.address)) } : {};
    return { parts: partsOfKinds(own, namespaces, at), conditions: [...conditions, ...isHeld] };
  }
  const own =
    roles.length === 0 ? kinds : kinds.filter((kind) => roles.some((role) => role.own.includes(kind)));
  if (holder !== undefined) return { parts: partsOfAddress(holder, namespaces, own), conditions };
  const [role, ...others] = roles;
  const isStranger = role?.isStranger && own.length > 0;
  const stranger = isStranger ? inByteOrder(bind(contract_address ?? "")) : undefined;
  const isOld = others.length === 0 ? role?.isOld : undefined;
  const by = { isOld, ...(stranger ? { resolver: stranger, registryOfV2: stranger } : {}) };
  const parts = partsOfKinds(own, namespaces, by);
  return above === undefined ? { parts, conditions } : filterBelow(above, { parts, conditions }, namespaces);
}

// The most names whose events are read one by one.
const maxBelow = 1_000;

// Events of few subnames are read by name, those of many in the order of time.
function filterBelow(
  parent: string,
  { parts, conditions }: Pick<HistoryQuery, "parts" | "conditions">,
  namespaces: readonly IndexedNamespace[],
) {
  const tables = ["domain", ...(secondGeneration(namespaces) ? ["v2_domains"] : [])];
  const nodes = tables
    .map(
      (table) => `(SELECT d.id AS node FROM ${table} d WHERE d.parent_id = ${parent} LIMIT ${maxBelow + 1})`,
    )
    .join(" UNION ");
  const hasFew = `(SELECT count(*) <= ${maxBelow} FROM (${nodes}) n)`;
  return {
    parts: parts.map((part) => `SELECT * FROM (${part}) w WHERE NOT ${hasFew}`),
    ofEach: {
      from: `(SELECT node FROM (${nodes}) n WHERE ${hasFew}) below`,
      parts: partsOfName("below.node", namespaces, { isOnce: true }),
    },
    conditions: [...conditions, "type <> 'Release'"],
  };
}

/** A role of a contract: the events that it emits, and the condition that it emitted one. */
type ContractRole = { own: HistoryQuery["kinds"]; where: string; isOld?: boolean; isStranger?: boolean };

// An unknown contract can be a resolver or an ENSv2 registry.
function listContractRoles(contract: string, namespaces: readonly IndexedNamespace[]): ContractRole[] {
  const known = namespaces.flatMap((home): (ContractRole & { at: string | undefined })[] => {
    const { chainId, namespace, nameWrapper, registrar, registry, oldRegistry, reverseRegistrars } = home;
    const isHere = `${onChain(chainId, namespaces)} AND ${namespaceOfEntry(namespaces, "p")} = '${namespace}'`;
    const ofRegistry = listEventKinds("registry");
    return [
      { at: nameWrapper, own: listEventKinds("wrapper"), where: isHere },
      { at: registrar, own: listEventKinds("registrar"), where: isHere },
      { at: registry, own: ofRegistry, where: `${isHere} AND old IS NOT TRUE`, isOld: false },
      { at: oldRegistry, own: ofRegistry, where: "old", isOld: true },
      ...[...reverseRegistrars].map(([chain, at]) => ({
        at,
        own: listEventKinds("reverseRegistrar"),
        where: onChain(chain, namespaces),
      })),
    ];
  });
  const roles = known.filter(({ at }) => at === contract);
  if (roles.length > 0) return roles;
  const ofResolver = {
    own: listEventKinds("resolver"),
    where: `resolver LIKE '%${contract}-%'`,
    isStranger: true,
  };
  const ofV2 = { own: listEventKinds("registryOfV2"), where: `key = '${contract}'`, isStranger: true };
  return secondGeneration(namespaces) ? [ofResolver, ofV2] : [ofResolver];
}
