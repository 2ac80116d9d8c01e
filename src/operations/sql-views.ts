import { zeroAddress } from "../ens/ids.ts";
import { buildCheckpointParts, buildHeadSql } from "../ponder/checkpoints.ts";
import { quoted } from "../ponder/sql-client.ts";
import { hexOf } from "../schema/sql.ts";

// The SQL views for analysts (docs/sql.md), version 1: their columns are a contract. A release whose tables differ
// still gives each of these columns, with the same type; other columns or meanings are version 2, in a schema of their
// own.

/** The schema of the views, unless another is chosen. */
export const sqlViewsSchema = "nsindex_v1";

/** SQL type of a column. */
export type ColumnType = "text" | "integer" | "bigint" | "numeric" | "boolean" | "timestamptz" | "jsonb";

const contract = {
  names: `node text, name text, label text, labelhash text, parent_node text, generation integer, namespace text, chain_id integer,
    registry text, registry_owner text, registrant text, wrapped_owner text, resolver text, address text, created_at timestamptz,
    registered_at timestamptz, expires_at timestamptz, wrapper_expires_at timestamptz, fuses bigint`,
  registrations: `node text, name text, label text, generation integer, namespace text, chain_id integer, registrant text,
    registered_at timestamptz, expires_at timestamptz, cost numeric`,
  events: `id text, kind text, node text, name text, account text, contract text, chain_id integer, block_number integer,
    block_time timestamptz, log_index integer, transaction_hash text, data jsonb`,
  tokens: `id text, node text, name text, chain_id integer, contract text, token_id numeric, standard text, owner text, is_burned boolean`,
  records: "node text, name text, chain_id integer, resolver text, key text, value text, is_current boolean",
  accounts: "address text, primary_name text",
  blocks: "chain_id integer, chain text, block_number integer, block_time timestamptz",
};

/** A view. */
export type SqlView = keyof typeof contract;
/** All views. */
export const sqlViews = Object.keys(contract) as SqlView[];

/** The columns of a view with their types, in order. */
export const columnsOfView = (view: SqlView) =>
  contract[view].split(/,\s+/).map((column) => {
    const [name = "", type] = column.split(" ");
    return { name, type: type as ColumnType };
  });

// Anybody can choose an expiry. None, and one beyond the dates that clients know, is null.
const buildTimeSql = (seconds: string) =>
  `CASE WHEN ${seconds} > 0 AND ${seconds} < 253402300800 THEN to_timestamp((${seconds})::float8) END`;
// A resolver's id ends with its address, `-` and the node.
const buildResolverSql = (id: string) => `nullif(left(right(${id}, 109), 42), '${zeroAddress}')`;

const head = buildCheckpointParts("h.head");

// Rows of the views, from tables that `of` names. In `events` each `e` meets the condition `where`.
const selects: Record<SqlView, (of: (table: string) => string, where: string) => string> = {
  names: (of) => `
SELECT d.id AS node, d.name, d.label_name AS label, d.labelhash, d.parent_id AS parent_node, 1 AS generation, d.namespace, d.chain_id,
  NULL AS registry, d.owner_id AS registry_owner, d.registrant_id AS registrant, d.wrapped_owner_id AS wrapped_owner,
  coalesce(${buildResolverSql("d.resolver_id")}, (SELECT l.resolver FROM ${of("domain_resolver_relations")} l
    WHERE l.domain_id = d.id AND l.chain_id = d.chain_id LIMIT 1)) AS resolver,
  d.resolved_address_id AS address, ${buildTimeSql("d.created_at")} AS created_at, ${buildTimeSql("r.registration_date")} AS registered_at,
  ${buildTimeSql("r.expiry_date")} AS expires_at, ${buildTimeSql("greatest(w.expiry_date, w.renewed_expiry_date)")} AS wrapper_expires_at,
  w.fuses::bigint & 4294967295 AS fuses
FROM ${of("domain")} d LEFT JOIN ${of("registration")} r ON r.domain_id = d.id LEFT JOIN ${of("wrapped_domain")} w ON w.id = d.id
WHERE d.name <> ''
UNION ALL SELECT v.id, v.name, v.label_name, v.labelhash, v.parent_id, 2, NULL, v.chain_id, v.registry, v.owner_id, NULL, NULL,
  ${buildResolverSql("v.resolver_id")}, NULL, ${buildTimeSql("v.created_at")}, ${buildTimeSql("v.registration_date")}, ${buildTimeSql("v.expiry_date")}, NULL, NULL
FROM ${of("v2_domains")} v`,

  registrations: (of) => `
SELECT r.domain_id AS node, d.name, r.label_name AS label, 1 AS generation, d.namespace, d.chain_id, r.registrant_id AS registrant,
  ${buildTimeSql("r.registration_date")} AS registered_at, ${buildTimeSql("r.expiry_date")} AS expires_at, r.cost
FROM ${of("registration")} r LEFT JOIN ${of("domain")} d ON d.id = r.domain_id
UNION ALL SELECT v.id, v.name, v.label_name, 2, NULL, v.chain_id, v.owner_id, ${buildTimeSql("v.registration_date")}, ${buildTimeSql("v.expiry_date")}, NULL
FROM ${of("v2_domains")} v WHERE v.owner_id <> '${zeroAddress}'`,

  events: (of, where) => {
    // Ids begin with the chain, but for an index in subgraph mode, which has one.
    const chain = `CASE WHEN split_part(e.id, '-', 2) = e.block_number::text THEN split_part(e.id, '-', 1)::bigint
    ELSE (SELECT min(c.chain_id) FROM ${of("_ponder_checkpoint")} c) END`;
    const position = `e.block_number, ${buildTimeSql("e.timestamp")} AS block_time, e.log_index`;
    return `
SELECT e.id, e.type AS kind, e.domain_id AS node, d.name, e.owner_id AS account, NULL AS contract, ${chain} AS chain_id, ${position},
  ${hexOf("e.transaction_id")} AS transaction_hash, jsonb_build_object('parent_node', e.parent_domain_id, 'resolver', ${buildResolverSql("e.resolver_id")},
    'ttl', e.ttl::text, 'name', e.name, 'fuses', e.fuses::bigint & 4294967295, 'expiry', e.expiry_date::text, 'from', e.from_id,
    'operator', e.operator_id, 'from_old_registry', e.from_old_registry) AS data
FROM ${of("domain_event")} e LEFT JOIN ${of("domain")} d ON d.id = e.domain_id WHERE ${where}
UNION ALL SELECT e.id, e.type, r.domain_id, d.name, coalesce(e.registrant_id, e.new_owner_id), NULL, ${chain}, ${position}, ${hexOf("e.transaction_id")},
  jsonb_build_object('expiry', e.expiry_date::text, 'from', e.from_id)
FROM ${of("registration_event")} e LEFT JOIN ${of("registration")} r ON r.id = e.registration_id LEFT JOIN ${of("domain")} d ON d.id = r.domain_id
WHERE ${where}
UNION ALL SELECT e.id, e.type, s.domain_id, d.name, coalesce(e.addr_id, e.owner), s.address, ${chain}, ${position}, ${hexOf("e.transaction_id")},
  jsonb_build_object('coin_type', e.coin_type::text, 'addr', e.addr, 'name', e.name, 'key', e.key, 'value', e.value,
    'content_type', e.content_type::text, 'x', e.x, 'y', e.y, 'hash', e.hash, 'interface_id', e.interface_id, 'implementer', e.implementer,
    'target', e.target, 'is_authorized', e.is_authorized, 'version', e.version::text, 'primary_name_of', e.primary_name_of)
FROM ${of("resolver_event")} e LEFT JOIN ${of("resolver")} s ON s.id = e.resolver_id LEFT JOIN ${of("domain")} d ON d.id = s.domain_id
WHERE ${where}
UNION ALL SELECT e.id, 'NameForAddrChanged', NULL, NULL, e.address, NULL, ${chain}, ${position}, ${hexOf("e.transaction_hash")},
  jsonb_build_object('name', e.name, 'coin_type', e.coin_type::text)
FROM ${of("reverse_name_events")} e WHERE ${where}
UNION ALL SELECT e.id, e.type, n.id, n.name, e.holder, e.registry, e.chain_id, ${position}, ${hexOf("e.transaction_hash")},
  jsonb_build_object('labelhash', e.labelhash, 'resource', e.resource, 'address', e.address, 'token_id', e.token_id, 'sender', e.sender,
    'expiry', e.expiry::text, 'roles', e.roles, 'former_roles', e.former_roles)
FROM ${of("v2_events")} e LEFT JOIN ${of("v2_domains")} n ON n.registry = e.registry AND n.labelhash = e.labelhash AND n.chain_id = e.chain_id
  AND NOT EXISTS (SELECT FROM ${of("v2_domains")} o
    WHERE o.registry = n.registry AND o.labelhash = n.labelhash AND o.chain_id = n.chain_id AND o.path < n.path)
WHERE ${where}`;
  },

  tokens: (of) => `
SELECT t.id, t.domain_id AS node, d.name, t.chain_id, t.contract_address AS contract, t.token_id, t.asset_namespace AS standard,
  t.owner, t.mint_status = 'burned' AS is_burned
FROM ${of("name_tokens")} t LEFT JOIN ${of("domain")} d ON d.id = t.domain_id`,

  records: (of) => {
    const domain = (node: string) => `LEFT JOIN ${of("domain")} d ON d.id = ${node}`;
    const stored = (table: string, key: string, value: string) => `
SELECT t.node, d.name, t.chain_id, t.address AS resolver, ${key} AS key, ${value} AS value, EXISTS (SELECT FROM ${of("domain_resolver_relations")} l
  WHERE l.domain_id = t.node AND l.chain_id = t.chain_id AND l.resolver = t.address) AS is_current
FROM ${of(table)} t ${domain("t.node")} WHERE ${value} IS NOT NULL`;
    // All that an index without plugin protocol-acceleration knows.
    const latest = (key: string, value: string) => `
SELECT s.domain_id, d.name, d.chain_id, s.address, ${key}, ${value}, coalesce(d.resolver_id = s.id, false)
FROM ${of("resolver")} s ${domain("s.domain_id")} WHERE ${value} IS NOT NULL AND NOT EXISTS (SELECT FROM ${of("resolver_records")})`;
    return [
      stored("resolver_text_records", "'text:' || t.key", "t.value"),
      stored("resolver_address_records", "'addr:' || t.coin_type::text", "t.value"),
      stored("resolver_records", "'contenthash'", "t.contenthash"),
      stored("resolver_records", "'name'", "t.name"),
      latest("'addr:60'", "s.addr_id"),
      latest("'contenthash'", "s.content_hash"),
    ].join("\nUNION ALL");
  },

  accounts: (of) => `
SELECT a.id AS address, n.value AS primary_name
FROM ${of("account")} a LEFT JOIN ${of("reverse_name_records")} n ON n.address = a.id AND n.coin_type = 60`,

  // Before a chain's first block the checkpoint is its start, or another chain's.
  blocks: (of) => `
SELECT h.chain_id, h.chain_name AS chain, ${head.block} AS block_number, ${buildTimeSql(`${head.time}::bigint`)} AS block_time
FROM (SELECT c.chain_id, c.chain_name, ${buildHeadSql(of("_ponder_meta"))} AS head FROM ${of("_ponder_checkpoint")} c) h
WHERE ${head.chain}::bigint = h.chain_id AND NOT ${head.isStart}`,
};

/**
 * SELECT of a view's rows from the tables of an index. `where`: a condition on the event `e`, for the view `events`.
 */
export function sqlOfView(view: SqlView, schema: string, where = "true"): string {
  const of = (table: string) => `${quoted(schema)}.${quoted(table)}`;
  const columns = columnsOfView(view).map(({ name, type }) => {
    const cast = type === "text" ? 'text COLLATE "C"' : type;
    const value = type === "jsonb" ? `jsonb_strip_nulls(v.${name})` : `v.${name}`;
    return `${value}::${cast} AS ${name}`;
  });
  return `SELECT ${columns.join(", ")} FROM (${selects[view](of, where)}) v`;
}

/**
 * Comment on a schema of SQL views, before the name of what they follow: a views schema, or the schema of one index.
 */
export const sqlViewsComment = "SQL views of nsindex over ";

/**
 * Statements that create the views in schema `name` over an index, or point them to it: rights on them stay, since the
 * columns do.
 */
export const sqlViewsText = ({ schema, name, follows }: { schema: string; name: string; follows: string }) =>
  [
    `CREATE SCHEMA IF NOT EXISTS ${quoted(name)}`,
    `COMMENT ON SCHEMA ${quoted(name)} IS '${sqlViewsComment}${follows.replaceAll("'", "''")}'`,
    ...sqlViews.map((view) => `CREATE OR REPLACE VIEW ${quoted(name)}.${view} AS ${sqlOfView(view, schema)}`),
  ].join(";\n");
