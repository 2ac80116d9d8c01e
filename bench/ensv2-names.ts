import { parseArgs } from "node:util";
import pg from "pg";
import { type Hex, keccak256, namehash, stringToHex } from "viem";
import { createDatabase } from "../src/api/database/client.ts";
import { pathOf, readV2Names, type V2Contracts } from "../src/api/resolution/v2-names.ts";
import { zeroAddress } from "../src/ens/ids.ts";
import type { SqlClient } from "../src/ponder/sql-client.ts";
import { indexStatements, tableStatements } from "../test/support/create-tables.ts";
import { startBenchPostgres } from "./postgres.ts";

// Reads by name over generated names of ENSv2, wide and deep: the recursive statement of the API, and a table of paths that is
// kept up to date instead, with what a change of an ancestor costs there.
//   node scripts/with-node.mjs bench/ensv2-names.ts [--names 1000000] [--requests 4000]

const { values: options } = parseArgs({
  options: {
    names: { type: "string", default: "1000000" },
    requests: { type: "string", default: "4000" },
  },
});
const count = Number(options.names);
const requests = Number(options.requests);
const time = 1_800_000_000;
const later = time + 100_000_000;

const address = (place: number): Hex => `0x${place.toString(16).padStart(40, "0")}`;
const [root, eth, code, resolver] = [address(1), address(2), address(3), address(4)];
const contracts: V2Contracts = {
  chainId: 1,
  root,
  ethRegistry: eth,
  ethRegistryIds: [],
  registries: [root, eth],
  graveyard: address(5),
  resolvers: [code],
  wrapperRegistries: [address(6)],
  userRegistries: [code],
  v1Resolver: address(7),
  publicResolver: address(8),
  lockedMigrator: address(8),
  wrappers: [],
  currencyOf: () => undefined,
  isInForce: true,
};

const postgres = await startBenchPostgres();
const pool = new pg.Pool({ connectionString: postgres.url, max: 18 });
pool.on("error", () => undefined).on("connect", (client) => client.on("error", () => undefined));

// Half of the names are under .eth, a third in one registry, the rest in chains of registries eight levels deep. The label of
// name i is `name<i>`.
function placeOf(i: number): { depth: number; registry: Hex; subregistry: Hex; parent: number | undefined } {
  const wide = Math.floor(count / 2);
  const deep = Math.floor((count * 5) / 6);
  if (i < wide)
    return {
      depth: 2,
      registry: eth,
      subregistry: i === 0 ? address(1000) : isHead(i) ? chain(i, 3) : zeroAddress,
      parent: undefined,
    };
  if (i < deep) return { depth: 3, registry: address(1000), subregistry: zeroAddress, parent: 0 };
  const place = i - deep;
  const [head, level] = [1 + Math.floor(place / 6), 3 + (place % 6)];
  return {
    depth: level,
    registry: chain(head, level),
    subregistry: level < 8 ? chain(head, level + 1) : zeroAddress,
    parent: level === 3 ? head : i - 1,
  };
}
const isHead = (i: number) => i > 0 && i <= Math.ceil(count / 36);
const chain = (head: number, level: number) => address(100_000 + head * 8 + level);

const label = (i: number) => `name${i}`;
const hashes: Hex[] = [];
const hashOf = (i: number): Hex => {
  hashes[i] ??= keccak256(stringToHex(label(i)));
  return hashes[i];
};
const storageId = (hash: Hex) => `${hash.slice(0, -8)}00000000`;

async function fill() {
  for (const text of tableStatements()) await pool.query(text);
  const columns =
    "chain_id, registry, storage_id, labelhash, label, token_id, resource, owner, expiry, resolver, subregistry, created_at";
  const insert = `INSERT INTO v2_entries (${columns})
    SELECT 1, r.registry, r.id, r.hash, r.label, r.id, r.id, '${address(9)}', ${later}, r.resolver, r.subregistry, ${time}
    FROM json_to_recordset($1) AS r(registry text, id text, hash text, label text, resolver text, subregistry text)`;
  const registries = new Set<Hex>();
  const ofEth = {
    registry: root,
    id: storageId(keccak256("0x657468")),
    hash: keccak256("0x657468"),
    label: "0x657468",
    resolver: zeroAddress,
    subregistry: eth,
  };
  await pool.query(insert, [JSON.stringify([ofEth])]);
  for (let start = 0; start < count; start += 20_000) {
    const rows = Array.from({ length: Math.min(20_000, count - start) }, (_, place) => {
      const i = start + place;
      const { registry, subregistry, depth } = placeOf(i);
      registries.add(registry);
      const hash = hashOf(i);
      return {
        registry,
        id: storageId(hash),
        hash,
        label: stringToHex(label(i)),
        resolver: depth < 4 ? resolver : zeroAddress,
        subregistry,
      };
    });
    await pool.query(insert, [JSON.stringify(rows)]);
  }
  await pool.query(
    `INSERT INTO v2_contracts (chain_id, address, implementation, is_upgraded, has_record_ids)
     SELECT 1, a, '${code}', false, true FROM unnest($1::text[]) a`,
    [[...registries, resolver]],
  );
  for (const text of indexStatements()) if (/ON "public"\.v2_/.test(text)) await pool.query(text);
  await pool.query("VACUUM ANALYZE");
}

function labelsOf(i: number): number[] {
  const { parent } = placeOf(i);
  return parent === undefined ? [i] : [i, ...labelsOf(parent)];
}

function pathTo(i: number) {
  return pathOf([...labelsOf(i).map(hashOf), keccak256("0x657468")]);
}

// As many of each kind.
function askedNames(): { kind: string; of: number[] }[] {
  const [wide, deep] = [Math.floor(count / 2), Math.floor((count * 5) / 6)];
  const kinds = [
    { kind: "under .eth", from: 0, to: wide },
    { kind: "in one wide registry", from: wide, to: deep },
    { kind: "in chains of registries, 3 to 8 labels", from: deep, to: count },
  ];
  return kinds.map(({ kind, from, to }) => ({
    kind,
    of: Array.from({ length: requests }, (_, place) => from + ((place * 7919) % (to - from))),
  }));
}

type Read = (i: number) => Promise<unknown>;

async function timed(of: readonly number[], connections: number, read: Read): Promise<string> {
  const times: number[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let i = of[next++]; i !== undefined; i = of[next++]) {
        const start = performance.now();
        await read(i);
        times.push(performance.now() - start);
      }
    }),
  );
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(2);
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} ms`;
}

async function measure(asked: ReturnType<typeof askedNames>) {
  const database = createDatabase(pool as unknown as SqlClient);
  const { signal } = new AbortController();
  const read: Read = async (i) => {
    const [name] = await readV2Names(database, contracts, { paths: [pathTo(i)], time, hasV1: true }, signal);
    if (name?.entry?.status !== "registered" || name.resolver !== resolver || !name.isProven)
      throw new Error(`The name ${labelsOf(i).map(label).join(".")}.eth is not as it was stored.`);
  };
  console.log(`recursive statement, ${count.toLocaleString("en")} names`);
  for (const { kind, of } of asked) {
    await timed(of.slice(0, 300), 4, read);
    for (const connections of [1, 16])
      console.log(`  ${kind}, ${connections} connections: ${await timed(of, connections, read)}`);
  }
}

// One row per name of the tree: its entry, the nearest resolver, and until when each entry above it lives.
async function measurePaths() {
  await pool.query(`CREATE TABLE paths (node text COLLATE "C" PRIMARY KEY, registry text COLLATE "C" NOT NULL,
    storage_id text COLLATE "C" NOT NULL, resolver text COLLATE "C" NOT NULL, lives_until numeric NOT NULL, ancestor text COLLATE "C")`);
  const nodes = new Map<number, Hex>();
  const ethNode = namehash("eth");
  const nodeOf = (i: number): Hex => {
    const { parent } = placeOf(i);
    const known = nodes.get(i);
    if (known) return known;
    const above = parent === undefined ? ethNode : nodeOf(parent);
    const node = keccak256(`${above}${hashOf(i).slice(2)}`);
    nodes.set(i, node);
    return node;
  };
  for (let start = 0; start < count; start += 20_000) {
    const rows = Array.from({ length: Math.min(20_000, count - start) }, (_, place) => {
      const i = start + place;
      const top = labelsOf(i).at(-1) ?? i;
      return {
        node: nodeOf(i),
        registry: placeOf(i).registry,
        id: storageId(hashOf(i)),
        ancestor: nodeOf(top),
      };
    });
    await pool.query(
      `INSERT INTO paths SELECT node, registry, id, '${resolver}', ${later}, ancestor
       FROM json_to_recordset($1) AS r(node text, registry text, id text, ancestor text)`,
      [JSON.stringify(rows)],
    );
  }
  await pool.query("CREATE INDEX ON paths (ancestor)");
  await pool.query("VACUUM ANALYZE paths");
  const database = createDatabase(pool as unknown as SqlClient);
  const { signal } = new AbortController();
  const statement = `SELECT json_build_object('resolver', p.resolver, 'owner', e.owner, 'expiry', e.expiry::text)::text
    FROM paths p JOIN v2_entries e ON e.chain_id = 1 AND e.registry = p.registry AND e.storage_id = p.storage_id
    WHERE p.node = $1 AND p.lives_until > $2::numeric`;
  const read: Read = async (i) => {
    const [text] = await database.row(statement, [nodeOf(i), String(time)], signal);
    if (!text?.includes(resolver)) throw new Error(`No path leads to name ${i}.`);
  };
  console.log("table of paths");
  for (const { kind, of } of askedNames()) {
    await timed(of.slice(0, 300), 4, read);
    for (const connections of [1, 16])
      console.log(`  ${kind}, ${connections} connections: ${await timed(of, connections, read)}`);
  }
  const start = performance.now();
  const { rowCount } = await pool.query(
    "UPDATE paths SET lives_until = lives_until + 1 WHERE ancestor = $1",
    [nodeOf(0)],
  );
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `  renewal of the name above the wide registry: ${rowCount?.toLocaleString("en")} rows rewritten in ${seconds.toFixed(2)} s; in the entries: 1 row`,
  );
}

try {
  await fill();
  const asked = askedNames();
  await measure(asked);
  await measurePaths();
} finally {
  await pool.end();
  await postgres.stop();
}
