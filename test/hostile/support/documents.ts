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

/** Share of values, names and whole texts that are meant to be refused, each from 0 to 1. */
type Wildness = { values: number; names: number; texts: number };

/** A document while it is being written. */
type Draft = {
  schema: GraphQLSchema;
  random: Random;
  wildness: Wildness;
  variables: Record<string, unknown>;
  declarations: string[];
  fragments: string[];
};

type Field = GraphQLField<unknown, unknown>;

const deepest = 4;
const usualWildness: Wildness = { values: 0.05, names: 0.03, texts: 0.08 };

/**
 * A source of documents over a schema: fields, arguments, filters, variables, fragments and directives as the schema allows
 * them, and now and then as it does not. Lists ask for few rows, so that one document costs little.
 */
export function createDocuments(
  schema: GraphQLSchema,
  random: Random,
  wildness = usualWildness,
): () => QueryDocument {
  return () => {
    const draft: Draft = { schema, random, wildness, variables: {}, declarations: [], fragments: [] };
    const root = schema.getQueryType();
    if (root == null) throw new Error("The schema has no queries.");
    const roots = few(random, Object.values(root.getFields()), 3).map((one) => fieldOf(draft, one, deepest));
    if (chance(random, 0.03)) roots.push("__schema { types { name kind fields { name } } }");
    const { variables, declarations, fragments } = draft;
    const declared = declarations.length === 0 ? "" : `(${declarations.join(", ")})`;
    const header = declared !== "" || chance(random, 0.3) ? `query Q${declared} ` : "";
    const text = `${header}{ ${roots.join(" ")} } ${fragments.join(" ")}`;
    const query = chance(random, wildness.texts) ? mutated(random, text) : text;
    const operationName = chance(random, 0.05) ? random.pick(["Q", "R", ""]) : undefined;
    return { query, variables, ...(operationName === undefined ? {} : { operationName }) };
  };
}

function fieldOf(draft: Draft, field: Field, depth: number): string {
  const { random, wildness } = draft;
  const isWrong = chance(random, wildness.names);
  const name = isWrong ? random.pick(["nonsense", "__proto__", "id_"]) : field.name;
  const alias = chance(random, 0.2) ? `a${random.below(5)}: ` : "";
  const directive = chance(random, 0.08)
    ? ` @${random.pick(["include", "skip"])}(if: ${random.pick(["true", "false"])})`
    : "";
  return `${alias}${name}${argumentsOf(draft, field)}${directive}${selectionOf(draft, field.type, depth)}`;
}

function argumentsOf(draft: Draft, { args }: Field): string {
  const given = args.filter(
    ({ name, type }) => name === "first" || isNonNullType(type) || chance(draft.random, 0.3),
  );
  return given.length === 0 ? "" : `(${given.map((one) => argumentOf(draft, one)).join(", ")})`;
}

function argumentOf(draft: Draft, { name, type }: GraphQLArgument): string {
  const { random, wildness, variables, declarations } = draft;
  const isCount = name === "first" && !chance(random, wildness.values);
  const value = isCount ? random.below(12) : inputOf(draft, type, 3);
  if (!chance(random, 0.25)) return `${name}: ${literal(value, type)}`;
  const variable = `v${declarations.length}`;
  variables[variable] = value;
  declarations.push(`$${variable}: ${chance(random, 0.05) ? "String" : type}`);
  return `${name}: $${variable}`;
}

function inputOf(draft: Draft, type: GraphQLInputType, depth: number): unknown {
  const { random, wildness } = draft;
  if (chance(random, wildness.values)) return hostileValue(random);
  if (isNonNullType(type)) return inputOf(draft, type.ofType, depth);
  if (chance(random, 0.04)) return null;
  if (isListType(type)) {
    const { ofType } = type;
    const length = depth > 0 ? random.below(4) : 0;
    return Array.from({ length }, () => inputOf(draft, ofType, depth - 1));
  }
  if (isEnumType(type)) return random.pick(type.getValues()).name;
  if (!isInputObjectType(type)) return scalarOf(random, getNamedType(type).name);
  if (depth <= 0) return {};
  const fields = few(random, Object.values(type.getFields()), 3);
  const members = fields.map((field) => [field.name, inputOf(draft, field.type, depth - 1)]);
  if (chance(random, wildness.names)) members.push([random.pick(hostileTexts), 1]);
  return Object.fromEntries(members);
}

function selectionOf(draft: Draft, output: GraphQLOutputType, depth: number): string {
  const { random, wildness, fragments } = draft;
  const type = getNamedType(output);
  if (isLeafType(type)) return chance(random, wildness.names) ? " { id }" : "";
  if (depth <= 0 || !chance(random, 0.1)) return ` ${bodyOf(draft, type, depth)}`;
  const name = `F${fragments.length}`;
  const place = fragments.push("") - 1;
  fragments[place] = `fragment ${name} on ${type.name} ${bodyOf(draft, type, depth - 1)}`;
  return ` { ...${name} }`;
}

function bodyOf(draft: Draft, type: GraphQLNamedType, depth: number): string {
  if (!isObjectType(type) && !isInterfaceType(type)) return "{ __typename }";
  const { random, schema } = draft;
  const fields: Field[] = Object.values(type.getFields());
  const leaves = fields.filter((field) => isLeafType(getNamedType(field.type)));
  const selected = few(random, depth > 0 || leaves.length === 0 ? fields : leaves, 4);
  const parts = selected.map((field) => fieldOf(draft, field, depth - 1));
  if (isInterfaceType(type) && depth > 0) {
    const implementer = random.pick(schema.getPossibleTypes(type));
    parts.push(`... on ${implementer.name} ${bodyOf(draft, implementer, depth - 1)}`);
  }
  if (chance(random, 0.1)) parts.push("__typename");
  return `{ ${parts.join(" ")} }`;
}

function few<T>(random: Random, items: readonly T[], most: number): T[] {
  return Array.from({ length: 1 + random.below(most) }, () => random.pick(items));
}

function scalarOf(random: Random, name: string): unknown {
  if (name === "Boolean") return chance(random, 0.5);
  if (name === "Int") return random.pick([0, 1, 5, 100, 1666, 2 ** 31 - 1]);
  if (name === "BigInt") return random.pick(["0", "1700000000", "-1", `${"9".repeat(30)}`]);
  if (name === "Bytes") return `0x${random.hexDigits(random.pick([1, 20, 32]))}`;
  return chance(random, 0.5)
    ? random.pick(hostileTexts)
    : random.pick(["eth", "a", "name1", `0x${random.hexDigits(32)}`]);
}

// Enum values have no quotes; only their type distinguishes them from other texts.
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
