type Schema = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  description?: string;
  title?: string;
};
type Parameter = { name: string; in: string; required: boolean; description?: string; schema: Schema };
type Content = { content: Record<string, { schema: Schema }> };
type Operation = {
  summary: string;
  description: string;
  parameters: Parameter[];
  requestBody?: Content;
  responses: Record<string, Content>;
};
type Paths = Record<string, Record<string, Operation>>;

const isNullable = ({ anyOf, type }: Schema): boolean =>
  type === "null" || type?.includes("null") || anyOf?.some(isNullable) || false;

const objectOf = ({ items, ...schema }: Schema): Schema | undefined =>
  schema.properties
    ? schema
    : ((items && objectOf(items)) ?? schema.anyOf?.find(({ properties }) => properties));

const isSmall = ({ properties = {} }: Schema) =>
  Object.keys(properties).length < 3 && !Object.values(properties).some(objectOf);

// The type of a member in words, without null.
function typeOf(schema: Schema): string {
  const { type, enum: words, const: word, anyOf, items, properties, additionalProperties: values } = schema;
  if (anyOf) return [...new Set(anyOf.map(typeOf))].filter((one) => one !== "null").join(" or ");
  if (word !== undefined) return `\`${word}\``;
  if (words) return words.map((one) => `\`${one}\``).join(", ");
  if (items) return Object.keys(items).length === 0 ? "list" : `list of ${typeOf(items)}`;
  if (properties && isSmall(schema)) return `\`{${Object.keys(properties).join(", ")}}\``;
  if (typeof values === "object") return `map to ${typeOf(values)}${isNullable(values) ? " or null" : ""}`;
  return String(Array.isArray(type) ? type.filter((one) => one !== "null") : type);
}

// Rows of a table. What was listed before is not listed again.
function membersOf(
  { properties = {}, required = [] }: Schema,
  above = "",
  known = new Map<string, string>(),
): string[] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `\`${above}${name}\``;
    const object = objectOf(member);
    const inner = object && !isSmall(object) ? object : undefined;
    const text = inner ? JSON.stringify(inner) : typeOf(member);
    const same = inner || text.length > 100 ? known.get(text) : undefined;
    if (same === undefined) known.set(text, path);
    const presence = `${required.includes(name) ? "always" : "if known"}${isNullable(member) ? ", may be null" : ""}`;
    const cells = [
      path,
      same === undefined ? typeOf(member) : `as ${same}`,
      presence,
      member.description ?? "",
    ];
    const further = inner && same === undefined ? membersOf(inner, `${above}${name}.`, known) : [];
    return [`| ${cells.join(" | ")} |`, ...further];
  });
}

const tableOf = (schema: Schema | undefined) => [
  "| Member | Type | Presence | Description |",
  "|---|---|---|---|",
  ...membersOf(schema ?? {}),
];

function parameterRow({ name, schema, required, description = "", ...parameter }: Parameter): string {
  const isRequired = required && parameter.in === "query" ? ", required" : "";
  const fallback = schema.default === undefined ? "" : `, default \`${schema.default}\``;
  return `| \`${name}\` | ${typeOf(schema)}${fallback}${isRequired} | ${description} |`;
}

const parameterTable = (rows: string[]) => ["| Parameter | Type | Description |", "|---|---|---|", ...rows];

// The rows that many routes have: of each name the most frequent one.
function sharedRows(operations: Operation[]): string[] {
  const counts = new Map<string, number>();
  const inQueries = operations.flatMap(({ parameters }) => parameters.filter((one) => one.in === "query"));
  for (const row of inQueries.map(parameterRow)) counts.set(row, (counts.get(row) ?? 0) + 1);
  const frequent = [...counts].filter(([, count]) => count >= 5).sort(([, one], [, other]) => other - one);
  const nameOf = (row: string) => row.split(" ")[1];
  return frequent
    .map(([row]) => row)
    .filter((row, index, all) => all.findIndex((other) => nameOf(other) === nameOf(row)) === index);
}

function routeText(route: string, operation: Operation, shared: string[]): string[] {
  const { summary, description, parameters, requestBody } = operation;
  const own = parameters.map(parameterRow).filter((row) => !shared.includes(row));
  const others = parameters
    .filter((parameter) => shared.includes(parameterRow(parameter)))
    .map(({ name }) => `\`${name}\``);
  const { properties = {}, required } = requestBody?.content["application/json"]?.schema ?? {};
  const members = Object.entries(properties).map(([name, schema]) =>
    parameterRow({ ...schema, name, schema, in: "query", required: required?.includes(name) ?? false }),
  );
  return [
    ...[`### \`${route}\``, "", `${summary}. ${description}`],
    ...(members.length > 0 ? ["", "Members of the body:", "", ...parameterTable(members)] : []),
    ...(own.length > 0 ? ["", ...parameterTable(own)] : []),
    ...(others.length > 0 ? ["", `[Shared parameters](#shared-parameters): ${others.join(", ")}.`] : []),
    "",
  ];
}

const dataTable = (data: Schema | undefined) => [
  "| `type` | `action` | Further members |",
  "|---|---|---|",
  ...(data?.anyOf ?? []).map(({ title, properties: { action = {}, ...members } = {} }) => {
    const names = Object.keys(members).map((name) => `\`${name}\``);
    return `| \`${title}\` | ${typeOf(action)} | ${names.join(", ")} |`;
  }),
];

function dataMembers(data: Schema | undefined): Schema {
  const all = (data?.anyOf ?? []).flatMap(({ properties = {} }) => Object.entries(properties));
  const { action: _, ...properties } = Object.fromEntries(all);
  return { properties };
}

/** docs/lookup-reference.md: routes, parameters and members of `/v1`, from the OpenAPI document. */
export function describeLookup(document: { paths: object }): string {
  const paths = document.paths as Paths;
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  );
  const lookups = routes.filter(([route]) => route.includes(" /v1/"));
  const shared = sharedRows(lookups.map(([, operation]) => operation));
  const responseOf = (path: string) =>
    paths[path]?.["get"]?.responses["200"]?.content["application/json"]?.schema.properties;
  const { data: entries, ...page } = responseOf("/v1/events") ?? {};
  const { data, ...entry } = entries?.items?.properties ?? {};
  return [
    "# Reference of `/v1`",
    "",
    "This page is generated from the OpenAPI document of the service (`/openapi.json`, `/docs`).",
    "[lookup.md](lookup.md) explains how to use the routes, and [lookup-samples.md](lookup-samples.md) has a response of",
    "each.",
    ...["", "## Shared parameters", "", ...parameterTable(shared)],
    ...["", "## Routes", "", ...lookups.flatMap(([route, one]) => routeText(route, one, shared))],
    ...["## Page and meta", "", ...tableOf({ properties: page, required: ["page", "meta"] })],
    ...["", "## Members of rows of names", "", ...tableOf(responseOf("/v1/names/{name}")?.["data"])],
    ...["", "## Members of entries", ""],
    "`contract_address` and `data` need `include=data`. `kind` needs `include=raw`.",
    ...["", ...tableOf({ ...entries?.items, properties: entry })],
    ...["", "## Members of `data`", ""],
    "`data` has an `action`, and those further members of its type that the index knows.",
    ...["", ...dataTable(data), "", ...tableOf(dataMembers(data)), ""],
  ].join("\n");
}
