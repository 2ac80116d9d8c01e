import { parseArgs } from "node:util";
import { Hono } from "hono";
import pg from "pg";
import type { Hex } from "viem";
import { createDatabase } from "../src/api/database/client.ts";
import { createSearchIndexes } from "../src/api/database/indexes.ts";
import { addressNames } from "../src/api/endpoints/v1-addresses.ts";
import { deadlineNames } from "../src/api/endpoints/v1-deadlines.ts";
import { events } from "../src/api/endpoints/v1-events.ts";
import { lookup } from "../src/api/endpoints/v1-lookup.ts";
import { nameDetail, search, subnames } from "../src/api/endpoints/v1-names.ts";
import { lookupStatus } from "../src/api/endpoints/v1-status.ts";
import { createNamesSource } from "../src/api/lookup/names-query.ts";
import { placesOf } from "../src/api/lookup/places.ts";
import { knownContracts } from "../src/api/resolution/known-contracts.ts";
import { mount } from "../src/api/rest/endpoint.ts";
import type { CurrentStatus } from "../src/api/status/status-source.ts";
import { namespaces } from "../src/deployments/namespaces.ts";
import { labelhashOf } from "../src/ens/labels.ts";
import { nodeOfName } from "../src/ens/names.ts";
import type { SqlClient } from "../src/ponder/sql-client.ts";
import { indexStatements, tableStatements } from "../test/support/create-tables.ts";
import { startBenchPostgres } from "./postgres.ts";

// The endpoints under /v1 over generated names on Postgres, without a socket: the mix of a wallet's look-ups at a fixed rate, and
// each other route with 16 requests at a time, beside the limits of the release gate that ENS Labs' index must pass.
//   node scripts/with-node.mjs bench/lookup.ts [--names 1000000] [--seconds 10] [--rate 200] [--explain] [--only relevance]
// `--only`: the routes whose line begins with it, or `lookup`; with `events` events are written too.

const { values: options } = parseArgs({
  options: {
    names: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "10" },
    rate: { type: "string", default: "200" },
    explain: { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
});
const count = Number(options.names);
const seconds = Number(options.seconds);
const now = 1_768_400_395;
const year = 31_536_000;
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
const registrarShare = 0.7;
const hotShare = 0.1;

const address = (place: number): Hex => `0x${place.toString(16).padStart(40, "0")}`;
const hot = address(7);
const [eth, big] = [nodeOfName("eth"), nodeOfName("big.eth")];
// The first part of the names is leased under .eth, the rest are subnames of one name.
const isLease = (i: number) => i < count * registrarShare;
const nameOf = (i: number) => (isLease(i) ? `${labelOf(i)}.eth` : `${labelOf(i)}.big.eth`);
const labelOf = (i: number) => (i % 4 === 0 ? `${word(i)}${i}` : syllables(i));
const consonants = "bfghjklnrst";
const syllables = (i: number): string => {
  const at = (i * 54_323) % 55 ** 4;
  return [0, 1, 2, 3]
    .map((place) => Math.floor(at / 55 ** place) % 55)
    .map((one) => `${consonants[one % 11]}${"aeiou"[Math.floor(one / 11)]}`)
    .join("");
};
const words = ["vitalik", "alice", "zero", "moon", "crypto", "pay", "wallet", "dao", "art", "x"];
const word = (i: number) => words[(i * 7_919) % words.length] ?? "x";
const ownerOf = (i: number) =>
  i % 10 === 3 && i < 10 * hotShare * count
    ? hot
    : address(1_000 + ((i * 31) % Math.max(1, Math.floor(count / 3))));
const isWrapped = (i: number) => i % 10 === 1;
const expiryOf = (i: number) => now - year + ((i * 104_729) % (4 * year));

const postgres = await startBenchPostgres();
const pool = new pg.Pool({ connectionString: postgres.url, max: 18 });
pool.on("error", () => undefined).on("connect", (client) => client.on("error", () => undefined));

const isAsked = (line: string) => line.startsWith(options.only);

// An owner and a record for each name, a registration and a renewal for each lease; of one in ten names on another chain.
async function fillEvents() {
  const place = (
    table: string,
    plus: number,
  ) => `SELECT CASE WHEN n % 10 = 0 THEN 8453 ELSE 1 END || '-' || n || '-' || ${plus} AS event,
    ${now - 5 * year} + n * 12 AS at, '0x' || lpad(to_hex(n), 64, '0') AS hash, t.* FROM (SELECT *, row_number() OVER () AS n FROM ${table}) t`;
  for (const text of [
    `INSERT INTO domain_event (id, type, block_number, timestamp, log_index, transaction_id, domain_id, parent_domain_id, owner_id)
      SELECT event, 'NewOwner', n, at, 1, hash, id, parent_id, owner_id FROM (${place("domain", 1)}) e`,
    `INSERT INTO registration_event (id, type, block_number, timestamp, log_index, transaction_id, registration_id, registrant_id, expiry_date)
      SELECT event, 'NameRegistered', n, at, 2, hash, id, registrant_id, expiry_date FROM (${place("registration", 2)}) e`,
    `INSERT INTO registration_event (id, type, block_number, timestamp, log_index, transaction_id, registration_id, expiry_date)
      SELECT event, 'NameRenewed', n, at, 3, hash, id, expiry_date FROM (${place("registration", 3)}) e`,
    "INSERT INTO resolver (id, domain_id, address, change_block) SELECT resolver_id, id, split_part(resolver_id, '-', 2), 1 FROM domain",
    `INSERT INTO resolver_event (id, type, block_number, timestamp, log_index, transaction_id, resolver_id, key, value)
      SELECT event, 'TextChanged', n, at, 4, hash, id, 'url', 'https://ens.domains' FROM (${place("resolver", 4)}) e`,
  ])
    await pool.query(text);
}

async function fill() {
  for (const text of tableStatements()) await pool.query(text);
  const domains = `INSERT INTO domain (id, name, label_name, labelhash, parent_id, subdomain_count, is_migrated, created_at, owner_id, registrant_id, wrapped_owner_id, resolver_id, resolved_address_id, expiry_date, change_block)
    SELECT id, name, label, hash, parent, 0, true, ${now - 5 * year}, owner, registrant, wrapped, '1-${address(9)}-' || id, resolved, expiry, 1
    FROM json_to_recordset($1) AS r (id text, name text, label text, hash text, parent text, owner text, registrant text, wrapped text, resolved text, expiry bigint)`;
  const leases = `INSERT INTO registration (id, domain_id, registration_date, expiry_date, registrant_id, label_name, change_block)
    SELECT id, id, ${now - 2 * year}, lease, registrant, label, 1 FROM json_to_recordset($1) AS r (id text, lease bigint, registrant text, label text)`;
  const wraps = `INSERT INTO wrapped_domain (id, domain_id, expiry_date, fuses, owner_id, name, change_block)
    SELECT id, id, expiry, CASE WHEN lease IS NULL THEN 65536 ELSE 196608 END, wrapped, name, 1
    FROM json_to_recordset($1) AS r (id text, expiry bigint, lease bigint, wrapped text, name text)`;
  const parents = ["eth", "big.eth"].map((name) => ({
    id: nodeOfName(name),
    name,
    parent: null,
    owner: address(1),
  }));
  await pool.query(domains, [JSON.stringify(parents)]);
  for (let start = 0; start < count; start += 20_000) {
    const rows = Array.from({ length: Math.min(20_000, count - start) }, (_, place) => {
      const i = start + place;
      const name = nameOf(i);
      const [label = ""] = name.split(".");
      const lease = isLease(i) ? expiryOf(i) : undefined;
      const owner = ownerOf(i);
      return {
        id: nodeOfName(name),
        name,
        label,
        hash: labelhashOf(label),
        parent: isLease(i) ? eth : big,
        owner: isWrapped(i) ? wrapper : owner,
        registrant: lease === undefined ? null : isWrapped(i) ? wrapper : owner,
        wrapped: isWrapped(i) ? owner : null,
        resolved: owner,
        lease,
        expiry: (lease ?? now + year) + 7_776_000,
      };
    });
    await pool.query(domains, [JSON.stringify(rows)]);
    await pool.query(leases, [JSON.stringify(rows.filter(({ lease }) => lease !== undefined))]);
    await pool.query(wraps, [JSON.stringify(rows.filter(({ wrapped }) => wrapped !== null))]);
  }
  await pool.query(`INSERT INTO reverse_name_records SELECT owner_id, 2147483648, min(name) FROM domain WHERE subdomain_count = 0
    AND right(id, 1) < '4' GROUP BY owner_id`);
  if (options.only.startsWith("events")) await fillEvents();
  for (const text of indexStatements())
    if (
      /ON "public"\.(domain|registration|wrapped_domain|resolver\w*|reverse_name_records|\w+_event)\b/.test(
        text,
      )
    )
      await pool.query(text);
  await createSearchIndexes((text, values) => pool.query(text, values), "public");
  await pool.query("VACUUM ANALYZE");
}

console.log(`${count} names are written ...`);
await fill();

const plugins = ["subgraph", "protocol-acceleration"];
const source = createDatabase(pool as unknown as SqlClient);
const slowest = new Map<string, number>();
const database: typeof source = {
  ...source,
  row: async (sql, values, signal) => {
    if (!options.explain) return source.row(sql, values, signal);
    const { rows } = await pool.query(`EXPLAIN (ANALYZE, BUFFERS) ${sql}`, [...values]);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    if (!slowest.has(sql)) console.log(`${plan}\n`);
    slowest.set(sql, 1);
    return source.row(sql, values, signal);
  },
};
const block = { number: 24_000_000, timestamp: now };
const chain = { chainStatus: "chain-following", latestIndexedBlock: block, latestKnownBlock: block };
const current = {
  snapshot: {
    omnichainSnapshot: {
      omnichainStatus: "omnichain-following",
      omnichainIndexingCursor: now,
      chains: { 1: chain },
    },
  },
} as unknown as CurrentStatus;
const context = {
  plugins,
  status: { current: () => current },
  clock: () => now * 1_000,
  lookup: {
    ...createNamesSource({ database, places: placesOf(namespaces.mainnet, plugins), hasRecords: true }),
    hashOf: () => undefined,
    known: knownContracts(namespaces.mainnet),
  },
};
const app = new Hono();
for (const one of [lookup, nameDetail, subnames, addressNames, deadlineNames, search, events, lookupStatus])
  mount(app, one, context, (_, message) => console.error(message));

let seed = 1;
const random = (below: number) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return seed % below;
};

async function ask(path: string, body?: unknown) {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await app.request(path, init);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
  return text;
}

// 70 % have one input, 20 % ten, 6 % a hundred, 2 % 250, 2 % 1,000; a quarter each of the kinds.
function mixed() {
  const place = random(100);
  const inputs = place < 70 ? 1 : place < 90 ? 10 : place < 96 ? 100 : place < 98 ? 250 : 1_000;
  return batch(inputs, random(4));
}

function batch(inputs: number, kind: number) {
  const one = () =>
    kind % 2 === 0
      ? { name: nameOf(random(count)) }
      : { address: ownerOf(random(count)), page_size: kind === 1 ? 5 : 50 };
  return {
    inputs: Array.from({ length: inputs }, one),
    profile: kind < 2 || inputs >= 100 ? "feed" : "detail",
  };
}

function show(name: string, times: number[], gate: string) {
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor((times.length - 1) * share)] ?? 0).toFixed(1);
  console.log(
    `${name.padEnd(44)} ${String(times.length).padStart(6)}  ${at(0.5)} / ${at(0.95)} / ${at(0.99)} ms  (gate ${gate})`,
  );
}

async function timed(run: () => Promise<unknown>, times: number[]) {
  const start = performance.now();
  await run();
  times.push(performance.now() - start);
}

async function busy(next: () => Promise<unknown>, connections: number): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  const worker = async () => {
    while (performance.now() < end) await timed(next, times);
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return times;
}

const relevance = (q: string) => `/v1/search?sort=relevance&status=active&q=${q}&page_size=10`;
const mistyped = (label: string) => {
  const at = 1 + random(label.length - 1);
  return `${label.slice(0, at)}${label.slice(at + 1)}`;
};

const allRoutes: [string, () => string, string][] = [
  ["name", () => `/v1/names/${nameOf(random(count))}`, "25/75/150"],
  ["names of an address", () => `/v1/addresses/${ownerOf(random(count))}/names`, "25/75/150"],
  ["names of an address with 100,000", () => `/v1/addresses/${hot}/names`, "25/75/150"],
  ["search, prefix of three letters", () => `/v1/search?q=${word(random(1_000)).slice(0, 3)}`, "25/75/150"],
  ["search, contains", () => `/v1/search?q=${word(random(1_000)).slice(-3)}&match=contains`, "25/75/150"],
  ["relevance, 1 to 8 letters", () => relevance(labelOf(random(count)).slice(0, 1 + random(8))), "p95 50"],
  ["relevance, typing error", () => relevance(mistyped(labelOf(random(count)))), "p95 50"],
  ["relevance, word of many", () => relevance(word(random(1_000))), "p95 50"],
  ["events, all", () => "/v1/events", "50/150/300"],
  ["events, registrations", () => "/v1/events?type=registration&namespace=ens", "50/150/300"],
  ["events, of a name", () => `/v1/events?name=${nameOf(random(count))}`, "50/150/300"],
  ["events, of an address with 100,000", () => `/v1/events?address=${hot}`, "50/150/300"],
  ["subnames of a name with many", () => "/v1/names/big.eth/subnames", "50/150/300"],
  ["subnames of .eth, prefix", () => `/v1/names/eth/subnames?q=${word(random(1_000))}`, "50/150/300"],
  ["deadlines of a day", () => `/v1/names?namespace=ens&expires_after=${now + random(year)}`, "none"],
  ["status", () => "/v1/status", "5/10/25"],
];

// Without `--only` there are no events.
const routes = allRoutes.filter(([name]) => isAsked(name) && (options.only || !name.startsWith("events")));

for (const [, path] of routes) await ask(path());
await ask("/v1/lookup", mixed());
if (options.explain) {
  for (const inputs of [1, 1_000]) for (const kind of [0, 1]) await ask("/v1/lookup", batch(inputs, kind));
} else {
  console.log("route".padEnd(44), "  runs  p50 / p95 / p99");
  if (isAsked("lookup")) await measureLookup();
  for (const [name, path, gate] of routes)
    show(`${name}, 16 at a time`, await busy(() => ask(path()), 16), gate);
}
await pool.end();
await postgres.stop();

async function measureLookup() {
  const times: number[] = [];
  const running: Promise<void>[] = [];
  const started = performance.now();
  for (let i = 0; i < seconds * Number(options.rate); i++) {
    const due = started + (i * 1_000) / Number(options.rate);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    running.push(timed(() => ask("/v1/lookup", mixed()), times));
  }
  await Promise.all(running);
  show(`lookup, the mix, ${options.rate}/s`, times, "5/10/25");
  for (const inputs of [1, 10, 100, 1_000])
    show(
      `lookup, ${inputs} inputs, one at a time`,
      await busy(() => ask("/v1/lookup", batch(inputs, random(4))), 1),
      "none",
    );
}
