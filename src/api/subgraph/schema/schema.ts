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
import { describe } from "./descriptions.ts";
import { type EntityType, entityTypes, type Field } from "./entities.ts";
import { filterKeys, sortKeys } from "./filters.ts";

/** The GraphQL schema that introspection shows. It resolves nothing: responses are built by SQL. */
export function createSchema(): GraphQLSchema {
  const named = namedTypes();
  const query = new GraphQLObjectType({ name: "Query", fields: () => rootFields(named) });
  return new GraphQLSchema({ query, types: [...named.values()], directives: directives() });
}

type Named = Map<string, GraphQLNamedType>;

function namedTypes(): Named {
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
    add(entity(named, type));
    add(inputs(named, `${type.name}_filter`, () => filterInputs(type)));
    add(enumeration(`${type.name}_orderBy`, [...sortKeys(type).keys()]));
  }
  return named;
}

function filterInputs(type: EntityType): Record<string, string> {
  return Object.fromEntries([...filterKeys(type)].map(([key, { input }]) => [key, input]));
}

function entity(named: Named, type: EntityType): GraphQLNamedType {
  const config = {
    name: type.name,
    description: describe(type.name),
    fields: () =>
      Object.fromEntries(
        [...type.fields.values()].map((field) => [field.name, entityField(named, type, field)]),
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

function inputs(named: Named, name: string, fields: Record<string, string> | (() => Record<string, string>)) {
  return new GraphQLInputObjectType({
    name,
    description: describe(name),
    fields: () =>
      Object.fromEntries(
        Object.entries(typeof fields === "function" ? fields() : fields).map(([key, text]) => [
          key,
          { type: inputType(named, text), description: describe(`${name}.${key}`) },
        ]),
      ),
  });
}

function outputs(named: Named, name: string, fields: Record<string, string>): GraphQLObjectType {
  return new GraphQLObjectType({
    name,
    description: describe(name),
    fields: () =>
      Object.fromEntries(
        Object.entries(fields).map(([key, text]) => [
          key,
          { type: outputType(named, text), description: describe(`${name}.${key}`) },
        ]),
      ),
  });
}

function inputType(named: Named, text: string): GraphQLInputType {
  return wrap(named, text) as GraphQLInputType;
}

function outputType(named: Named, text: string): GraphQLOutputType {
  return wrap(named, text) as GraphQLOutputType;
}

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
