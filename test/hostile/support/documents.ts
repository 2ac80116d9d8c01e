import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import type { Random } from "../../../devnet/random.ts";
import { chance, hostileTexts, hostileValue, mutated } from "./values.ts";

/** A query as a client sends it. */
export type QueryDocument = {
  query: string;
  variables: Record<string, unknown>;
  operationName?: string;
};

/** How much of what is made is meant to be refused: shares from 0 to 1. */
export type Wildness = { values: number; names: number; texts: number };

const deepest = 4;

/**
 * A source of documents over a schema: fields, arguments, filters, variables, fragments and directives as the schema allows
 * them, and now and then as it does not. Lists ask for few rows, so that one document costs little.
 */
export function createDocuments(
  schema: GraphQLSchema,
  random: Random,
  wildness: Wildness = { values: 0.05, names: 0.03, texts: 0.08 },
): () => QueryDocument {
  let variables: Record<string, unknown> = {};
  let declarations: string[] = [];
  let fragments: string[] = [];

  const few = <T>(items: readonly T[], most: number): T[] =>
    Array.from({ length: 1 + random.below(most) }, () => random.pick(items));
  const maybe = (share: number, text: () => string) => (chance(random, share) ? text() : "");

  function inputOf(type: GraphQLInputType, depth: number): unknown {
    if (chance(random, wildness.values)) return hostileValue(random);
    if (isNonNullType(type)) return inputOf(type.ofType, depth);
    if (chance(random, 0.04)) return null;
    if (isListType(type)) {
      const { ofType } = type;
      const length = depth > 0 ? random.below(4) : 0;
      return Array.from({ length }, () => inputOf(ofType, depth - 1));
    }
    if (isEnumType(type)) return random.pick(type.getValues()).name;
    if (isInputObjectType(type)) {
      if (depth <= 0) return {};
      const fields = few(Object.values(type.getFields()), 3);
      const members = fields.map((field) => [field.name, inputOf(field.type, depth - 1)]);
      if (chance(random, wildness.names)) members.push([random.pick(hostileTexts), 1]);
      return Object.fromEntries(members);
    }
    return scalarOf(random, getNamedType(type).name);
  }

  function argumentOf({ name, type }: GraphQLArgument): string {
    const value = name === "first" && !chance(random, wildness.values) ? random.below(12) : inputOf(type, 3);
    if (!chance(random, 0.25)) return `${name}: ${literal(value, type)}`;
    const variable = `v${declarations.length}`;
    variables[variable] = value;
    declarations.push(`$${variable}: ${chance(random, 0.05) ? "String" : type}`);
    return `${name}: $${variable}`;
  }

  function argumentsOf({ args }: GraphQLField<unknown, unknown>): string {
    const given = args.filter(
      ({ name, type }) => name === "first" || isNonNullType(type) || chance(random, 0.3),
    );
    return given.length === 0 ? "" : `(${given.map(argumentOf).join(", ")})`;
  }

  function fieldOf(field: GraphQLField<unknown, unknown>, depth: number): string {
    const name = chance(random, wildness.names) ? random.pick(["nonsense", "__proto__", "id_"]) : field.name;
    const alias = maybe(0.2, () => `a${random.below(5)}: `);
    const directive = maybe(
      0.08,
      () => ` @${random.pick(["include", "skip"])}(if: ${random.pick(["true", "false"])})`,
    );
    return `${alias}${name}${argumentsOf(field)}${directive}${selectionOf(field.type, depth)}`;
  }

  function selectionOf(output: GraphQLOutputType, depth: number): string {
    const type = getNamedType(output);
    if (isLeafType(type)) return maybe(wildness.names, () => " { id }");
    if (depth > 0 && chance(random, 0.1)) {
      const name = `F${fragments.length}`;
      const place = fragments.push("") - 1;
      fragments[place] = `fragment ${name} on ${type.name} ${bodyOf(type, depth - 1)}`;
      return ` { ...${name} }`;
    }
    return ` ${bodyOf(type, depth)}`;
  }

  function bodyOf(type: GraphQLNamedType, depth: number): string {
    if (!isObjectType(type) && !isInterfaceType(type)) return "{ __typename }";
    const fields = Object.values(type.getFields());
    const allowed = depth > 0 ? fields : fields.filter((field) => isLeafType(getNamedType(field.type)));
    const selected = few(allowed.length > 0 ? allowed : fields, 4).map((field) => fieldOf(field, depth - 1));
    const parts = isInterfaceType(type) ? [...selected, inlineOf(type, depth)] : selected;
    return `{ ${[...parts, maybe(0.1, () => "__typename")].join(" ")} }`;
  }

  function inlineOf(type: GraphQLNamedType, depth: number): string {
    if (!isInterfaceType(type) || depth <= 0) return "";
    const implementer = random.pick(schema.getPossibleTypes(type));
    return `... on ${implementer.name} ${bodyOf(implementer, depth - 1)}`;
  }

  return () => {
    [variables, declarations, fragments] = [{}, [], []];
    const root = schema.getQueryType();
    if (root == null) throw new Error("The schema has no queries.");
    const roots = few(Object.values(root.getFields()), 3).map((field) => fieldOf(field, deepest));
    const introspection = maybe(0.03, () => "__schema { types { name kind fields { name } } }");
    const header = declarations.length > 0 || chance(random, 0.3) ? `query Q${listed(declarations)} ` : "";
    const text = `${header}{ ${roots.join(" ")} ${introspection} } ${fragments.join(" ")}`;
    const query = chance(random, wildness.texts) ? mutated(random, text) : text;
    const operationName = chance(random, 0.05) ? random.pick(["Q", "R", ""]) : undefined;
    return { query, variables, ...(operationName === undefined ? {} : { operationName }) };
  };
}

const listed = (declarations: readonly string[]) =>
  declarations.length === 0 ? "" : `(${declarations.join(", ")})`;

function scalarOf(random: Random, name: string): unknown {
  if (name === "Boolean") return chance(random, 0.5);
  if (name === "Int") return random.pick([0, 1, 5, 100, 1666, 2 ** 31 - 1]);
  if (name === "BigInt") return random.pick(["0", "1700000000", "-1", `${"9".repeat(30)}`]);
  if (name === "Bytes") return `0x${random.hexDigits(random.pick([1, 20, 32]))}`;
  return chance(random, 0.5)
    ? random.pick(hostileTexts)
    : random.pick(["eth", "a", "name1", `0x${random.hexDigits(32)}`]);
}

// Enum values have no quotes, and their type says where they are.
function literal(value: unknown, type: GraphQLInputType): string {
  const inner = isNonNullType(type) ? type.ofType : type;
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) {
    const item = isListType(inner) ? inner.ofType : inner;
    return `[${value.map((one) => literal(one, item)).join(", ")}]`;
  }
  if (isEnumType(inner) && typeof value === "string" && /^[_a-zA-Z]\w*$/.test(value)) return value;
  if (typeof value !== "object") return JSON.stringify(value);
  const fields = isInputObjectType(inner) ? inner.getFields() : {};
  const members = Object.entries(value).map(([name, member]) => {
    const known = Object.hasOwn(fields, name) ? fields[name]?.type : undefined;
    return `${name}: ${literal(member, known ?? inner)}`;
  });
  return `{ ${members.join(", ")} }`;
}
