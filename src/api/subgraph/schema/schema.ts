import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  GraphQLID,
  GraphQLIncludeDirective,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLSkipDirective,
  GraphQLString,
} from "graphql";
import { type EntityType, entityTypes, type Field } from "./entities.ts";
import { filterKeys, sortKeys } from "./inputs.ts";

/** The GraphQL schema that introspection shows, `hasV2`: with the fields of ENSv2. It resolves nothing: responses are built by SQL. */
export function createSchema({ hasV2 }: { hasV2: boolean } = { hasV2: false }): GraphQLSchema {
  const named = namedTypes(hasV2);
  const query = new GraphQLObjectType({ name: "Query", fields: () => rootFields(named) });
  return new GraphQLSchema({ query, types: [...named.values()], directives: directives() });
}

type Named = Map<string, GraphQLNamedType>;

function namedTypes(hasV2: boolean): Named {
  const named: Named = new Map();
  const add = (...types: GraphQLNamedType[]) => {
    for (const type of types) named.set(type.name, type);
  };
  add(GraphQLID, GraphQLString, GraphQLInt, GraphQLBoolean);
  for (const name of ["BigInt", "Bytes", "BigDecimal", "Int8", "Timestamp"]) {
    add(new GraphQLScalarType({ name, description: describe(name) }));
  }
  add(enumeration("OrderDirection", ["asc", "desc"]));
  add(enumeration("_SubgraphErrorPolicy_", ["allow", "deny"]));
  add(enumeration("Aggregation_interval", ["hour", "day"]));
  add(inputs(named, "Block_height", { hash: "Bytes", number: "Int", number_gte: "Int" }));
  add(inputs(named, "BlockChangedFilter", { number_gte: "Int!" }));
  add(outputs(named, "_Block_", { hash: "Bytes", number: "Int!", timestamp: "Int", parentHash: "Bytes" }));
  add(outputs(named, "_Meta_", { block: "_Block_!", deployment: "String!", hasIndexingErrors: "Boolean!" }));
  for (const type of entityTypes.values()) {
    add(entity(named, type, hasV2));
    add(inputs(named, `${type.name}_filter`, () => filterInputs(type)));
    add(enumeration(`${type.name}_orderBy`, [...sortKeys(type).keys()]));
  }
  return named;
}

function filterInputs(type: EntityType): Record<string, string> {
  return Object.fromEntries([...filterKeys(type)].map(([key, { input }]) => [key, input]));
}

function entity(named: Named, type: EntityType, hasV2: boolean): GraphQLNamedType {
  const config = {
    name: type.name,
    description: describe(type.name),
    fields: () =>
      Object.fromEntries(
        [...type.fields.values()]
          .filter((field) => hasV2 || field.kind !== "scalar" || !field.isWalked)
          .map((field) => [field.name, entityField(named, type, field)]),
      ),
  };
  if (type.kind === "interface") return new GraphQLInterfaceType({ ...config, resolveType: () => undefined });
  return new GraphQLObjectType({
    ...config,
    interfaces: () =>
      type.interface === undefined ? [] : [get(named, type.interface) as GraphQLInterfaceType],
  });
}

function entityField(named: Named, type: EntityType, field: Field): GraphQLFieldConfig<unknown, unknown> {
  const isList = field.kind === "derived" && field.many;
  return {
    type: outputType(named, typeText(field)),
    description: describe(`${type.name}.${field.name}`),
    ...(isList ? { args: listArguments(named, field.target) } : {}),
  };
}

function typeText(field: Field): string {
  const mark = field.nullable ? "" : "!";
  if (field.kind === "scalar") return field.list ? `[${field.scalar}!]${mark}` : `${field.scalar}${mark}`;
  return field.kind === "derived" && field.many ? `[${field.target}!]${mark}` : `${field.target}${mark}`;
}

function rootFields(named: Named): Record<string, GraphQLFieldConfig<unknown, unknown>> {
  const fields: Record<string, GraphQLFieldConfig<unknown, unknown>> = {};
  const state: GraphQLFieldConfigArgumentMap = {
    block: { type: inputType(named, "Block_height"), description: describe("block") },
    subgraphError: {
      type: inputType(named, "_SubgraphErrorPolicy_!"),
      defaultValue: "deny",
      description: describe("subgraphError"),
    },
  };
  for (const type of entityTypes.values()) {
    const id = { type: inputType(named, "ID!"), description: describe("id") };
    fields[type.singular] = { type: outputType(named, type.name), args: { id, ...state } };
    fields[type.plural] = {
      type: outputType(named, `[${type.name}!]!`),
      args: { ...listArguments(named, type.name), ...state },
    };
  }
  const block = { type: inputType(named, "Block_height") };
  fields["_meta"] = { type: outputType(named, "_Meta_"), args: { block }, description: describe("_meta") };
  return fields;
}

function listArguments(named: Named, target: string): GraphQLFieldConfigArgumentMap {
  return {
    skip: { type: GraphQLInt, defaultValue: 0 },
    first: { type: GraphQLInt, defaultValue: 100 },
    orderBy: { type: inputType(named, `${target}_orderBy`) },
    orderDirection: { type: inputType(named, "OrderDirection") },
    where: { type: inputType(named, `${target}_filter`) },
  };
}

function enumeration(name: string, values: string[]): GraphQLEnumType {
  const entries = values.map((value) => [value, { value }]);
  return new GraphQLEnumType({ name, description: describe(name), values: Object.fromEntries(entries) });
}

function inputs(named: Named, name: string, given: Record<string, string> | (() => Record<string, string>)) {
  const fields = () =>
    typed(name, typeof given === "function" ? given() : given, (text) => inputType(named, text));
  return new GraphQLInputObjectType({ name, description: describe(name), fields });
}

function outputs(named: Named, name: string, all: Record<string, string>) {
  const fields = () => typed(name, all, (text) => outputType(named, text));
  return new GraphQLObjectType({ name, description: describe(name), fields });
}

function typed<T>(name: string, fields: Record<string, string>, typeOf: (text: string) => T) {
  const entries = Object.entries(fields).map(([key, text]) => {
    return [key, { type: typeOf(text), description: describe(`${name}.${key}`) }] as const;
  });
  return Object.fromEntries(entries);
}

const inputType = (named: Named, text: string) => wrap(named, text) as GraphQLInputType;
const outputType = (named: Named, text: string) => wrap(named, text) as GraphQLOutputType;

/** The type that a text like `[Domain!]!` names. */
function wrap(named: Named, text: string): unknown {
  if (text.endsWith("!")) return new GraphQLNonNull(wrap(named, text.slice(0, -1)) as GraphQLInputType);
  if (text.startsWith("[")) return new GraphQLList(wrap(named, text.slice(1, -1)) as GraphQLInputType);
  return get(named, text);
}

function get(named: Named, name: string): GraphQLNamedType {
  const type = named.get(name);
  if (type === undefined) throw new Error(`There is no GraphQL type "${name}".`);
  return type;
}

function directives(): GraphQLDirective[] {
  const required = new GraphQLNonNull(GraphQLString);
  return [
    GraphQLSkipDirective,
    GraphQLIncludeDirective,
    new GraphQLDirective({ name: "entity", locations: [DirectiveLocation.OBJECT] }),
    new GraphQLDirective({
      name: "subgraphId",
      locations: [DirectiveLocation.OBJECT],
      args: { id: { type: required } },
    }),
    new GraphQLDirective({
      name: "derivedFrom",
      locations: [DirectiveLocation.FIELD_DEFINITION],
      args: { field: { type: required } },
    }),
  ];
}

const descriptions: { [name: string]: string } = {
  BigInt: "A whole number of any size, as a decimal string.",
  Bytes: "Bytes as lower case hexadecimal digits after `0x`.",
  BigDecimal: "A decimal number as a string. Not used here.",
  Int8: "A whole number of 64 bits, as a string. Not used here.",
  Timestamp: "Microseconds since 1970, as a string. Not used here.",
  OrderDirection: "Direction of a sort.",
  _SubgraphErrorPolicy_: "What to do if indexing has met errors.",
  block: "The block to read at: only the latest indexed one is available.",
  subgraphError:
    "Accepted as in the original, but without effect: data is served whether or not the index is stale.",
  id: "The id of the entity, compared as text.",
  _meta: "The block that this response reflects.",
  "_Meta_.block": "The latest indexed block of the chain that holds the root of the name service.",
  "_Meta_.deployment": "Version of this indexer.",
  "_Meta_.hasIndexingErrors": "True while the index is stale: it may lack what happened since.",
  "_Block_.hash": "Null if the block was requested by number.",
  "_Block_.timestamp": "Unix seconds.",
  "Block_height.hash": "Respond only if this is the latest indexed block.",
  "Block_height.number": "Respond only if this is the latest indexed block.",
  "Block_height.number_gte": "Respond only if this block is indexed.",
  BlockChangedFilter: "Keeps rows whose last change happened in the block or after it.",
  Domain: "A name, or a node whose hash alone is known.",
  "Domain.id": "Namehash of the name.",
  "Domain.name": "Full name. Unknown labels appear as their hash in brackets.",
  "Domain.labelName": "First label, null if unknown.",
  "Domain.labelhash": "Keccak-256 of the first label.",
  "Domain.parent": "The name without its first label.",
  "Domain.subdomains": "Names directly below.",
  "Domain.subdomainCount": "Kept by the rules of the original subgraph; not an exact count.",
  "Domain.resolvedAddress": "Ethereum address record of the linked resolver.",
  "Domain.resolver": "Resolver that the registry links.",
  "Domain.ttl": "Time to live in the registry.",
  "Domain.isMigrated": "Whether the current registry knows the name.",
  "Domain.createdAt": "Unix seconds of the first registry event.",
  "Domain.owner": "Owner in the registry.",
  "Domain.registrant": "Owner of the registrar's token.",
  "Domain.wrappedOwner": "Owner of the name wrapper's token.",
  "Domain.expiryDate": "Unix seconds; for second-level .eth names with the grace period of 90 days.",
  "Domain.registration": "Registration of a second-level .eth name.",
  "Domain.wrappedDomain": "The name in the name wrapper.",
  "Domain.events": "Events of the name.",
  "Domain.version":
    "Generation of ENS in force for the name, v1 or v2; null where neither is, or the index cannot tell.",
  "Domain.reserved": "Whether ENSv2 holds the name for its owner in the first generation.",
  "Domain.migratedAt": "Unix seconds.",
  "Domain.registry":
    "Registry of ENSv2 that holds the name, or would: the last of `registryPath`, which begins at the root.",
  "Domain.effectiveOwner": "Holder in the generation in force; null if nobody, or only the chain knows.",
  "Domain.effectiveResolver":
    "Resolver in the generation in force; in ENSv2 the nearest from the name upwards.",
  "Domain.effectiveExpiryDate":
    "Unix seconds, without grace, in the generation in force; where neither is, the one that passed.",
  "Domain.graceEndDate":
    "Unix seconds at which the grace period after that expiry ends: 90 days, in ENSv2 28.",
  DomainEvent: "An event of a name.",
  Transfer: "The registry's owner changed.",
  NewOwner: "A subname was created or given a new owner.",
  NewResolver: "The registry's resolver changed.",
  NewTTL: "The registry's time to live changed.",
  WrappedTransfer: "The name wrapper's token changed hands.",
  NameWrapped: "The name was wrapped.",
  NameUnwrapped: "The name was unwrapped.",
  FusesSet: "Fuses were burnt.",
  ExpiryExtended: "The expiry of a wrapped name was extended.",
  Registration: "The registration of a second-level .eth name.",
  "Registration.id": "Labelhash of the second-level label.",
  "Registration.registrationDate": "Unix seconds.",
  "Registration.expiryDate": "Unix seconds, without the grace period.",
  "Registration.cost": "Wei paid at the last registration or renewal.",
  "Registration.registrant": "Owner of the registrar's token.",
  "Registration.labelName": "The label, null if unknown.",
  RegistrationEvent: "An event of a registration.",
  NameRegistered: "The name was registered.",
  NameRenewed: "The registration was renewed.",
  NameTransferred: "The registrar's token changed hands.",
  WrappedDomain: "A name in the name wrapper.",
  "WrappedDomain.expiryDate": "Unix seconds.",
  "WrappedDomain.fuses": "Bits of the fuses that are burnt.",
  "WrappedDomain.owner": "Owner of the name wrapper's token.",
  "WrappedDomain.name": "The name as it was wrapped.",
  Account: "An address that an event named.",
  "Account.id": "The address, lower case.",
  Resolver: "Records that a resolver contract holds for a name.",
  "Resolver.id": "Address of the contract, a hyphen, and the namehash.",
  "Resolver.domain": "The name, null if the registry never created it.",
  "Resolver.address": "Address of the contract.",
  "Resolver.addr": "Ethereum address record.",
  "Resolver.contentHash": "Content hash record.",
  "Resolver.texts": "Keys of text records in the order of first sight.",
  "Resolver.coinTypes": "Coin types of address records in the order of first sight.",
  ResolverEvent: "An event of a resolver contract about a name.",
  AddrChanged: "The Ethereum address record changed.",
  MulticoinAddrChanged: "The address record of a coin changed.",
  NameChanged: "The name record changed.",
  AbiChanged: "The ABI record changed.",
  PubkeyChanged: "The public key record changed.",
  TextChanged: "A text record changed.",
  ContenthashChanged: "The content hash record changed.",
  InterfaceChanged: "The record of an interface's implementer changed.",
  AuthorisationChanged: "A permission to change records changed.",
  VersionChanged: "All records were cleared.",
};

/** Description in the schema of a type (`Domain`), a field (`Domain.name`) or an argument. */
function describe(name: string): string | undefined {
  return descriptions[name];
}
