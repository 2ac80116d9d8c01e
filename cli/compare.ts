import { readFileSync } from "node:fs";
import { z } from "zod/v4";
import { escapeControls, parsedJson } from "../src/log/json-log.ts";
import { createProgram, print, requireUrl, runProgram } from "./command.ts";
import { type Difference, isGraphQL, listDifferences, pinQuery } from "./compare/differences.ts";
import { askEndpoint } from "./compare/endpoint.ts";
import { type ClientQuery, clientQueries, type KnownName } from "./compare/queries.ts";
import { PreflightError } from "./refusal.ts";

const compare = createProgram(
  "compare",
  "Sends queries of clients to this index and to another subgraph of ENS, at one block where both can, and prints where the responses differ. Exit code 1 if a difference is not a known one (docs/compatibility.md).",
)
  .requiredOption("--with <url>", "the other endpoint, such as The Graph's or ENSNode's")
  .option("--url <url>", "this index", "http://localhost:42069/subgraph")
  .option("--queries <file>", 'other queries, as JSON: [{"name", "query", "variables"}, …]')
  .action((asked) => print(compareEndpoints(asked)));

type Asked = { with: string; url: string; queries?: string; pause?: () => Promise<unknown> };

/** Compares the responses of two endpoints, and returns the report. */
export async function compareEndpoints({
  with: other,
  url,
  queries: file,
  ...tools
}: Asked): Promise<string> {
  requireUrl("--with", other);
  requireUrl("--url", url);
  const ask = (endpoint: string, query: string, variables = {}) =>
    askEndpoint(endpoint, query, { variables, ...tools });
  const [ours, theirs] = [await readHead(url, ask), await readHead(other, ask)];
  const common = Math.min(ours, theirs);
  const probe = pinQuery("{ domains(first: 1) { id } }", common, {});
  const probed = [await ask(url, probe), await ask(other, probe)];
  const block = probed.every(({ errors }) => errors === undefined) ? common : undefined;
  const queries = file === undefined ? await listClientQueries(url, ask) : readQueries(file);
  const at = block === undefined ? `at the newest blocks (${ours} and ${theirs})` : `at block ${block}`;
  console.error(`Comparing ${queries.length} queries with ${new URL(other).host} ${at}.`);
  const lines: string[] = [];
  for (const { name, query, variables } of queries) {
    const pinned = pinQuery(query, block, variables);
    try {
      const answers = await Promise.all([ask(url, pinned, variables), ask(other, pinned, variables)]);
      if (answers.every(({ errors }) => errors !== undefined))
        throw new PreflightError(`both refuse it: ${answers[0].errors?.join("; ").slice(0, 200)}`);
      const found = listDifferences(...answers);
      if (found.some(({ known }) => known === undefined)) process.exitCode = 1;
      lines.push(...formatQuery(name, found));
    } catch (error) {
      if (!(error instanceof PreflightError)) throw error;
      process.exitCode = 1;
      lines.push(`NOT COMPARED  ${name}: ${error.message}`);
    }
  }
  return lines.map(escapeControls).join("\n");
}

type Ask = (endpoint: string, query: string, variables?: object) => ReturnType<typeof askEndpoint>;

async function readHead(url: string, ask: Ask): Promise<number> {
  const { data, errors } = await ask(url, "{ _meta { block { number } } }");
  const number = (data as { _meta?: { block?: { number?: unknown } } } | undefined)?._meta?.block?.number;
  if (typeof number === "number") return number;
  const reason = errors?.join("; ") ?? "no block number";
  throw new PreflightError(
    escapeControls(`${new URL(url).host} is no subgraph of ENS: ${reason.slice(0, 200)}`),
  );
}

type OneQuery = Omit<ClientQuery, "variables"> & { variables: Record<string, unknown> };

const newestNames = `{ registrations(first: 50, orderBy: expiryDate, orderDirection: desc, where: { labelName_not: null }) {
  domain { id name owner { id } } } }`;
const variantsOfQuery = 3;

/** The built-in queries, with names of the index. */
async function listClientQueries(url: string, ask: Ask): Promise<OneQuery[]> {
  const { data } = await ask(url, newestNames);
  const { registrations = [] } = Object(data) as { registrations?: { domain: KnownName }[] };
  const names = registrations.map(({ domain }) => domain).filter(({ name }) => typeof name === "string");
  const [first] = names;
  if (first === undefined) throw new PreflightError("This index has no registration whose label is known.");
  return clientQueries(names, first.owner.id).flatMap(({ name, query, variables }) =>
    variables.slice(0, variantsOfQuery).map((one, index, all) => ({
      ...{ query, variables: one as Record<string, unknown> },
      name: all.length === 1 ? name : `${name} ${index + 1}`,
    })),
  );
}

const queriesSchema = z.array(
  z.object({
    name: z.string(),
    query: z.string(),
    variables: z.record(z.string(), z.unknown()).default({}),
  }),
);

function readQueries(file: string): OneQuery[] {
  const { success, data } = queriesSchema.safeParse(parsedJson(readFileSync(file, "utf8")));
  if (success && data.every(({ query }) => isGraphQL(query))) return data;
  throw new PreflightError(
    `${file} must be a JSON list of {"name", "query", "variables"} with queries in GraphQL.`,
  );
}

const shownOfQuery = 5;

function formatQuery(name: string, found: readonly Difference[]): string[] {
  const others = found.filter(({ known }) => known === undefined);
  const known = [...new Set(found.flatMap((one) => one.known ?? []))];
  const reasons = known.length > 0 ? `; known: ${known.join(", ")}` : "";
  if (others.length === 0) return [`${known.length > 0 ? "known    " : "same     "}  ${name}${reasons}`];
  const shown = others.slice(0, shownOfQuery);
  const more = others.length - shown.length;
  return [
    `DIFFERENT  ${name}: ${others.length}${reasons}`,
    ...shown.map(({ path, ours, theirs }) => `  ${path}: ${format(ours)} here, ${format(theirs)} there`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

const format = (value: unknown) => (value === undefined ? "nothing" : JSON.stringify(value).slice(0, 100));

await runProgram(compare, import.meta.url);
