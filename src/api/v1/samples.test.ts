import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { v2ChainId, v2Environment, v2Folder } from "../../../devnet/recorded-chains.ts";
import { readRecording } from "../../../devnet/recording.ts";
import { chainOf, currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { openLastIndex } from "../../../test/support/ensv2/stored-index.ts";
import { countFigures } from "../../../test/support/figures.ts";
import { indexedSubregistries } from "../../deployments/namespaces.ts";
import { openReferrals } from "../../read/events/referrals.ts";
import { indexedNamespaces } from "../../read/names/indexed-namespaces.ts";
import { knownContracts } from "../../read/names/known-contracts.ts";
import { createNamesSource } from "../../read/names/lookups.ts";
import { v2ContractsOf } from "../../read/names/v2-names.ts";
import { type ApiContext, endpoints } from "../../service/endpoints.ts";
import { documentOf } from "../kit/docs.ts";

// The samples and tables of docs/lookup.md, from the recorded chain that `npm run demo -- --ensv2` serves and from the OpenAPI document.
// `vitest run src/api/v1/samples.test.ts -u` writes them anew.
const page = fileURLToPath(new URL("../../../docs/lookup.md", import.meta.url));
const lookups = endpoints.filter(({ path }) => path.startsWith("/v1/"));
const last = readRecording(v2Folder).blocks.at(-1);
const block = { number: Number(last?.number), timestamp: Number(last?.timestamp) };

const { index, ...stored } = await openLastIndex();
const plugins = v2Environment.PLUGINS.split(",");
const following = { chainStatus: "chain-following", latestIndexedBlock: block, latestKnownBlock: block };
const status = currentStatus("omnichain-following", block.timestamp);
Object.assign(status.snapshot.omnichainSnapshot, { chains: { [v2ChainId]: following } });
const { datasources } = index.config;
const source = {
  database: stored.database,
  namespaces: indexedNamespaces(datasources, plugins),
  hasRecords: true,
};
await countFigures(stored.client, source.namespaces, { chainId: v2ChainId, block });
const context = {
  ...chainOf(),
  ensv2: v2ContractsOf(datasources),
  config: { isSubgraphCompatible: false },
  plugins,
  status: { current: () => status },
  clock: () => block.timestamp * 1_000,
  subregistries: indexedSubregistries(datasources, plugins),
  referrals: openReferrals(stored.database),
  editions: [],
  lookup: {
    ...createNamesSource(source),
    hashOf: () => String(last?.hash),
    known: knownContracts(datasources),
  },
};
const { fetch } = openEndpoints(lookups as typeof endpoints, context as unknown as ApiContext);

const width = 150;

// JSON with what fits on a line in one.
function pretty(value: unknown, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const members = Object.entries(value).map(
    ([key, one]) => `${Array.isArray(value) ? "" : `${JSON.stringify(key)}: `}${pretty(one, inner)}`,
  );
  const line = `${open}${members.join(", ")}${close}`;
  if (indent.length + line.length <= width && !line.includes("\n")) return line;
  return `${open}\n${members.map((one) => inner + one).join(",\n")}\n${indent}${close}`;
}

async function respond(command: string): Promise<string> {
  const [, path = "", body] = /^curl -s '?localhost:42069(\/[^\s']*)'?(?: -d '(.*)')?$/.exec(command) ?? [];
  const response = await fetch(path, body === undefined ? {} : { method: "POST", body });
  expect([command, response.status]).toEqual([command, 200]);
  const text = await response.text();
  return text.startsWith("{") ? pretty(JSON.parse(text)) : beginningOf(text.replaceAll("\r\n", "\n"));
}

// Of a calendar its first two events.
const beginningOf = (calendar: string) =>
  `${calendar.split("\nBEGIN:VEVENT").slice(0, 3).join("\nBEGIN:VEVENT")}\n…\nEND:VCALENDAR`;

type Schema = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  description?: string;
  title?: string;
};

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
  if (items) return `list of ${typeOf(items)}`;
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
const { paths } = documentOf("", endpoints);
type Responses = Record<string, { content: Record<string, { schema: Schema }> }>;

function schemaOf(path: string): Schema {
  const responses = paths[path]?.["get"]?.["responses"] as Responses | undefined;
  return responses?.["200"]?.content["application/json"]?.schema ?? {};
}
const events = schemaOf("/v1/events").properties;
const entry = events?.["data"]?.items;
const { data: dataOfEntry, ...ofEntry } = entry?.properties ?? {};
const tables: Readonly<Record<string, () => string[]>> = {
  page: () =>
    tableOf({
      properties: { ...schemaOf("/v1/events").properties, data: {} },
      required: ["page", "meta"],
    }).filter((row) => !row.startsWith("| `data`")),
  rows: () => tableOf(schemaOf("/v1/names/{name}").properties?.["data"]),
  entries: () => tableOf({ ...entry, properties: ofEntry }),
  data: () => [
    "| `type` | `action` | Further members |",
    "|---|---|---|",
    ...(dataOfEntry?.anyOf ?? []).map(({ title, properties: { action = {}, ...members } = {} }) => {
      const names = Object.keys(members).map((name) => `\`${name}\``);
      return `| \`${title}\` | ${typeOf(action)} | ${names.join(", ")} |`;
    }),
  ],
  members: () => {
    const all = (dataOfEntry?.anyOf ?? []).flatMap(({ properties = {} }) => Object.entries(properties));
    const { action: _, ...properties } = Object.fromEntries(all);
    return tableOf({ properties });
  },
};

test("docs/lookup.md shows what the routes respond with, and the members that the document has", async () => {
  const text = readFileSync(page, "utf8");
  const sample = /```sh\n(curl [^\n]*)\n```\n\n```(json|ics)\n[\s\S]*?\n```/g;
  const fresh = new Map<string, string>();
  for (const [, command = ""] of text.matchAll(sample)) fresh.set(command, await respond(command));
  // Whatever else the page shows finds something too.
  for (const [, path = ""] of text.matchAll(/^ {4}curl -s '?localhost:42069(\/[^\s']*)'?$/gm)) {
    const response = await fetch(path);
    expect([path, response.status]).toEqual([path, 200]);
    expect(await response.text(), path).not.toContain('"data":[]');
  }
  const written = text
    .replaceAll(
      sample,
      (_, command: string, type: string) =>
        `\`\`\`sh\n${command}\n\`\`\`\n\n\`\`\`${type}\n${fresh.get(command)}\n\`\`\``,
    )
    .replaceAll(
      /<!-- table: (\w+) -->[\s\S]*?<!-- end -->/g,
      (_, name: string) => `<!-- table: ${name} -->\n${tables[name]?.().join("\n")}\n<!-- end -->`,
    );
  // Each route has a sample, but the stream, which has no end: docs/events.md.
  const commands = [...fresh.keys()];
  const without = lookups.filter(({ path }) => {
    const pattern = new RegExp(`42069${path.replaceAll(/\{\w+\}/g, "[^/?' ]+")}[?' ]`);
    return path !== "/v1/events/stream" && !commands.some((command) => pattern.test(`${command} `));
  });
  await expect(written).toMatchFileSnapshot(page);
  expect(without.map(({ path }) => path)).toEqual([]);
});
