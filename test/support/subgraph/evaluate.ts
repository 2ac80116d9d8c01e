import {
  type FieldNode,
  type FragmentDefinitionNode,
  parse,
  type SelectionSetNode,
  type ValueNode,
} from "graphql";
import type { EntityDump } from "./entities.ts";
import { matches, type Related, type Typed } from "./evaluate-filter.ts";

// A second, slow reading of the query dialect, over the entities of a dump in memory: what the SQL is
// compared with. It shares no code with src/api/subgraph.

const interfaces: { [name: string]: string[] } = {
  DomainEvent: [
    "Transfer",
    "NewOwner",
    "NewResolver",
    "NewTTL",
    "WrappedTransfer",
    "NameWrapped",
    "NameUnwrapped",
    "FusesSet",
    "ExpiryExtended",
  ],
  RegistrationEvent: ["NameRegistered", "NameRenewed", "NameTransferred"],
  ResolverEvent: [
    "AddrChanged",
    "MulticoinAddrChanged",
    "NameChanged",
    "AbiChanged",
    "PubkeyChanged",
    "TextChanged",
    "ContenthashChanged",
    "InterfaceChanged",
    "AuthorisationChanged",
    "VersionChanged",
  ],
};
const targets: { [field: string]: string } = {
  domain: "Domain",
  parent: "Domain",
  parentDomain: "Domain",
  resolver: "Resolver",
  registration: "Registration",
  resolvedAddress: "Account",
  owner: "Account",
  registrant: "Account",
  wrappedOwner: "Account",
  newOwner: "Account",
  addr: "Account",
};
const derived: { [field: string]: { target: string; by: string; many: boolean } } = {
  "Domain.subdomains": { target: "Domain", by: "parent", many: true },
  "Domain.registration": { target: "Registration", by: "domain", many: false },
  "Domain.wrappedDomain": { target: "WrappedDomain", by: "domain", many: false },
  "Domain.events": { target: "DomainEvent", by: "domain", many: true },
  "Registration.events": { target: "RegistrationEvent", by: "registration", many: true },
  "Resolver.events": { target: "ResolverEvent", by: "resolver", many: true },
  "Account.domains": { target: "Domain", by: "owner", many: true },
  "Account.wrappedDomains": { target: "WrappedDomain", by: "owner", many: true },
  "Account.registrations": { target: "Registration", by: "registrant", many: true },
};
const numbers = new Set(
  "subdomainCount ttl createdAt expiryDate registrationDate cost fuses blockNumber coinType contentType version".split(
    " ",
  ),
);

/** A dump that can be queried, with the results of the original subgraph over the same entities. */
export function createEvaluator(dump: EntityDump) {
  const typed = new Map(
    Object.entries(dump).map(([type, entities]) => [
      type,
      entities.map((entity) => ({ ...entity, __typename: type })),
    ]),
  );
  const entitiesOf = (type: string): Typed[] =>
    (interfaces[type] ?? [type]).flatMap((name) => typed.get(name) ?? []);
  const byId = new Map(
    [...typed].map(([type, entities]) => [type, new Map(entities.map((entity) => [entity.id, entity]))]),
  );
  const backwards = new Map<string, Map<unknown, Typed[]>>();

  const related: Related = (type, field, entity) => {
    const list = derived[`${type}.${field}`];
    if (list !== undefined) {
      const key = `${type}.${field}`;
      const index = backwards.get(key) ?? Map.groupBy(entitiesOf(list.target), (other) => other[list.by]);
      backwards.set(key, index);
      return { target: list.target, entities: index.get(entity.id) ?? [], many: list.many };
    }
    if (type === "AuthorisationChanged" && field === "owner") return undefined;
    if (type === "MulticoinAddrChanged" && field === "addr") return undefined;
    const target = targets[field];
    if (target === undefined) return undefined;
    const found = byId.get(target)?.get(String(entity[field]));
    return { target, entities: found === undefined ? [] : [found], many: false };
  };

  /** Data of a document's only operation. */
  return function evaluate(source: string, given: { [name: string]: unknown } = {}): unknown {
    const { definitions } = parse(source);
    const operation = definitions.find((node) => node.kind === "OperationDefinition")!;
    const fragments = new Map(
      definitions.filter((node) => node.kind === "FragmentDefinition").map((node) => [node.name.value, node]),
    );
    const variables = new Map<string, unknown>();
    for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
      const name = variable.name.value;
      if (name in given) variables.set(name, given[name]);
      else if (defaultValue !== undefined) variables.set(name, valueOfNode(defaultValue, variables));
    }
    const answer: { [key: string]: unknown } = {};
    for (const { key, nodes } of fieldsOf("Query", [operation.selectionSet], fragments, variables)) {
      answer[key] = rootField(nodes, fragments, variables);
    }
    return answer;
  };

  type Fragments = Map<string, FragmentDefinitionNode>;
  type Variables = Map<string, unknown>;

  function rootField(nodes: FieldNode[], fragments: Fragments, variables: Variables): unknown {
    const name = nodes[0]!.name.value;
    const singular = [...typed.keys(), ...Object.keys(interfaces)].find((type) => camel(type) === name);
    if (singular !== undefined) {
      const entity = entitiesOf(singular).find(({ id }) => id === argumentsOf(nodes[0]!, variables)["id"]);
      return entity === undefined ? null : object(entity, nodes, fragments, variables);
    }
    const plural = [...typed.keys(), ...Object.keys(interfaces)].find((type) => `${camel(type)}s` === name);
    if (plural === undefined) throw new Error(`The evaluator knows no field ${name}.`);
    return list(entitiesOf(plural), plural, nodes, fragments, variables);
  }

  function list(
    all: Typed[],
    type: string,
    nodes: FieldNode[],
    fragments: Fragments,
    variables: Variables,
  ): unknown[] {
    const { first, skip, orderBy, orderDirection, where } = argumentsOf(nodes[0]!, variables);
    const start = Number(skip ?? 0);
    const [field = "id", child] = String(orderBy ?? "id").split("__");
    const down = orderBy !== null && orderBy !== undefined && orderDirection === "desc";
    const keyOf = (entity: Typed) =>
      child === undefined
        ? entity[field]
        : related(type in interfaces ? entity.__typename : type, field, entity)?.entities[0]?.[child];
    const order = (a: Typed, b: Typed) =>
      compare(child ?? field, keyOf(a) ?? null, keyOf(b) ?? null) || compare("id", a.id, b.id);
    return all
      .filter((entity) => matches(type, entity, (where ?? {}) as object, related))
      .sort((a, b) => (down ? order(b, a) : order(a, b)))
      .slice(start, start + Number(first ?? 100))
      .map((entity) => object(entity, nodes, fragments, variables));
  }

  function object(entity: Typed, nodes: FieldNode[], fragments: Fragments, variables: Variables): unknown {
    const sets = nodes.flatMap((node) => node.selectionSet ?? []);
    return Object.fromEntries(
      fieldsOf(entity.__typename, sets, fragments, variables).map(({ key, nodes: asked }) => {
        const field = asked[0]!.name.value;
        const relation = related(entity.__typename, field, entity);
        if (relation === undefined) return [key, entity[field]];
        if (relation.many)
          return [key, list(relation.entities, relation.target, asked, fragments, variables)];
        const [only] = relation.entities;
        if (only !== undefined) return [key, object(only, asked, fragments, variables)];
        if (field === "resolver" && entity.__typename === "NewResolver") return [key, { id: entity[field] }];
        return [key, null];
      }),
    );
  }
}

function fieldsOf(
  type: string,
  sets: SelectionSetNode[],
  fragments: Map<string, FragmentDefinitionNode>,
  variables: Map<string, unknown>,
): { key: string; nodes: FieldNode[] }[] {
  const found = new Map<string, FieldNode[]>();
  const walk = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      const off = (selection.directives ?? []).some(({ name, arguments: given }) => {
        const on = valueOfNode(given![0]!.value, variables);
        return name.value === "skip" ? on === true : on === false;
      });
      if (off) continue;
      if (selection.kind === "Field") {
        const key = (selection.alias ?? selection.name).value;
        found.set(key, [...(found.get(key) ?? []), selection]);
        continue;
      }
      const fragment = selection.kind === "InlineFragment" ? selection : fragments.get(selection.name.value)!;
      const condition = fragment.typeCondition?.name.value ?? type;
      if (condition === type || interfaces[condition]?.includes(type) === true) walk(fragment.selectionSet);
    }
  };
  for (const set of sets) walk(set);
  return [...found].map(([key, nodes]) => ({ key, nodes }));
}

function argumentsOf(node: FieldNode, variables: Map<string, unknown>): { [name: string]: unknown } {
  return Object.fromEntries(
    (node.arguments ?? []).map(({ name, value }) => [name.value, valueOfNode(value, variables)]),
  );
}

function valueOfNode(node: ValueNode, variables: Map<string, unknown>): unknown {
  if (node.kind === "Variable") return variables.get(node.name.value) ?? null;
  if (node.kind === "NullValue") return null;
  if (node.kind === "ListValue") return node.values.map((item) => valueOfNode(item, variables));
  if (node.kind === "ObjectValue") {
    return Object.fromEntries(
      node.fields.map(({ name, value }) => [name.value, valueOfNode(value, variables)]),
    );
  }
  return node.value;
}

/** Ascending: numbers by size, text by its bytes, nulls last. */
function compare(field: string, a: unknown, b: unknown): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (numbers.has(field)) return Math.sign(Number(BigInt(String(a)) - BigInt(String(b))));
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

const camel = (type: string) => `${type.charAt(0).toLowerCase()}${type.slice(1)}`;
