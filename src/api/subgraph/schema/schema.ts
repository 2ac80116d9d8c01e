import {
  buildSchema,
  GraphQLIncludeDirective,
  GraphQLSchema,
  GraphQLSkipDirective,
  isSpecifiedDirective,
} from "graphql";
import {
  commonDefinitions,
  type EntityField,
  type EntityType,
  entityTypes,
  filterKeys,
  sortKeys,
} from "./inputs.ts";

/**
 * The GraphQL schema for introspection; `hasV2` adds the fields of ENSv2. It has no resolvers: SQL builds the
 * responses.
 */
export function createSchema({ hasV2 }: { hasV2: boolean } = { hasV2: false }): GraphQLSchema {
  const types = [...entityTypes.values()];
  const definitions = [
    ...commonDefinitions,
    ...types.flatMap((type) => writeEntityTypes(type, hasV2)),
    writeQueryType(types),
  ];
  const { directives, ...config } = buildSchema(definitions.join("\n"), {
    assumeValidSDL: true,
    noLocation: true,
  }).toConfig();
  // subgraph: has neither @deprecated nor @specifiedBy.
  const own = directives.filter((directive) => !isSpecifiedDirective(directive));
  return new GraphQLSchema({
    ...config,
    directives: [GraphQLSkipDirective, GraphQLIncludeDirective, ...own],
  });
}

function writeEntityTypes(type: EntityType, hasV2: boolean): string[] {
  const { name, kind, interface: of, description } = type;
  const fields = [...type.fields.values()].filter(
    (field) => hasV2 || field.kind !== "scalar" || !field.isWalked,
  );
  const head = `${kind === "interface" ? "interface" : "type"} ${name}${of === undefined ? "" : ` implements ${of}`}`;
  const keys = [...filterKeys(type)].map(([key, { input }]) => `${key}: ${input}`);
  return [
    addDescription(description, define(head, fields.map(writeField))),
    define(`input ${name}_filter`, keys),
    define(`enum ${name}_orderBy`, [...sortKeys(type).keys()]),
  ];
}

function writeField(field: EntityField): string {
  const mark = field.nullable ? "" : "!";
  const type = field.kind === "scalar" ? field.scalar : field.target;
  const isList = field.kind === "scalar" ? field.list : field.kind === "derived" && field.many;
  const args = isList && field.kind === "derived" ? `(${listArguments(type)})` : "";
  return addDescription(field.description, `${field.name}${args}: ${isList ? `[${type}!]` : type}${mark}`);
}

const atBlock = `"The block to read at: only the latest indexed one is available." block: Block_height
  "Accepted as in the original, but without effect: data is served whether or not the index is stale."
  subgraphError: _SubgraphErrorPolicy_! = deny`;

function writeQueryType(types: readonly EntityType[]): string {
  const fields = types.flatMap(({ name, singular, plural }) => [
    `${singular}("The id of the entity, compared as text." id: ID! ${atBlock}): ${name}`,
    `${plural}(${listArguments(name)} ${atBlock}): [${name}!]!`,
  ]);
  const meta = `"The block that this response reflects." _meta(block: Block_height): _Meta_`;
  return define("type Query", [...fields, meta]);
}

const listArguments = (target: string) =>
  `skip: Int = 0 first: Int = 100 orderBy: ${target}_orderBy orderDirection: OrderDirection where: ${target}_filter`;

const define = (head: string, members: readonly string[]) => `${head} {\n${members.join("\n")}\n}`;

const addDescription = (description: string | undefined, text: string) =>
  description === undefined ? text : `${JSON.stringify(description)} ${text}`;
