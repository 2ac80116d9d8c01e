import { parseArgs } from "node:util";
import { Hono } from "hono";
import pg from "pg";
import type { Client, Hex } from "viem";
import { createDatabase, type Database } from "../src/api/database/client.ts";
import { readTokens } from "../src/api/endpoints/name-token-rows.ts";
import { namesContext, nameTokens } from "../src/api/endpoints/name-tokens.ts";
import { resolvedRecords } from "../src/api/endpoints/resolve.ts";
import { createAdmission, resolutionLimits } from "../src/api/resolution/admission.ts";
import { defaultGatewayLimits } from "../src/api/resolution/gateway.ts";
import { indexedResolver } from "../src/api/resolution/indexed-records.ts";
import { knownContracts } from "../src/api/resolution/known-contracts.ts";
import { mount } from "../src/api/rest/endpoint.ts";
import type { CurrentStatus } from "../src/api/status/status-source.ts";
import { indexedSubregistries, namespaces } from "../src/deployments/namespaces.ts";
import { keccak256 } from "../src/ens/keccak.ts";
import { nodeOfName } from "../src/ens/names.ts";
import type { SqlClient } from "../src/ponder/sql-client.ts";
import { indexStatements, tableStatements } from "../test/support/create-tables.ts";
import { startBenchPostgres } from "./postgres.ts";

// Responses of /api/name-tokens and accelerated /api/resolve/records on generated names, against their statements alone.
//   node bench/tokens.ts [--names 1000000] [--requests 2000]

const { values: options } = parseArgs({
  options: {
    names: { type: "string", default: "1000000" },
    requests: { type: "string", default: "2000" },
  },
});
const names = Number(options.names);
const requests = Number(options.requests);

const registrar = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
const registry = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
const resolver = "0xf29100983e058b709f3d539b0c765937b804ac15";
const owner: Hex = `0x${"a1".repeat(20)}`;

const postgres = await startBenchPostgres();
const pool = new pg.Pool({ connectionString: postgres.url, max: 4 });
pool.on("error", () => undefined).on("connect", (client) => client.on("error", () => undefined));
try {
  await fill();
  await measure();
} finally {
  await pool.end();
  await postgres.stop();
}

// Most rows have generated nodes; the requested names have real ones.
async function fill() {
  for (const text of tableStatements()) await pool.query(text);
  const madeUp = `SELECT i, '0x' || md5(i::text) || md5('x' || i) AS node, 'name' || i || '.eth' AS name FROM generate_series(1, ${names - requests}) AS i`;
  const asked = Array.from({ length: requests }, (_, i) => nameOf(i));
  const given = `SELECT ${names} + ordinality AS i, node, name FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS t(node, name, ordinality)`;
  for (const [source, values] of [
    [madeUp, []],
    [given, [asked.map(nodeOfName), asked]],
  ] as const) {
    const insert = (into: string, select: string) =>
      pool.query(`INSERT INTO ${into} ${select} FROM (${source}) AS n`, [...values]);
    await insert(
      "domain (id, name, subdomain_count, is_migrated, created_at, owner_id, change_block)",
      `SELECT node, name, 0, true, i, '${owner}', 1`,
    );
    await insert(
      "registration_lifecycles (node, subregistry_id, expires_at)",
      `SELECT node, 'eip155:1:${registrar}', 1900000000`,
    );
    const token = (contract: string, namespace: string, holder: string, seen: number) =>
      insert(
        "name_tokens (id, domain_id, chain_id, contract_address, token_id, asset_namespace, owner, mint_status, first_seen)",
        `SELECT 'eip155:1/${namespace}:${contract}/' || node, node, 1, '${contract}', i, '${namespace}', '${holder}', 'minted', '${seen}'`,
      );
    await token(registrar, "erc721", wrapper, 1);
    await token(wrapper, "erc1155", owner, 2);
    await insert(
      "domain_resolver_relations (chain_id, address, domain_id, resolver)",
      `SELECT 1, '${registry}', node, '${resolver}'`,
    );
    await insert(
      "resolver_records (id, chain_id, address, node, name)",
      `SELECT 'eip155:1:${resolver}/' || node, 1, '${resolver}', node, name`,
    );
    await insert(
      "resolver_address_records (chain_id, address, node, coin_type, value)",
      `SELECT 1, '${resolver}', node, 60, '${owner}'`,
    );
    await insert(
      "resolver_text_records (chain_id, address, node, key_hash, key, value)",
      `SELECT 1, '${resolver}', node, '${keccak256("avatar")}', 'avatar', 'ipfs://' || i`,
    );
  }
  for (const text of indexStatements()) {
    if (/\.(name_tokens|domain_resolver_relations) /.test(text)) await pool.query(text);
  }
  await pool.query("VACUUM ANALYZE");
}

const now = Math.floor(Date.now() / 1000);

// The endpoints over an index that is in real time.
function openEndpoints(): Hono {
  const plugins = ["subgraph", "registrars", "tokenscope", "protocol-acceleration"];
  const snapshot = {
    slowestChainIndexingCursor: now,
    snapshotTime: now,
    omnichainSnapshot: { omnichainStatus: "omnichain-following", omnichainIndexingCursor: now, chains: {} },
  };
  const context = {
    database: createDatabase(pool as unknown as SqlClient),
    status: { current: () => ({ snapshot, json: "" }) as unknown as CurrentStatus },
    plugins,
    clock: () => now * 1000,
    subregistries: indexedSubregistries(namespaces.mainnet),
    names: namesContext(namespaces.mainnet, plugins),
    ensv2: undefined,
    resolution: {
      known: knownContracts(namespaces.mainnet),
      clientOf: (): Client | undefined => undefined,
      gatewayLimits: defaultGatewayLimits,
      admit: createAdmission(resolutionLimits),
    },
  };
  const app = new Hono();
  mount(app, nameTokens, context, console.error);
  mount(app, resolvedRecords, context, console.error);
  return app;
}

type Statement = { text: string; values: readonly string[] };

/** The statement that `run` sends to its database. */
async function statementOf(run: (database: Database) => Promise<unknown>): Promise<Statement> {
  const sent: Statement[] = [];
  const row = async (text: string, values: readonly string[]) => {
    sent.push({ text, values });
    return [];
  };
  await run({ row }).catch(() => undefined);
  const statement = sent.at(-1);
  if (statement === undefined) throw new Error("no statement was sent");
  return statement;
}

async function measure() {
  const app = openEndpoints();
  const get = async (path: string) => {
    const response = await app.request(path);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  };
  const { signal } = new AbortController();
  await report(
    "name-tokens",
    (i) => get(`/api/name-tokens?name=${nameOf(i)}`),
    (i) => statementOf((database) => readTokens(database, nodeOfName(nameOf(i)), signal)),
  );
  const readOf = (i: number) => ({
    registry: { chainId: 1, address: registry } as const,
    nodes: [nodeOfName(nameOf(i)), nodeOfName("eth")] as const,
    coinTypes: [60n, 0n],
    textKeys: ["avatar", "url"],
  });
  await report(
    "records, accelerated",
    (i) => get(`/api/resolve/records/${nameOf(i)}?addresses=60,0&texts=avatar,url&accelerate=true`),
    (i) => statementOf((database) => indexedResolver(database, readOf(i), signal)),
  );
}

async function report(
  what: string,
  answer: (i: number) => Promise<string>,
  statementOf: (i: number) => Promise<Statement>,
) {
  const times = { answer: [] as number[], statement: [] as number[] };
  // Alternating, so that other load on the machine affects both.
  for (let i = 0; i < requests; i += 1) {
    const { text, values } = await statementOf(i);
    const bare = () => pool.query({ text, values: [...values], rowMode: "array" });
    times.statement.push(await timeOf(bare));
    times.answer.push(await timeOf(() => answer((i + requests / 2) % requests)));
  }
  const [sql, all] = [percentile(times.statement, 0.5), percentile(times.answer, 0.5)];
  const tail = `p99 ${percentile(times.statement, 0.99).toFixed(2)} and ${percentile(times.answer, 0.99).toFixed(2)}`;
  console.log(
    `${what}: p50 statement ${sql.toFixed(2)} ms, answer ${all.toFixed(2)} ms (allowed ${(1.5 * sql + 1).toFixed(2)}), ${tail} (${requests} requests, ${names} names, ${postgres.version})`,
  );
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

function percentile(times: number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0;
}

function nameOf(i: number): string {
  return `asked${i}.eth`;
}
