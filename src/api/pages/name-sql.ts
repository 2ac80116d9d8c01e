import { namehash } from "../../ens/names.ts";
import { needsNames } from "../names/lists.ts";

/** The most rows of a list. */
export const most = 30;
const rowsOf = (sql: string) => `(SELECT json_agg(x) FROM (${sql} LIMIT ${most}) x)`;
// By time, since the events of a name may be on several chains.
const newestFirst = "ORDER BY timestamp DESC, block_number DESC, log_index DESC, id DESC";
const eventsOf = (table: string, what: string, where: string) =>
  `(SELECT id, type, timestamp, block_number, log_index, transaction_id AS tx, ${what} AS what FROM ${table} WHERE ${where} ${newestFirst} LIMIT ${most})`;

/** All that is shown of the node $1, as JSON whose values are texts. */
export const nameSql = `
SELECT json_build_object('domain', row_to_json(d), 'registration', row_to_json(r), 'resolver', row_to_json(s),
'wrapped', (SELECT row_to_json(x) FROM (SELECT owner_id AS owner, expiry_date::text AS expiry FROM wrapped_domain WHERE id = q.node) x),
'records', ${rowsOf(`SELECT DISTINCT ON (e.type, e.key, e.coin_type) CASE WHEN e.coin_type IS NULL THEN 'text' ELSE 'address' END AS kind,
  left(coalesce(e.key, e.coin_type::text), 200) AS key, left(coalesce(e.value, e.addr), 600) AS value
  FROM resolver_event e WHERE e.resolver_id = s.id AND (e.type = 'TextChanged' AND e.key = ANY (s.texts)
    OR e.type = 'MulticoinAddrChanged' AND e.coin_type = ANY (s."coinTypes"))
  ORDER BY e.type, e.key, e.coin_type, e.block_number DESC, e.log_index DESC, e.id DESC`)},
'history', ${rowsOf(`SELECT id, type, timestamp::text AS time, block_number::text AS block, tx, what FROM (
  ${eventsOf("domain_event", "coalesce(owner_id, substring(resolver_id FROM '0x[0-9a-f]{40}'), left(name, 200))", "domain_id = q.node")}
  UNION ALL ${eventsOf("registration_event", "coalesce(registrant_id, new_owner_id)", "registration_id = r.id")}
  UNION ALL ${eventsOf("resolver_event", "left(coalesce(key, name, addr_id, coin_type::text), 200)", "resolver_id = s.id")}
  UNION ALL (SELECT e.id, e.type, e.timestamp, e.block_number, e.log_index, e.transaction_hash, coalesce(e.holder, e.address, e.expiry::text)
    FROM (SELECT DISTINCT chain_id, registry, labelhash FROM v2_domains WHERE id = q.node) n
    JOIN v2_events e ON e.chain_id = n.chain_id AND e.registry = n.registry AND e.labelhash = n.labelhash ORDER BY e.timestamp DESC, e.block_number DESC, e.log_index DESC, e.id DESC LIMIT ${most})) e
  ${newestFirst}`)},
'subnames', ${rowsOf(`SELECT id, left(name, 300) AS name, owner_id AS owner, created_at::text AS since
  FROM domain WHERE parent_id = q.node ORDER BY created_at DESC, domain.id DESC`)},
'tokens', ${rowsOf(`SELECT chain_id::text AS chain, contract_address AS contract, asset_namespace AS kind, owner, mint_status AS status
  FROM name_tokens WHERE domain_id = q.node ORDER BY first_seen, id`)},
'actions', ${rowsOf(`SELECT type, timestamp::text AS time, registrant, total::text,
    coalesce(payment_token, 'wei') AS currency, transaction_hash AS tx
  FROM registrar_actions a WHERE node = q.node ORDER BY a.id DESC`)},
'sales', ${rowsOf(`SELECT timestamp::text AS time, seller, buyer, amount::text, currency, transaction_hash AS tx
  FROM name_sales n WHERE domain_id = q.node ORDER BY n.timestamp DESC, n.id DESC`)},
'entries', ${rowsOf(`SELECT DISTINCT chain_id::text AS chain, registry, owner_id AS owner, expiry_date::text AS expiry,
    substring(resolver_id FROM '0x[0-9a-f]{40}') AS resolver FROM v2_domains WHERE id = q.node`)})::text
FROM (SELECT $1::text COLLATE "C" AS node) q
LEFT JOIN LATERAL (SELECT left(name, 1000) AS name, owner_id AS owner, registrant_id AS registrant, resolved_address_id AS resolved,
  resolver_id AS resolver, expiry_date::text AS expiry, created_at::text AS since, subdomain_count::text AS subnames, ttl::text
  FROM domain WHERE id = q.node) d ON true
LEFT JOIN LATERAL (SELECT id, expiry_date::text AS expiry, registration_date::text AS since
  FROM registration WHERE domain_id = q.node LIMIT 1) r ON true
LEFT JOIN LATERAL (SELECT id, address, addr_id AS addr, nullif(left(content_hash, 300), '0x') AS "contentHash", texts, coin_types AS "coinTypes"
  FROM resolver WHERE id = d.resolver) s ON true`;

const namesWhere = (column: string) =>
  rowsOf(`SELECT id, left(name, 300) AS name, expiry_date::text AS expiry, created_at::text AS since
    FROM domain WHERE ${column} = $1 ORDER BY domain.id`);

/** All that is shown of the address $1, as JSON whose values are texts. */
export const addressSql = `SELECT json_build_object('owner', ${namesWhere("owner_id")}, 'registrant', ${namesWhere("registrant_id")},
'wrapped', ${namesWhere("wrapped_owner_id")}, 'resolved', ${namesWhere("resolved_address_id")},
'entries', ${rowsOf(`SELECT id, left(name, 300) AS name, registry, expiry_date::text AS expiry, created_at::text AS since
  FROM v2_domains WHERE owner_id = $1 ORDER BY v2_domains.id`)},
'reverse', ${rowsOf(`SELECT left(value, 300) AS name, coin_type::text AS "coinType" FROM reverse_name_records WHERE address = $1 ORDER BY coin_type`)},
'tokens', ${rowsOf(`SELECT t.domain_id AS id, left(d.name, 300) AS name, t.chain_id::text AS chain, t.contract_address AS contract, t.mint_status AS status
  FROM name_tokens t LEFT JOIN domain d ON d.id = t.domain_id WHERE t.owner = $1 ORDER BY t.id`)},
'actions', ${rowsOf(`SELECT a.node AS id, left(d.name, 300) AS name, a.type, a.timestamp::text AS time, a.transaction_hash AS tx
  FROM registrar_actions a LEFT JOIN domain d ON d.id = a.node WHERE a.registrant = $1 ORDER BY a.id DESC`)})::text`;

const ofBoth = (sql: string) =>
  `SELECT * FROM ((${sql}) UNION ALL (${soldSql})) n ORDER BY since::numeric DESC, id LIMIT 10`;

const registrationsSql = `SELECT r.domain_id AS id, left(d.name, 300) AS name, r.registration_date::text AS since,
  r.expiry_date::text AS expiry, r.registrant_id AS registrant FROM registration r LEFT JOIN domain d ON d.id = r.domain_id
  ORDER BY r.registration_date DESC, r.id DESC LIMIT 10`;
// Of ENSv2 those that were paid for: strangers can have any number of others.
const soldSql = `SELECT v.id, left(v.name, 300) AS name, l.timestamp::text AS since, v.expiry_date::text AS expiry, l.owner AS registrant
  FROM (SELECT * FROM v2_leases WHERE type = 'registration' ORDER BY id DESC LIMIT 10) l
  CROSS JOIN LATERAL (SELECT * FROM v2_domains o WHERE o.chain_id = l.chain_id AND o.labelhash = l.labelhash AND o.parent_id = '${namehash("eth")}'
    ORDER BY o.registration_date DESC LIMIT 1) v`;
const actionsSql = `SELECT a.node AS id, NULL AS name, a.timestamp::text AS since, NULL AS expiry, a.registrant
  FROM registrar_actions a ORDER BY a.id DESC LIMIT 10`;

/** The names registered last, in both generations; without a plugin of names, the nodes of the last registrar actions. */
export function newestSql(plugins: readonly string[]): string {
  const ofNames = plugins.includes("ensv2") ? ofBoth(registrationsSql) : registrationsSql;
  const hasNames = needsNames.plugins.every((some) => some.some((plugin) => plugins.includes(plugin)));
  return `SELECT coalesce(json_agg(n), '[]')::text FROM (${hasNames ? ofNames : actionsSql}) n`;
}
