// Types of the client, from the OpenAPI document and the GraphQL schema of the service. A test compares the files with
// what this says; `vitest run client/generate.test.ts -u` writes them anew.
import {
  type GraphQLSchema,
  type GraphQLType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

type Schema = Record<string, unknown> & {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  enum?: string[];
  pattern?: string;
  description?: string;
};
type Parameter = { name: string; in: string; required: boolean; description?: string; schema: Schema };
type Operation = {
  parameters?: Parameter[];
  responses: Record<string, { content: Record<string, { schema: Schema }> }>;
};
type Document = { paths: object };

/** Names of types, with the place in the document: path of the operation, then members of its response. */
const responseTypes: Readonly<Record<string, string>> = {
  Meta: "get /v1/search meta",
  PageInfo: "get /v1/search page",
  Contract: "get /v1/search data items resolver",
  WrapperFuses: "get /v1/search data items wrapper wrapper_fuses",
  Restrictions: "get /v1/search data items restrictions",
  GrantScope: "get /v1/permissions data items grant_scope",
  Name: "get /v1/search data items",
  LookupResult: "post /v1/lookup data items",
  Power: "get /v1/events data items data added_powers items",
  EntryData: "get /v1/events data items data",
  HistoryEntry: "get /v1/events data items",
  Reverted: "get /v1/events reverted items",
  Healed: "get /v1/events healed items",
  NameRecords: "get /v1/names/{name}/records data",
  PrimaryName: "get /v1/addresses/{address}/primary-name data",
  PrimaryNames: "get /api/resolve/primary-names/{address}",
  Permission: "get /v1/permissions data items",
  ChainAccount: "get /api/name-tokens registeredNameTokens tokens items token contract",
  Price: "get /api/registrar-actions registrarActions items action pricing total anyOf",
  RegistrarAction: "get /api/registrar-actions registrarActions items",
  NameTokens: "get /api/name-tokens registeredNameTokens",
};

const queryTypes: Readonly<Record<string, string>> = {
  RecordsQuery: "/v1/names/{name}/records",
  SubnamesQuery: "/v1/names/{name}/subnames",
  HistoryQuery: "/v1/names/{name}/history",
  PortfolioQuery: "/v1/addresses/{address}/names",
  AddressHistoryQuery: "/v1/addresses/{address}/history",
  PrimaryNameQuery: "/v1/addresses/{address}/primary-name",
  PrimaryNamesQuery: "/api/resolve/primary-names/{address}",
  EventsQuery: "/v1/events",
  StreamQuery: "/v1/events/stream",
  PermissionsQuery: "/v1/permissions",
  ExpiriesQuery: "/v1/names",
  SearchQuery: "/v1/search",
  RegistrarActionsQuery: "/api/registrar-actions",
  NameTokensQuery: "/api/name-tokens",
};

const operationOf = (document: Document, method: string, path: string): Operation => {
  const operation = (document.paths as Record<string, Record<string, Operation>>)[path]?.[method];
  if (operation === undefined) throw new Error(`The document has no ${method} ${path}`);
  return operation;
};

function responseSchema(document: Document, place: string): Schema {
  const [method = "", path = "", ...members] = place.split(" ");
  const { responses } = operationOf(document, method, path);
  let schema = responses["200"]?.content["application/json"]?.schema ?? {};
  for (const member of members) {
    const variants = [schema, ...(schema.anyOf ?? [])].map(({ items, anyOf, properties }) =>
      member === "items" ? items : member === "anyOf" ? anyOf?.[0] : properties?.[member],
    );
    const found = variants.find((one) => one !== undefined);
    if (found === undefined) throw new Error(`The document has no ${place}`);
    schema = found;
  }
  return schema;
}

function querySchema(document: Document, path: string): Schema {
  // The client sends the position and the page itself, and there is one finality of lists.
  const isOwn = ({ name, schema }: Parameter) =>
    /^(min_block|cursor|page)$/.test(name) || schema.enum?.join() === "latest";
  const { parameters: all = [] } = operationOf(document, "get", path);
  const parameters = all.filter((one) => one.in === "query" && !isOwn(one));
  const members = parameters.map(({ name, schema, description }) => {
    const isNumber = schema.pattern?.includes("\\d") || description?.includes("Unix seconds");
    return [name, { ...inputSchema(schema, isNumber), description }];
  });
  const required = parameters.filter((one) => one.required).map(({ name }) => name);
  return { type: "object", properties: Object.fromEntries(members), required, additionalProperties: false };
}

// Parameters are texts on the wire; numbers and booleans are written as such, and lists as several parameters.
function inputSchema({ enum: words, anyOf }: Schema, isNumber: boolean | undefined): Schema {
  if (words !== undefined)
    return words.includes("true") ? { type: "boolean" } : { type: "string", enum: words };
  return anyOf === undefined ? { type: isNumber ? ["string", "number"] : "string" } : { anyOf };
}

const withoutDescription = ({ description: _, ...schema }: Schema) => JSON.stringify(schema);

// Schemas that have a name become references to it. Enums become open; those that tell variants apart stay closed: an
// open one would narrow nothing.
function shapeSchema(value: unknown, names: ReadonlyMap<string, string>, isRoot = false): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => shapeSchema(one, names));
  const schema = value as Schema;
  const { enum: words = [], description, pattern } = schema;
  const name = isRoot ? undefined : names.get(withoutDescription(schema));
  if (name !== undefined) return { $ref: `#/components/schemas/${name}`, description };
  if (pattern?.startsWith("^0x")) return { type: "string", "x-type": "Hex" };
  if (words.length > 1) return { type: "string", description, "x-type": "Word", "x-words": words };
  const shaped = Object.entries(schema).map(([key, one]) => [key, shapeSchema(one, names)]);
  return { ...Object.fromEntries(shaped), ...(schema.anyOf && { anyOf: schema.anyOf.map(shapeVariant) }) };

  function shapeVariant(variant: Schema): unknown {
    const one = shapeSchema(variant, names) as Schema;
    const { action, kind } = variant.properties ?? {};
    const closed = { ...(action && { action }), ...(kind && { kind }) };
    return one.properties ? { ...one, properties: { ...one.properties, ...closed } } : one;
  }
}

/** src/types.generated.ts: aliases of what the endpoints return and take. */
export async function generateTypes(document: Document): Promise<string> {
  const responses = Object.entries(responseTypes).map(
    ([name, place]) => [name, responseSchema(document, place)] as const,
  );
  const names = new Map(responses.map(([name, schema]) => [withoutDescription(schema), name]));
  const schemas = Object.fromEntries([
    ...responses.map(([name, schema]) => [name, shapeSchema(schema, names, true)]),
    ...Object.entries(queryTypes).map(([name, path]) => [name, querySchema(document, path)]),
  ]);
  const nodes = await openapiTS(
    { openapi: "3.1.0", info: { title: "", version: "" }, paths: {}, components: { schemas } } as never,
    { transform: (schema) => ("x-type" in schema ? typeOf(schema) : undefined) },
  );
  const [, members = ""] = /^ {4}schemas: \{\n(.*?)^ {4}\};$/ms.exec(astToString(nodes)) ?? [];
  const text = members
    .replaceAll(/^ {8}(\w+): /gm, "\nexport type $1 = ")
    .replaceAll(/components\["schemas"\]\["(\w+)"\]/g, "$1")
    .replaceAll(/^ *(\/\*)?\*+ @(enum|constant)\b.*\n/gm, "")
    .replaceAll(/@description /g, "")
    .replaceAll(/\/\*\*\n *\* (.*)\n *\*\//g, "/** $1 */")
    .replaceAll(/^ {8}( *)/gm, (_, indent) => indent.slice(indent.length / 2))
    // For callers with `exactOptionalPropertyTypes`, who pass on what they may not have.
    .replaceAll(/^export type \w+Query = .*?^\};/gms, (one) =>
      one.replaceAll(/(\?: .*);$/gm, "$1 | undefined;"),
    );
  return `// Generated from the OpenAPI document by generate.ts. Do not edit.

/** One of these words, or one that a later service adds. */
export type Word<T extends string> = T | (string & {});

/** An address, a hash or other bytes, in lower case. */
export type Hex = \`0x\${string}\`;
${text}`;
}

function typeOf(schema: object): ts.TypeNode {
  const { "x-type": name, "x-words": words } = schema as { "x-type": string; "x-words"?: string[] };
  const { createLiteralTypeNode, createStringLiteral, createUnionTypeNode } = ts.factory;
  const literals = words?.map((word) => createLiteralTypeNode(createStringLiteral(word)));
  return ts.factory.createTypeReferenceNode(name, literals && [createUnionTypeNode(literals)]);
}

function typeText(type: GraphQLType): string {
  if (isNonNullType(type)) return typeText(type.ofType).replace(/ \| null$/, "");
  if (isListType(type)) return `${typeText(type.ofType).replace(/.* \| null$/, "($&)")}[] | null`;
  const isOwn = isObjectType(type) || isInterfaceType(type);
  return `${isOwn ? type.name : ({ Int: "number", Boolean: "boolean" }[String(type)] ?? "string")} | null`;
}

/** src/subgraph.generated.ts: the objects of the schema at /subgraph; big integers, bytes and enums are strings. */
export function generateSubgraphTypes(schema: GraphQLSchema): string {
  const types = Object.values(schema.getTypeMap()).filter(
    ({ name }) => !/^(__|Query|Subscription)/.test(name),
  );
  const declarations = types.flatMap((type) => {
    if (!isObjectType(type) && !isInterfaceType(type)) return [];
    const fields = Object.values(type.getFields());
    const members = fields.map((field) => `  ${field.name}: ${typeText(field.type)};`);
    return [[`export type ${type.name} = {`, ...members, "};"].join("\n")];
  });
  return `// Generated from the schema of /subgraph by generate.ts. Do not edit.\n\n${declarations.join("\n\n")}\n`;
}
