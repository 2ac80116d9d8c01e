import pg from "pg";
import { v2ChainId, v2Environment } from "../devnet/recorded-chains.ts";
import { createDatabase } from "../src/api/database/client.ts";
import { addressNames } from "../src/api/endpoints/v1-addresses.ts";
import { deadlineNames } from "../src/api/endpoints/v1-deadlines.ts";
import { lookup } from "../src/api/endpoints/v1-lookup.ts";
import { nameDetail, search, subnames } from "../src/api/endpoints/v1-names.ts";
import { v2ContractsOf } from "../src/api/resolution/v2-names.ts";
import { createSubgraph } from "../src/api/subgraph/routes.ts";
import { subnode } from "../src/ens/ids.ts";
import { labelhashOf } from "../src/ens/labels.ts";
import type { SqlClient } from "../src/ponder/sql-client.ts";
import { bodyText } from "../test/support/subgraph/endpoint.ts";
import {
  config,
  count,
  ethNode,
  fill,
  holder,
  type Made,
  madeName,
  now,
  options,
  victim,
  wide,
  year,
} from "./ensv2/both-generations.ts";
import { numbers, openEndpoints } from "./lookup/service.ts";
import { startBenchPostgres } from "./postgres.ts";

// Lists of names of both generations, /subgraph and /v1, over generated names, and over names and tokens of strangers that no
// registry leads to.
//   node scripts/with-node.mjs bench/ensv2-lists.ts [--names 1000000] [--hostile 100000] [--requests 400] [--only v1] [--explain]

const postgres = await startBenchPostgres();
const pool = new pg.Pool({ connectionString: postgres.url, max: 18 });
pool.on("error", () => undefined).on("connect", (client) => client.on("error", () => undefined));

const source = createDatabase(pool as unknown as SqlClient, { timeoutMs: 120_000, quickMs: 120_000 });
const explained = new Set<string>();
const database: typeof source = {
  ...source,
  row: async (sql, values, signal) => {
    if (options.explain && !explained.has(sql)) {
      explained.add(sql);
      const { rows } = await pool.query(`EXPLAIN (ANALYZE, BUFFERS) ${sql}`, [...values]);
      console.log(rows.map((row) => row["QUERY PLAN"]).join("\n"), "\n");
    }
    return source.row(sql, values, signal);
  },
};

const plugins = v2Environment.PLUGINS.split(",");
const rest = openEndpoints([lookup, nameDetail, subnames, addressNames, deadlineNames, search], {
  ...{ database, plugins, namespace: config.datasources, chainId: v2ChainId },
  block: { number: 100, timestamp: now },
});
const subgraph = createSubgraph({
  database: source,
  chainId: v2ChainId,
  deployment: "bench",
  blockOf: async () => undefined,
  limits: { timeoutMs: 120_000, quickMs: 120_000 },
  v2: v2ContractsOf(config.datasources),
});

const random = numbers();

async function graph(query: string) {
  const request = {
    query,
    variables: {},
    operationName: undefined,
    extensions: { counts: false, truncated: false },
  };
  const { body } = await subgraph.answer(request, AbortSignal.timeout(120_000));
  const text = bodyText(body);
  if (text.includes('"errors"')) throw new Error(`${query}: ${text.slice(0, 300)}`);
  return text;
}

const some = () => madeName(random(count));
const fields = "id name labelName owner { id } registration { expiryDate } expiryDate";
const walked = `${fields} version reserved effectiveOwner effectiveExpiryDate`;
const nodeOf = ({ parent, label }: Made) => subnode(parent, labelhashOf(label));
const start = () => `n${random(36).toString(36)}${random(36).toString(36)}`;
const routes: [string, () => Promise<string>][] = [
  ["subgraph: by id", () => graph(`{ domain(id: "${nodeOf(some())}") { ${fields} } }`)],
  [
    "subgraph: by id, with the generation in force",
    () => graph(`{ domain(id: "${nodeOf(some())}") { ${walked} } }`),
  ],
  ["subgraph: by name", () => graph(`{ domains(where: { name: "${some().name}" }) { ${fields} } }`)],
  [
    "subgraph: names of an address",
    () => graph(`{ domains(first: 50, where: { owner: "${some().owner}" }, orderBy: name) { ${fields} } }`),
  ],
  [
    "subgraph: names of an address with many",
    () => graph(`{ domains(first: 50, where: { owner: "${holder}" }, orderBy: name) { ${fields} } }`),
  ],
  [
    "subgraph: registrations of an address",
    () =>
      graph(
        `{ registrations(first: 50, where: { registrant: "${some().owner}" }, orderBy: expiryDate) { id expiryDate domain { name } } }`,
      ),
  ],
  [
    "subgraph: subnames of a name with many",
    () => graph(`{ domains(first: 50, where: { parent: "${wide}" }, orderBy: name) { ${fields} } }`),
  ],
  [
    "subgraph: subnames of eth, newest",
    () =>
      graph(
        `{ domains(first: 50, where: { parent: "${ethNode}" }, orderBy: createdAt, orderDirection: desc) { ${fields} } }`,
      ),
  ],
  [
    "subgraph: search, prefix",
    () =>
      graph(`{ domains(first: 20, where: { name_starts_with: "${start()}" }, orderBy: name) { ${fields} } }`),
  ],
  [
    "subgraph: search, contains",
    () =>
      graph(
        `{ domains(first: 20, where: { name_contains: "${some().label.slice(2, 6)}" }, orderBy: labelName) { ${fields} } }`,
      ),
  ],
  [
    "subgraph: expiring",
    () =>
      graph(
        `{ domains(first: 50, where: { expiryDate_gt: ${now + random(year)} }, orderBy: expiryDate) { ${fields} } }`,
      ),
  ],
  ["v1: name", () => rest(`/v1/names/${some().name}`)],
  ["v1: names of an address", () => rest(`/v1/addresses/${some().owner}/names`)],
  ["v1: names of an address with many", () => rest(`/v1/addresses/${holder}/names`)],
  ["v1: subnames of a name with many", () => rest("/v1/names/wide.eth/subnames")],
  ["v1: search, prefix", () => rest(`/v1/search?q=${start()}`)],
  ["v1: search, contains", () => rest(`/v1/search?q=${some().label.slice(2, 6)}&match=contains`)],
  ["v1: search by relevance", () => rest(`/v1/search?sort=relevance&q=${some().label.slice(0, 4)}`)],
  ["v1: deadlines", () => rest(`/v1/names?namespace=ens&expires_after=${now + 2_000 + random(year)}`)],
  [
    "v1: lookup of 10 addresses",
    () =>
      rest("/v1/lookup", {
        inputs: Array.from({ length: 10 }, () => ({ address: some().owner, page_size: 5 })),
      }),
  ],
  [
    "hostile subgraph: names of a flooded address",
    () => graph(`{ domains(first: 50, where: { owner: "${victim}" }, orderBy: name) { ${fields} } }`),
  ],
  [
    "hostile subgraph: expiring",
    () =>
      graph(
        `{ domains(first: 50, where: { expiryDate_gt: ${now + 900} }, orderBy: expiryDate) { ${fields} } }`,
      ),
  ],
  [
    "hostile subgraph: search",
    () => graph(`{ domains(first: 20, where: { name_starts_with: "n1" }, orderBy: name) { ${fields} } }`),
  ],
  ["hostile v1: names of a flooded address", () => rest(`/v1/addresses/${victim}/names`)],
  [
    "hostile v1: lookup of a flooded address",
    () => rest("/v1/lookup", { inputs: [{ address: victim, page_size: 50 }] }),
  ],
  ["hostile v1: deadlines", () => rest(`/v1/names?namespace=ens&expires_after=${now + 900}`)],
  [
    "hostile v1: deadlines, end of grace",
    () => rest(`/v1/names?namespace=ens&grace_ends_after=${now + 900}`),
  ],
  ["hostile v1: search", () => rest("/v1/search?q=n1")],
  ["hostile v1: search by relevance", () => rest("/v1/search?sort=relevance&q=n1")],
  ["hostile v1: subnames", () => rest("/v1/names/flood.eth/subnames")],
];

async function timed(run: () => Promise<string>, connections: number, requests: number): Promise<string> {
  const times: number[] = [];
  let left = requests;
  const end = performance.now() + 30_000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left-- > 0 && performance.now() < end) {
        const begun = performance.now();
        await run();
        times.push(performance.now() - begun);
      }
    }),
  );
  times.sort((a, b) => a - b);
  const at = (part: number) => (times[Math.floor((times.length - 1) * part)] ?? Number.NaN).toFixed(1);
  return `${at(0.5)} / ${at(0.95)}`;
}

try {
  console.log(`${count} names and ${options.hostile} of strangers are written ...`);
  await fill(pool);
  console.log("p50 / p95 in ms, one at a time, then 16");
  for (const [name, run] of routes) {
    if (!name.includes(options.only)) continue;
    const isHostile = name.startsWith("hostile");
    const requests = isHostile ? 8 : Number(options.requests);
    await timed(run, 4, isHostile ? 2 : 40);
    const one = await timed(run, 1, requests);
    console.log(`${name.padEnd(52)} ${one.padStart(16)} ${(await timed(run, 16, requests)).padStart(18)}`);
  }
} finally {
  await pool.end();
  await postgres.stop();
}
