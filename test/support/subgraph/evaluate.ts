import {
  executeSync,
  GraphQLInterfaceType,
  GraphQLList,
  type GraphQLNamedOutputType,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  Kind as NodeKind,
  parse,
  valueFromASTUntyped,
  visit,
} from "graphql";
import type { Entities, Entity } from "../../../devnet/entities.ts";
import { readFixture } from "../recordings.ts";

// A second, slow reading of the query dialect, over the entities of a dump in memory: what the SQL is
// compared with. It shares no code with src/api/subgraph; the types are those of the original's schema.

type Typed = Entity & { __typename: string };
type Arguments = {
  id?: string;
  first?: number;
  skip?: number;
  where?: object;
  orderBy?: string;
  orderDirection?: string;
};

const surface: { fields: string[]; roots: string[] } = readFixture("subgraph-surface.json.gz");
/** Fields of each type: their names and the types of their values. */
const fieldsOf = new Map(
  Object.entries(Object.groupBy(surface.fields, (line) => line.split(".")[0] ?? "")).map(([type, lines]) => {
    const fields = (lines ?? []).map((line) => line.slice(type.length + 1).split(" ") as [string, string]);
    return [type, new Map(fields)];
  }),
);
const namedType = (type = "") => type.replaceAll(/[[\]!]/g, "");
const isEntity = (type: string) => fieldsOf.has(type);
const interfaceOf = (type: string): string | undefined => {
  const fields = fieldsOf.get(type);
  if (fields === undefined || !fields.has("blockNumber") || type.endsWith("Event")) return undefined;
  if (fields.has("domain")) return "DomainEvent";
  return fields.has("registration") ? "RegistrationEvent" : "ResolverEvent";
};
// The field of the other entity by which a relation without a field of its own is found.
const derived: { [field: string]: string } = {
  "Domain.subdomains": "parent",
  "Domain.registration": "domain",
  "Domain.wrappedDomain": "domain",
  "Domain.events": "domain",
  "Registration.events": "registration",
  "Resolver.events": "resolver",
  "Account.domains": "owner",
  "Account.wrappedDomains": "owner",
  "Account.registrations": "registrant",
};

const anything = new GraphQLScalarType({
  name: "Anything",
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
});
const args = Object.fromEntries(
  ["id", "first", "skip", "where", "orderBy", "orderDirection", "block", "subgraphError"].map((name) => [
    name,
    { type: anything },
  ]),
);

/** A dump that can be queried, with the results of the original subgraph over the same entities. */
export function createEvaluator(dump: Entities) {
  const typed = Object.entries(dump).flatMap(([type, entities]) =>
    entities.map((entity): Typed => ({ ...entity, __typename: type })),
  );
  const byType = Map.groupBy(typed, ({ __typename }) => __typename);
  for (const [type, entities] of [...byType]) {
    const shared = interfaceOf(type);
    if (shared !== undefined) byType.set(shared, [...(byType.get(shared) ?? []), ...entities]);
  }
  const indexes = new Map<string, Map<unknown, Typed[]>>();
  const found = (type: string, by: string, value: unknown): Typed[] => {
    const key = `${type}.${by}`;
    const index = indexes.get(key) ?? Map.groupBy(byType.get(type) ?? [], (one) => one[by]);
    indexes.set(key, index);
    return index.get(value) ?? [];
  };

  /** The entities that a field of an entity leads to; undefined for plain fields. */
  const related = (entity: Typed, field: string): Typed[] | undefined => {
    const target = namedType(fieldsOf.get(entity.__typename)?.get(field));
    if (!isEntity(target)) return undefined;
    const by = derived[`${entity.__typename}.${field}`];
    return by === undefined ? found(target, "id", entity[field]) : found(target, by, entity.id);
  };

  function list(all: readonly Typed[], { first, skip, orderBy, orderDirection, where }: Arguments): Typed[] {
    const [field = "id", child] = String(orderBy ?? "id").split("__");
    const isDown = orderBy !== undefined && orderBy !== null && orderDirection === "desc";
    const keyOf = (entity: Typed) => {
      const [of, name] = child === undefined ? [entity, field] : [related(entity, field)?.[0], child];
      return { value: of?.[name] ?? null, kind: of ? kindOf(of.__typename, name) : "text" };
    };
    const order = (a: Typed, b: Typed) => {
      const [one, other] = [keyOf(a), keyOf(b)];
      return compare(one.kind, one.value, other.value) || compare("text", a.id, b.id);
    };
    const start = Number(skip ?? 0);
    return all
      .filter((entity) => matches(entity, where ?? {}, related))
      .sort((a, b) => (isDown ? order(b, a) : order(a, b)))
      .slice(start, start + Number(first ?? 100));
  }

  const schema = schemaOf({
    root: (type, isList, given) =>
      isList ? list(byType.get(type) ?? [], given) : (found(type, "id", given.id)[0] ?? null),
    field(entity, field, isList, given) {
      const entities = related(entity, field);
      if (entities === undefined) return entity[field];
      if (isList) return list(entities, given);
      // A resolver without a record of its own.
      const isUnknown = field === "resolver" && entity.__typename === "NewResolver";
      return entities[0] ?? (isUnknown && entity[field] ? { id: entity[field] } : null);
    },
  });

  /** Data of a document's only operation. */
  return function evaluate(source: string, variableValues: { [name: string]: unknown } = {}): unknown {
    const document = visit(parse(source), {
      VariableDefinition: (node) => ({
        ...node,
        type: { kind: NodeKind.NAMED_TYPE, name: { kind: NodeKind.NAME, value: anything.name } },
      }),
    });
    const { data, errors } = executeSync({ schema, document, variableValues });
    if (errors !== undefined) throw errors[0];
    return data;
  };
}

type Resolvers = {
  root: (type: string, isList: boolean, given: Arguments) => unknown;
  field: (entity: Typed, field: string, isList: boolean, given: Arguments) => unknown;
};

function schemaOf(resolvers: Resolvers): GraphQLSchema {
  const types = new Map<string, GraphQLInterfaceType | GraphQLObjectType>();
  const outputOf = (type: string) => {
    const named: GraphQLNamedOutputType = types.get(namedType(type)) ?? anything;
    return type.startsWith("[") && named !== anything ? new GraphQLList(named) : named;
  };
  for (const [name, fields] of fieldsOf) {
    const config = {
      name,
      fields: () =>
        Object.fromEntries(
          Array.from(fields, ([field, type]) => {
            const resolve = (entity: Typed, given: Arguments) =>
              resolvers.field(entity, field, type.startsWith("["), given);
            return [field, { type: outputOf(type), args, resolve }];
          }),
        ),
    };
    if (name.endsWith("Event"))
      types.set(
        name,
        new GraphQLInterfaceType({ ...config, resolveType: ({ __typename }: Typed) => __typename }),
      );
    else {
      const interfaces = () =>
        [types.get(interfaceOf(name) ?? "")].filter((one) => one instanceof GraphQLInterfaceType);
      types.set(name, new GraphQLObjectType({ ...config, interfaces }));
    }
  }
  const roots = surface.roots.map((line) => {
    const [name = "", type = ""] = line.split(" ");
    const resolve = (_: unknown, given: Arguments) =>
      resolvers.root(namedType(type), type.startsWith("["), given);
    return [name, { type: outputOf(type), args, resolve }];
  });
  const query = new GraphQLObjectType({ name: "Query", fields: Object.fromEntries(roots) });
  return new GraphQLSchema({ query, types: [...types.values()] });
}

/** Ascending: numbers by size, text by its bytes, nulls last. */
function compare(kind: Kind, a: unknown, b: unknown): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (kind === "number") return Math.sign(Number(BigInt(String(a)) - BigInt(String(b))));
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

const suffixes =
  "not_contains_nocase not_starts_with_nocase not_ends_with_nocase contains_nocase starts_with_nocase ends_with_nocase " +
  "not_contains not_starts_with not_ends_with not_in contains starts_with ends_with not gte lte gt lt in";

/** Whether an entity matches a filter object: all of its keys, `and` and `or` included. */
function matches(
  entity: Typed,
  filter: object,
  related: (entity: Typed, field: string) => Typed[] | undefined,
): boolean {
  return Object.entries(filter).every(([key, given]) => {
    const wanted: unknown = given ?? null;
    if (key === "and") return (wanted as object[]).every((part) => matches(entity, part, related));
    if (key === "or") return (wanted as object[]).some((part) => matches(entity, part, related));
    if (key.endsWith("_") && key !== "_") {
      const others = related(entity, key.slice(0, -1)) ?? [];
      return others.some((other) => matches(other, wanted as object, related));
    }
    const suffix = suffixes.split(" ").find((name) => key.endsWith(`_${name}`));
    const field = suffix === undefined ? key : key.slice(0, -suffix.length - 1);
    return meets(kindOf(entity.__typename, field), suffix ?? "is", entity[field] ?? null, wanted);
  });
}

function kindOf(type: string, field: string): Kind {
  const named = namedType(fieldsOf.get(type)?.get(field));
  if (named === "Bytes") return "bytes";
  return named === "Int" || named === "BigInt" ? "number" : "text";
}

type Kind = "bytes" | "number" | "text";

function meets(kind: Kind, operator: string, value: unknown, wanted: unknown): boolean {
  if (wanted === null) return operator === "is" ? value === null : value !== null;
  if (value === null) return false;
  // On lists the negation of `contains` means that none is present, not that one is missing.
  if (operator.startsWith("not_contains") && Array.isArray(value)) {
    return (wanted as unknown[]).every((item) => !meetsList(operator.slice("not_".length), value, [item]));
  }
  if (operator.startsWith("not")) {
    const positive = operator === "not" ? "is" : operator.slice("not_".length);
    if (positive === "in" && (wanted as unknown[]).length === 0) return false;
    return !meets(kind, positive, value, wanted);
  }
  if (Array.isArray(value)) return meetsList(operator, value, wanted as unknown[]);
  if (operator === "in") return (wanted as unknown[]).some((item) => meets(kind, "is", value, item));
  if (typeof value === "boolean") return value === wanted;
  if (kind === "number") return isInOrder(operator, Number(BigInt(String(value)) - BigInt(String(wanted))));
  const fold = operator.endsWith("_nocase") || kind === "bytes" ? lower : (text: string) => text;
  const have = fold(String(value));
  const want = fold(kind === "bytes" ? `0x${String(wanted).replace(/^0x/, "")}` : String(wanted));
  switch (operator.replace("_nocase", "")) {
    case "contains":
      return kind === "bytes" ? holdsBytes(have, want) : have.includes(want);
    case "starts_with":
      return have.startsWith(want);
    case "ends_with":
      return have.endsWith(want);
    default:
      return isInOrder(operator, Buffer.compare(Buffer.from(have), Buffer.from(want)));
  }
}

function isInOrder(operator: string, difference: number): boolean {
  if (operator === "is") return difference === 0;
  if (operator === "gt" || operator === "gte")
    return difference > 0 || (operator === "gte" && difference === 0);
  return difference < 0 || (operator === "lte" && difference === 0);
}

function holdsBytes(have: string, want: string): boolean {
  return Buffer.from(have.slice(2), "hex").includes(Buffer.from(want.slice(2), "hex"));
}

function meetsList(operator: string, value: unknown[], wanted: unknown[]): boolean {
  const fold = operator.endsWith("_nocase") ? lower : (text: string) => text;
  const have = value.map((item) => fold(String(item)));
  const want = wanted.map((item) => fold(String(item)));
  if (operator.startsWith("contains")) return want.every((item) => have.includes(item));
  return have.length === want.length && have.every((item, index) => item === want[index]);
}

const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
