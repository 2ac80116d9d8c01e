import {
  buildSchema,
  GraphQLIncludeDirective,
  GraphQLSchema,
  GraphQLSkipDirective,
  isSpecifiedDirective,
} from "graphql";
import { type EntityType, entityTypes, type Field } from "./entities.ts";
import { filterKeys, sortKeys } from "./inputs.ts";

/** The GraphQL schema that introspection shows, `hasV2`: with the fields of ENSv2. It resolves nothing: responses are built by SQL. */
export function createSchema({ hasV2 }: { hasV2: boolean } = { hasV2: false }): GraphQLSchema {
  const types = [...entityTypes.values()];
  const definitions = [...common(), ...types.flatMap((type) => ofEntity(type, hasV2)), queryOf(types)];
  const { directives, ...config } = buildSchema(definitions.join("\n"), {
    assumeValidSDL: true,
    noLocation: true,
  }).toConfig();
  // The original has neither @deprecated nor @specifiedBy.
  const own = directives.filter((directive) => !isSpecifiedDirective(directive));
  return new GraphQLSchema({
    ...config,
    directives: [GraphQLSkipDirective, GraphQLIncludeDirective, ...own],
  });
}

const common = () => [
  ...["ID", "String", "Int", "Boolean", "BigInt", "Bytes", "BigDecimal", "Int8", "Timestamp"].map((name) =>
    described(name, `scalar ${name}`),
  ),
  define("enum", "OrderDirection", ["asc", "desc"]),
  define("enum", "_SubgraphErrorPolicy_", ["allow", "deny"]),
  define("enum", "Aggregation_interval", ["hour", "day"]),
  define("input", "Block_height", ["hash: Bytes", "number: Int", "number_gte: Int"]),
  define("input", "BlockChangedFilter", ["number_gte: Int!"]),
  define("type", "_Block_", ["hash: Bytes", "number: Int!", "timestamp: Int", "parentHash: Bytes"]),
  define("type", "_Meta_", ["block: _Block_!", "deployment: String!", "hasIndexingErrors: Boolean!"]),
  "directive @entity on OBJECT",
  "directive @subgraphId(id: String!) on OBJECT",
  "directive @derivedFrom(field: String!) on FIELD_DEFINITION",
];

function ofEntity(type: EntityType, hasV2: boolean): string[] {
  const { name, kind, interface: ofInterface } = type;
  const fields = [...type.fields.values()].filter(
    (field) => hasV2 || field.kind !== "scalar" || !field.isWalked,
  );
  return [
    kind === "interface"
      ? define("interface", name, fields.map(fieldText))
      : define("type", name, fields.map(fieldText), ofInterface && ` implements ${ofInterface}`),
    define(
      "input",
      `${name}_filter`,
      [...filterKeys(type)].map(([key, { input }]) => `${key}: ${input}`),
    ),
    define("enum", `${name}_orderBy`, [...sortKeys(type).keys()]),
  ];
}

function fieldText(field: Field): string {
  const mark = field.nullable ? "" : "!";
  if (field.kind === "derived" && field.many)
    return `${field.name}(${listArguments(field.target)}): [${field.target}!]${mark}`;
  const type = field.kind === "scalar" ? field.scalar : field.target;
  return `${field.name}: ${field.kind === "scalar" && field.list ? `[${type}!]` : type}${mark}`;
}

function queryOf(types: readonly EntityType[]): string {
  const state = `${described("block", "block: Block_height")} ${described("subgraphError", "subgraphError: _SubgraphErrorPolicy_! = deny")}`;
  const fields = types.flatMap(({ name, singular, plural }) => [
    `${singular}(${described("id", "id: ID!")} ${state}): ${name}`,
    `${plural}(${listArguments(name)} ${state}): [${name}!]!`,
  ]);
  return define("type", "Query", [...fields, "_meta(block: Block_height): _Meta_"]);
}

const listArguments = (target: string) =>
  `skip: Int = 0 first: Int = 100 orderBy: ${target}_orderBy orderDirection: OrderDirection where: ${target}_filter`;

function define(kind: string, name: string, members: readonly string[], suffix = ""): string {
  const all = members.map((member) => described(`${name}.${member.match(/^\w+/)}`, member));
  return described(name, `${kind} ${name}${suffix} {\n${all.join("\n")}\n}`);
}

/** With the description of a type (`Domain`), a field (`Domain.name`) or an argument, if it has one. */
function described(name: string, text: string): string {
  const description = descriptions[name];
  return description === undefined ? text : `${JSON.stringify(description)} ${text}`;
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
  "Query._meta": "The block that this response reflects.",
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
