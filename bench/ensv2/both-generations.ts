import { parseArgs } from "node:util";
import type pg from "pg";
import { type Hex, stringToHex } from "viem";
import { v2Addresses, v2ChainId, v2DatasourcesFile, v2Environment } from "../../devnet/recorded-chains.ts";
import { createSearchIndexes } from "../../src/api/database/indexes.ts";
import { v2ContractsOf } from "../../src/api/resolution/v2-names.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { rootNode, subnode, zeroAddress } from "../../src/ens/ids.ts";
import { labelhashOf } from "../../src/ens/labels.ts";
import { nodeOfName } from "../../src/ens/names.ts";
import { indexStatements, tableStatements } from "../../test/support/create-tables.ts";
import { checkpointOf } from "../../test/support/subgraph/endpoint.ts";

// Names of both generations, and names and tokens of strangers, as rows of the tables.

/** The options of the measurement. */
export const { values: options } = parseArgs({
  options: {
    names: { type: "string", default: "1000000" },
    hostile: { type: "string", default: "100000" },
    requests: { type: "string", default: "400" },
    only: { type: "string", default: "" },
    explain: { type: "boolean", default: false },
  },
});
/** How many names there are of both generations; of strangers there are about twice as many as `--hostile` says. */
export const count = Number(options.names);
const strange = Number(options.hostile);

/** Time of the index, in Unix seconds. */
export const now = 1_800_000_000;
export const year = 31_536_000;

/** The configuration of the index. */
export const config = parseEnvironment(
  {
    ...v2Environment,
    LABELS_URL: "file:labels",
    DATASOURCES_FILE: "file",
    [`RPC_URL_${v2ChainId}`]: "http://localhost",
  },
  () => v2DatasourcesFile(),
);
const named = v2Addresses as Readonly<Record<string, Hex>>;
const { RootRegistry = "0x", ETHRegistry = "0x", Graveyard = "0x" } = named;
const code = v2ContractsOf(config.datasources)?.userRegistries[0] ?? "0x";

const address = (place: number): Hex => `0x${place.toString(16).padStart(40, "0")}`;
/** The address that strangers sent tokens to, and one with a hundredth of the names. */
export const [victim, holder] = [address(7), address(8)];
export const ethNode = nodeOfName("eth");

/** A name. */
export type Made = {
  name: string;
  label: string;
  parent: Hex;
  registry: Hex;
  owner: Hex;
  expiry: number;
  subregistry: Hex;
};

// Four tenths of the names are leased in the first generation, a quarter of these brought over; a tenth is new under .eth in the
// second; three tenths are in one wide registry there, the rest in registries of a hundred.
const share = (part: number) => Math.floor(count * part);
const leased = share(0.4);
const brought = share(0.1);
const wideRegistry = address(1_000_000);
const registryOf = (place: number) => address(2_000_000 + place);
const detached = address(3_000_000);
const flooding = address(3_000_001);
const label = (i: number) => `n${((i * 7_919_317) % 100_000_007).toString(36)}x${i.toString(36)}`;
const ownerOf = (i: number) => (i % 100 === 3 ? holder : address(10_000 + (i % Math.max(1, share(0.1)))));
const expiryOf = (i: number) => now - year / 2 + ((i * 104_729) % (3 * year));
/** Node of the name with many subnames. */
export const wide = subnode(ethNode, labelhashOf("wide"));
const groupOf = (i: number) => Math.floor((i - share(0.8)) / 100);
/** The name `i` of the index. */
export function madeName(i: number): Made {
  const own = { label: label(i), owner: ownerOf(i), expiry: expiryOf(i), subregistry: zeroAddress };
  if (i < share(0.5)) return { ...own, name: `${own.label}.eth`, parent: ethNode, registry: ETHRegistry };
  if (i < share(0.8)) return { ...own, name: `${own.label}.wide.eth`, parent: wide, registry: wideRegistry };
  const group = `g${groupOf(i)}`;
  const parent = subnode(ethNode, labelhashOf(group));
  return { ...own, name: `${own.label}.${group}.eth`, parent, registry: registryOf(groupOf(i)) };
}

const forever = now + 50 * year;
const heading = (text: string, subregistry: Hex): Made => ({
  name: `${text}.eth`,
  label: text,
  parent: ethNode,
  registry: ETHRegistry,
  owner: address(9),
  expiry: forever,
  subregistry,
});

// What strangers have: a registry that is in the tree no more, one each for every hundredth name, tokens sent to one address.
function strangeNames(): Made[] {
  const evil = subnode(ethNode, labelhashOf("evil"));
  const flood = subnode(ethNode, labelhashOf("flood"));
  const of = (i: number, parent: Hex, registry: Hex, text: string): Made => ({
    label: `n${i.toString(36)}`,
    name: `n${i.toString(36)}.${text}.eth`,
    parent,
    registry,
    owner: victim,
    expiry: now + 1_000,
    subregistry: zeroAddress,
  });
  const places = Array.from({ length: strange }, (_, i) => i);
  return [
    ...places.map((i) => of(i, evil, detached, "evil")),
    ...places.slice(0, strange / 10).map((i) => of(i + 2 * strange, evil, address(4_000_000 + i), "evil")),
    ...places.map((i) => of(i, flood, flooding, "flood")),
  ];
}

async function insertSecond(pool: pg.Pool, names: readonly Made[]) {
  const rows = names.map((one) => {
    const hash = labelhashOf(one.label);
    return {
      ...one,
      hash,
      id: subnode(one.parent, hash),
      storage: `${hash.slice(0, -8)}00000000`,
      bytes: stringToHex(one.label),
    };
  });
  for (let start = 0; start < rows.length; start += 20_000) {
    const json = [JSON.stringify(rows.slice(start, start + 20_000))];
    const source = `FROM json_to_recordset($1) AS r (id text, name text, label text, bytes text, hash text, storage text, parent text, registry text, owner text, expiry bigint, subregistry text)`;
    await pool.query(
      `INSERT INTO v2_entries (chain_id, registry, storage_id, labelhash, label, node, token_id, resource, owner, expiry, resolver, subregistry, created_at)
       SELECT ${v2ChainId}, registry, storage, hash, bytes, CASE WHEN registry = '${ETHRegistry}' THEN id END, storage, storage, owner, expiry, '${address(4)}', subregistry, ${now - year} ${source}`,
      json,
    );
    await pool.query(
      `INSERT INTO v2_domains (chain_id, id, registry, place, name, label_name, labelhash, parent_id, created_at, registration_date, expiry_date, owner_id, resolver_id, subregistry, change_block)
       SELECT ${v2ChainId}, id, registry, CASE WHEN registry IN ('${RootRegistry}', '${ETHRegistry}') THEN 0 ELSE 1 END, name, label, hash, parent, ${now - year}, ${now - year}, expiry, owner, '${v2ChainId}-${address(4)}-' || id, subregistry, 1 ${source}`,
      json,
    );
  }
}

async function insertFirst(pool: pg.Pool, names: readonly { i: number; made: Made }[]) {
  for (let start = 0; start < names.length; start += 20_000) {
    const rows = names.slice(start, start + 20_000).map(({ i, made }) => {
      const hash = labelhashOf(made.label);
      const registrant = i < brought ? Graveyard : made.owner;
      return { ...made, hash, id: subnode(made.parent, hash), registrant };
    });
    const json = [JSON.stringify(rows)];
    const source = `FROM json_to_recordset($1) AS r (id text, name text, label text, hash text, parent text, owner text, registrant text, expiry bigint)`;
    await pool.query(
      `INSERT INTO domain (id, name, label_name, labelhash, parent_id, subdomain_count, is_migrated, created_at, owner_id, registrant_id, expiry_date, change_block)
       SELECT id, name, label, hash, parent, 0, true, ${now - 2 * year}, owner, registrant, expiry + 7776000, 1 ${source}`,
      json,
    );
    await pool.query(
      `INSERT INTO registration (id, domain_id, registration_date, expiry_date, registrant_id, label_name, change_block)
       SELECT id, id, ${now - 2 * year}, expiry, registrant, label, 1 ${source}`,
      json,
    );
  }
}
/** Writes all of them. */
export async function fill(pool: pg.Pool) {
  for (const text of tableStatements()) await pool.query(text);
  const eth = {
    ...heading("eth", ETHRegistry),
    name: "eth",
    parent: rootNode,
    registry: RootRegistry,
  };
  const groups = Array.from({ length: Math.ceil(share(0.2) / 100) + 1 }, (_, place) => place);
  const heads = [
    eth,
    heading("wide", wideRegistry),
    heading("evil", zeroAddress),
    heading("flood", flooding),
    ...groups.map((place) => heading(`g${place}`, registryOf(place))),
  ];
  await insertSecond(pool, heads);
  await insertFirst(pool, [{ i: count, made: eth }]);
  await pool.query("DELETE FROM registration");
  for (let start = 0; start < count; start += 50_000) {
    const slice = Array.from({ length: Math.min(50_000, count - start) }, (_, place) => start + place);
    await insertFirst(
      pool,
      slice.filter((i) => i < leased).map((i) => ({ i, made: madeName(i) })),
    );
    await insertSecond(pool, slice.filter((i) => i < brought || i >= leased).map(madeName));
  }
  await insertSecond(pool, strangeNames());
  await pool.query(
    `INSERT INTO v2_places (chain_id, registry, place, node, name, parent, storage_id, parent_place)
     SELECT DISTINCT ON (subregistry) chain_id, subregistry, 1, id, name, registry, left(labelhash, 58) || '00000000', place
     FROM v2_domains WHERE subregistry NOT IN ('${zeroAddress}', '${ETHRegistry}') ORDER BY subregistry, id`,
  );
  await pool.query(
    `INSERT INTO v2_contracts (chain_id, address, implementation, is_upgraded, has_record_ids, entry_count)
     SELECT ${v2ChainId}, registry, '${code}', false, false, count(*) FROM v2_entries WHERE registry NOT IN ('${RootRegistry}', '${ETHRegistry}') GROUP BY registry`,
  );
  await pool.query(
    "INSERT INTO account SELECT DISTINCT owner_id, 1 FROM v2_domains UNION SELECT owner_id, 1 FROM domain UNION SELECT registrant_id, 1 FROM registration",
  );
  await pool.query("INSERT INTO _ponder_checkpoint VALUES ('chain', $1, $2, $2, $2)", [
    v2ChainId,
    checkpointOf({ number: 100, timestamp: now }, v2ChainId),
  ]);
  for (const text of indexStatements())
    if (
      /ON "public"\.(domain|registration|wrapped_domain|resolver\w*|reverse_name_records|account|v2_\w+)\b/.test(
        text,
      )
    )
      await pool.query(text);
  // As the index has it: see src/api/database/indexes.ts.
  for (const table of ["domain", "v2_domains"])
    await pool.query(`ALTER TABLE ${table} ALTER COLUMN parent_id SET (n_distinct = 100)`);
  await createSearchIndexes((text, values) => pool.query(text, values), "public");
  await pool.query("VACUUM ANALYZE");
}
