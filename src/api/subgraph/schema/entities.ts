// The entities of the ENS subgraph as data. A field is written as its GraphQL type; `by <field>` marks one
// that has no column and is found through that field of the other entity, `extra` one that the original lacks,
// `walked` an extra one that is read from ENSv2.

/** Types of scalar fields. */
export type Scalar = "ID" | "String" | "Bytes" | "BigInt" | "Int" | "Boolean";

/** A field with a column of its own. */
export type ScalarField = {
  kind: "scalar";
  name: string;
  scalar: Scalar;
  list: boolean;
  nullable: boolean;
  column: string;
  /** Not in the original: offered beside it. */
  extra: boolean;
  /** Holds an id, which has no character that JSON escapes. */
  isId: boolean;
  /** Offered where ENSv2 is indexed: a column of the row's walk (src/api/database/v2-walk.ts). No filter or order has it. */
  isWalked: boolean;
};

/** A stored relation: the column holds the target's id, which may point nowhere. */
export type RelationField = {
  kind: "relation";
  name: string;
  target: string;
  nullable: boolean;
  column: string;
};

/** A relation read backwards: rows of `target` whose column `by` holds this row's id. */
export type DerivedField = {
  kind: "derived";
  name: string;
  target: string;
  by: string;
  many: boolean;
  nullable: boolean;
  extra: boolean;
};

/** A field of an entity or interface. */
export type Field = ScalarField | RelationField | DerivedField;

/** An entity or interface, with the table that holds its rows. */
export type EntityType = {
  name: string;
  kind: "entity" | "interface";
  table: string;
  /** The event tables hold several types; their column `type` holds the type's name. */
  shared: boolean;
  interface: string | undefined;
  implementers: string[];
  /** Column with the block of the row's last write. */
  changeColumn: string;
  singular: string;
  plural: string;
  fields: Map<string, Field>;
};

type Declaration = { table: string; interface?: string; fields: Record<string, string> };

const domainEvent = { blockNumber: "Int!", transactionID: "Bytes!", domain: "Domain!" };
const registrationEvent = { blockNumber: "Int!", transactionID: "Bytes!", registration: "Registration!" };
const resolverEvent = { blockNumber: "Int!", transactionID: "Bytes!", resolver: "Resolver!" };

const onDomain = (fields: Record<string, string>): Declaration => ({
  table: "domain_event",
  interface: "DomainEvent",
  fields: { id: "ID!", ...domainEvent, ...fields },
});
const onRegistration = (fields: Record<string, string>): Declaration => ({
  table: "registration_event",
  interface: "RegistrationEvent",
  fields: { id: "ID!", ...registrationEvent, ...fields },
});
const onResolver = (fields: Record<string, string>): Declaration => ({
  table: "resolver_event",
  interface: "ResolverEvent",
  fields: { id: "ID!", ...resolverEvent, ...fields },
});

const declarations: Record<string, Declaration> = {
  Domain: {
    table: "domain",
    fields: {
      id: "ID!",
      name: "String",
      labelName: "String",
      labelhash: "Bytes",
      parent: "Domain",
      subdomains: "[Domain!]! by parent",
      subdomainCount: "Int!",
      resolvedAddress: "Account",
      resolver: "Resolver",
      ttl: "BigInt",
      isMigrated: "Boolean!",
      createdAt: "BigInt!",
      owner: "Account!",
      registrant: "Account",
      wrappedOwner: "Account",
      expiryDate: "BigInt",
      registration: "Registration by domain",
      wrappedDomain: "WrappedDomain by domain",
      events: "[DomainEvent!]! by domain",
      version: "String walked",
      reserved: "Boolean! walked",
      migratedAt: "BigInt walked",
      registry: "Bytes walked",
      registryPath: "[Bytes!] walked",
      effectiveOwner: "Bytes walked",
      effectiveResolver: "Bytes walked",
      effectiveExpiryDate: "BigInt walked",
      graceEndDate: "BigInt walked",
    },
  },
  DomainEvent: { table: "domain_event", fields: { id: "ID!", ...domainEvent } },
  Transfer: onDomain({ owner: "Account!" }),
  NewOwner: onDomain({ parentDomain: "Domain!", owner: "Account!" }),
  NewResolver: onDomain({ resolver: "Resolver!" }),
  NewTTL: onDomain({ ttl: "BigInt!" }),
  WrappedTransfer: onDomain({ owner: "Account!" }),
  NameWrapped: onDomain({ name: "String", fuses: "Int!", owner: "Account!", expiryDate: "BigInt!" }),
  NameUnwrapped: onDomain({ owner: "Account!" }),
  FusesSet: onDomain({ fuses: "Int!" }),
  ExpiryExtended: onDomain({ expiryDate: "BigInt!" }),
  Registration: {
    table: "registration",
    fields: {
      id: "ID!",
      domain: "Domain!",
      registrationDate: "BigInt!",
      expiryDate: "BigInt!",
      cost: "BigInt",
      registrant: "Account!",
      labelName: "String",
      events: "[RegistrationEvent!]! by registration",
    },
  },
  RegistrationEvent: { table: "registration_event", fields: { id: "ID!", ...registrationEvent } },
  NameRegistered: onRegistration({ registrant: "Account!", expiryDate: "BigInt!" }),
  NameRenewed: onRegistration({ expiryDate: "BigInt!" }),
  NameTransferred: onRegistration({ newOwner: "Account!" }),
  WrappedDomain: {
    table: "wrapped_domain",
    fields: {
      id: "ID!",
      domain: "Domain!",
      expiryDate: "BigInt!",
      fuses: "Int!",
      owner: "Account!",
      name: "String",
    },
  },
  Account: {
    table: "account",
    fields: {
      id: "ID!",
      domains: "[Domain!]! by owner",
      wrappedDomains: "[WrappedDomain!] by owner",
      registrations: "[Registration!] by registrant",
    },
  },
  Resolver: {
    table: "resolver",
    fields: {
      id: "ID!",
      domain: "Domain",
      address: "Bytes!",
      addr: "Account",
      contentHash: "Bytes",
      texts: "[String!]",
      coinTypes: "[BigInt!]",
      events: "[ResolverEvent!]! by resolver",
    },
  },
  ResolverEvent: { table: "resolver_event", fields: { id: "ID!", ...resolverEvent } },
  AddrChanged: onResolver({ addr: "Account!" }),
  MulticoinAddrChanged: onResolver({ coinType: "BigInt!", addr: "Bytes!" }),
  NameChanged: onResolver({ name: "String!" }),
  AbiChanged: onResolver({ contentType: "BigInt!" }),
  PubkeyChanged: onResolver({ x: "Bytes!", y: "Bytes!" }),
  TextChanged: onResolver({ key: "String!", value: "String" }),
  ContenthashChanged: onResolver({ hash: "Bytes!" }),
  InterfaceChanged: onResolver({ interfaceID: "Bytes!", implementer: "Bytes!" }),
  AuthorisationChanged: onResolver({ owner: "Bytes!", target: "Bytes!", isAuthorized: "Boolean!" }),
  VersionChanged: onResolver({ version: "BigInt!" }),
};

const scalars = new Set<string>(["ID", "String", "Bytes", "BigInt", "Int", "Boolean"]);

/** Every entity and interface by name. */
export const entityTypes: ReadonlyMap<string, EntityType> = read(declarations);

/** The entity or interface of this name. Throws if there is none, which is an error of ours. */
export function entityType(name: string): EntityType {
  const type = entityTypes.get(name);
  if (type === undefined) throw new Error(`There is no entity type "${name}".`);
  return type;
}

/** SQL name of a field's column, as Ponder writes it: `transactionID` -> `transaction_id`. */
export function snakeCase(name: string): string {
  return (name.match(/[\da-z]+|[A-Z]+(?![a-z])|[A-Z][\da-z]+/g) ?? []).join("_").toLowerCase();
}

function read(all: Record<string, Declaration>): Map<string, EntityType> {
  const types = new Map<string, EntityType>();
  for (const [name, declaration] of Object.entries(all)) {
    const implementers = Object.keys(all).filter((other) => all[other]?.interface === name);
    const shared = declaration.interface !== undefined;
    const singular = `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
    types.set(name, {
      name,
      kind: implementers.length > 0 ? "interface" : "entity",
      table: declaration.table,
      shared,
      interface: declaration.interface,
      implementers,
      changeColumn: shared || implementers.length > 0 ? "block_number" : "change_block",
      singular,
      plural: `${singular}s`,
      fields: readFields(declaration.fields),
    });
  }
  for (const type of types.values()) addEventLists(type, types);
  return types;
}

function readFields(fields: Record<string, string>): Map<string, Field> {
  const stored = Object.entries(fields).map(([name, text]) => readField(name, text));
  // Extra: the id behind every stored relation as a text field of its own.
  const ids = stored
    .filter((field) => field.kind === "relation")
    .map(
      ({ name, column, nullable }): ScalarField => ({
        kind: "scalar",
        name: `${name}Id`,
        scalar: "String",
        list: false,
        nullable,
        column,
        extra: true,
        isId: true,
        isWalked: false,
      }),
    );
  return new Map([...stored, ...ids].map((field) => [field.name, field]));
}

function readField(name: string, text: string): Field {
  const isWalked = text.endsWith(" walked");
  const extra = isWalked || text.endsWith(" extra");
  const [type = "", by] = text.replace(/ (extra|walked)$/, "").split(" by ");
  const target = type.replace(/[[\]!]/g, "");
  const list = type.startsWith("[");
  const nullable = !type.endsWith("!");
  if (by !== undefined) {
    return { kind: "derived", name, target, by: `${snakeCase(by)}_id`, many: list, nullable, extra };
  }
  if (!scalars.has(target))
    return { kind: "relation", name, target, nullable, column: `${snakeCase(name)}_id` };
  return {
    kind: "scalar",
    name,
    scalar: target as Scalar,
    list,
    nullable,
    column: snakeCase(name),
    extra,
    isId: target === "ID",
    isWalked,
  };
}

// Extra: beside `events` one list per event type (transfers, newOwners, ..).
function addEventLists(type: EntityType, types: Map<string, EntityType>): void {
  const events = type.fields.get("events");
  if (events?.kind !== "derived") return;
  for (const name of types.get(events.target)?.implementers ?? []) {
    const event = types.get(name);
    if (event === undefined || type.fields.has(event.plural)) continue;
    type.fields.set(event.plural, { ...events, name: event.plural, target: name, extra: true });
  }
}
