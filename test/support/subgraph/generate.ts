import type { V2Contracts } from "../../../src/read/names/v2-names.ts";

// Time of the newest generated name, Unix seconds; names are one minute apart.
const generatedUntil = 1_760_000_000;
/** Parent of a tenth of all generated names. */
export const bigParent = "0x".padEnd(66, "b");
const ethNode = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";

/** SQL for the node of the generated name `i`, which can be recomputed. */
export const nodeSql = (i: string | number) => `'0x' || encode(sha256(('node' || ${i})::bytea), 'hex')`;
const hashSql = (kind: string, i: string) => `'0x' || encode(sha256(('${kind}' || ${i})::bytea), 'hex')`;
/** Address of the generated account `i`. */
export const addressSql = (i: string) =>
  `substr('0x' || encode(sha256(('account' || ${i})::bytea), 'hex'), 1, 42)`;

/**
 * Statements that fill the subgraph's tables with `count` names and their events, in the database itself:
 * six tenths below eth, a tenth below one other name, the rest below random names; a few names are spam of
 * 20 kB. One in a thousand names belongs to account 0.
 */
export function generateStatements(count: number): string[] {
  const accounts = Math.max(10, Math.floor(count / 5));
  const owner = `CASE WHEN i % 1000 = 0 THEN ${addressSql("0")} ELSE ${addressSql(`(i::bigint * 7919) % ${accounts}`)} END`;
  const created = `(${generatedUntil}::bigint - (${count} - i) * 60)`;
  const block = "(9000000 + i)";
  const label =
    "CASE WHEN i % 40000 = 7 THEN repeat('spam', 5000) || i ELSE 'label' || substr(md5(i::text), 1, 4) || i END";
  const parent = `CASE WHEN i % 10 < 6 THEN '${ethNode}' WHEN i % 10 = 6 THEN '${bigParent}' ELSE ${nodeSql("(i * 31) % 1000")} END`;
  const suffix = "CASE WHEN i % 10 < 6 THEN '.eth' WHEN i % 10 = 6 THEN '.big.eth' ELSE '.sub.eth' END";
  const resolver = `CASE WHEN i % 5 < 3 THEN '0x231b0ee14048e9dccd1d247744d114a4eb5e8e63-' || ${nodeSql("i")} END`;
  const range = `generate_series(0, ${count - 1}) i`;
  const event = (
    [table, type, columns]: readonly [table: string, type: string, columns: string],
    values: string,
    { id = "", where = "TRUE" },
  ) => `INSERT INTO ${table} (id, block_number, transaction_id, type, ${columns})
     SELECT ${block} || '-${id}' || i % 7, ${block}, sha256(('transaction' || i)::bytea), '${type}', ${values} FROM ${range} WHERE ${where}`;
  return [
    `INSERT INTO account SELECT ${addressSql("i")}, 9000000 FROM generate_series(0, ${accounts - 1}) i`,
    `INSERT INTO domain (id, name, label_name, labelhash, parent_id, subdomain_count, resolved_address_id, resolver_id,
       is_migrated, created_at, owner_id, registrant_id, wrapped_owner_id, expiry_date, change_block)
     VALUES ('${ethNode}', 'eth', 'eth', NULL, NULL, 0, NULL, NULL, TRUE, 0, ${addressSql("1")}, NULL, NULL, NULL, 0),
            ('${bigParent}', 'big.eth', 'big', NULL, '${ethNode}', 0, NULL, NULL, TRUE, 0, ${addressSql("1")}, NULL, NULL, NULL, 0)`,
    `INSERT INTO domain (id, name, label_name, labelhash, parent_id, subdomain_count, resolved_address_id, resolver_id,
       is_migrated, created_at, owner_id, registrant_id, wrapped_owner_id, expiry_date, change_block)
     SELECT ${nodeSql("i")}, l || ${suffix}, l, ${hashSql("label", "i")}, ${parent}, 0,
       CASE WHEN i % 5 < 2 THEN ${owner} END, ${resolver}, TRUE, ${created}, ${owner},
       CASE WHEN i % 10 < 6 THEN ${owner} END, CASE WHEN i % 5 = 1 THEN ${owner} END,
       CASE WHEN i % 10 < 6 THEN ${created} + 31536000 + (i % 97) * 86400 END, ${block}
     FROM ${range}, LATERAL (SELECT ${label} AS l) label`,
    `INSERT INTO registration (id, domain_id, registration_date, expiry_date, cost, registrant_id, label_name, change_block)
     SELECT ${hashSql("label", "i")}, ${nodeSql("i")}, ${created}, ${created} + 31536000 + (i % 97) * 86400 - 7776000,
       5000000000000000 + i, ${owner}, ${label}, ${block}
     FROM ${range} WHERE i % 10 < 6`,
    `INSERT INTO wrapped_domain (id, domain_id, expiry_date, fuses, owner_id, name, change_block)
     SELECT ${nodeSql("i")}, ${nodeSql("i")}, ${created} + 31536000, 196608, ${owner}, ${label} || ${suffix}, ${block}
     FROM ${range} WHERE i % 5 = 1`,
    `INSERT INTO resolver (id, domain_id, address, addr_id, texts, coin_types, change_block)
     SELECT ${resolver}, ${nodeSql("i")}, '0x231b0ee14048e9dccd1d247744d114a4eb5e8e63', ${owner},
       CASE WHEN i % 10 = 0 THEN '{avatar,url}'::text[] END, '{60}', ${block}
     FROM ${range} WHERE i % 5 < 3`,
    event(
      ["domain_event", "NewOwner", "domain_id, parent_domain_id, owner_id"],
      `${nodeSql("i")}, ${parent}, ${owner}`,
      {},
    ),
    event(["domain_event", "Transfer", "domain_id, owner_id"], `${nodeSql("i")}, ${owner}`, {
      ...{ id: "1", where: "i % 2 = 0" },
    }),
    event(["domain_event", "NewResolver", "domain_id, resolver_id"], `${nodeSql("i")}, ${resolver}`, {
      ...{ id: "2", where: "i % 5 < 3" },
    }),
    event(
      ["registration_event", "NameRegistered", "registration_id, registrant_id, expiry_date"],
      `${hashSql("label", "i")}, ${owner}, ${created}`,
      { id: "3", where: "i % 10 < 6" },
    ),
    event(["resolver_event", "AddrChanged", "resolver_id, addr_id"], `${resolver}, ${owner}`, {
      ...{ id: "4", where: "i % 5 < 3" },
    }),
    event(
      ["resolver_event", "TextChanged", "resolver_id, key, value"],
      `${resolver}, 'avatar', 'https://' || i`,
      { id: "5", where: "i % 10 = 0" },
    ),
  ];
}

/** The contracts that the generated names of ENSv2 are read with. */
export const generatedV2: V2Contracts = {
  chainId: 1,
  ethRegistryIds: [],
  currencyOf: () => undefined,
  resolvers: [`0x${"8".repeat(40)}`],
  publicResolver: `0x${"5".repeat(40)}`,
  registrar: `0x${"7".repeat(40)}`,
  lockedMigrator: `0x${"6".repeat(40)}`,
  isInForce: true,
  root: `0x${"1".repeat(40)}`,
  ethRegistry: `0x${"2".repeat(40)}`,
  registries: [`0x${"1".repeat(40)}`, `0x${"2".repeat(40)}`],
  v1Resolver: `0x${"3".repeat(40)}`,
  graveyard: `0x${"4".repeat(40)}`,
  wrappers: [],
  wrapperRegistries: [],
  userRegistries: [],
};

/**
 * Statements that fill the table of ENSv2's names with `count` of them: six tenths below eth, a fifth of which the
 * first generation has too, two tenths in one registry, the rest in registries of three and four labels; a seventh has
 * expired.
 */
export function generateV2Statements(count: number): string[] {
  const { root, ethRegistry } = generatedV2;
  const accounts = Math.max(10, Math.floor(count / 5));
  const owner = `CASE WHEN i % 1000 = 0 THEN ${addressSql("0")} ELSE ${addressSql(`(i::bigint * 7919) % ${accounts}`)} END`;
  const created = `(${generatedUntil}::bigint - (${count} - i) * 60)`;
  const node = (i: string) => nodeSql(`CASE WHEN (${i}) % 5 = 0 THEN (${i}) ELSE 10000000 + (${i}) END`);
  const registry = (i: string) =>
    `substr('0x' || encode(sha256(('registry' || (${i}))::bytea), 'hex'), 1, 42)`;
  const above =
    "CASE WHEN i % 10 < 8 THEN 10 WHEN i % 10 = 9 THEN 100 * ((i * 31) % 100) ELSE 10 * ((i * 7) % 100) + 9 END";
  const label = "'label' || substr(md5(i::text), 1, 4) || i";
  const nobody = "0x".padEnd(42, "0");
  const rootNode = "0x".padEnd(66, "0");
  const columns =
    "chain_id, id, registry, path, name, label_name, labelhash, parent_id, created_at, registration_date, expiry_date, owner_id, resolver_id, subregistry, change_block";
  return [
    `INSERT INTO v2_domains (${columns}) VALUES
       (1, '${ethNode}', '${root}', 0, 'eth', 'eth', ${hashSql("label", "'eth'")}, '${rootNode}', 0, 0, 9999999999, ${addressSql("1")}, NULL, '${ethRegistry}', 0)`,
    `INSERT INTO v2_domains (${columns})
     SELECT 1, ${node("i")}, CASE WHEN i % 10 < 6 THEN '${ethRegistry}' ELSE ${registry(above)} END,
       CASE WHEN i % 10 < 6 THEN 0 ELSE 1 END, l || CASE WHEN i % 10 < 6 THEN '.eth' ELSE '.sub.eth' END, l, ${hashSql("label", "i")},
       CASE WHEN i % 10 < 6 THEN '${ethNode}' ELSE ${node(above)} END, ${created}, ${created},
       ${created} + CASE WHEN i % 7 = 3 THEN 60 ELSE 31536000 + (i % 97) * 86400 END, ${owner},
       CASE WHEN i % 5 < 3 THEN '0x231b0ee14048e9dccd1d247744d114a4eb5e8e63-' || ${node("i")} END,
       CASE WHEN i = 10 OR i % 100 = 0 OR (i % 10 = 9 AND i < 1000) THEN ${registry("i")} ELSE '${nobody}' END, 9000000 + i
     FROM generate_series(0, ${count - 1}) i, LATERAL (SELECT ${label} AS l) label`,
    `INSERT INTO v2_entries (chain_id, registry, storage_id, labelhash, label, token_id, resource, owner, expiry, resolver, subregistry, created_at)
     SELECT 1, registry, left(labelhash, 58) || '00000000', labelhash, '0x', labelhash, labelhash, owner_id, expiry_date,
       coalesce(left(resolver_id, 42), '${nobody}'), subregistry, created_at
     FROM v2_domains WHERE subregistry <> '${nobody}' OR registry = '${ethRegistry}'`,
    `INSERT INTO v2_registry_paths (chain_id, registry, path, node, name, parent, storage_id, parent_path)
     SELECT 1, subregistry, 1, id, name, registry, left(labelhash, 58) || '00000000', path
     FROM v2_domains WHERE subregistry NOT IN ('${nobody}', '${ethRegistry}')`,
    `INSERT INTO v2_contracts (chain_id, address, is_upgraded, has_record_ids, entry_count)
     SELECT 1, ${registry("i")}, FALSE, FALSE, i FROM generate_series(0, ${Math.floor(count / 10)}) i`,
  ];
}
