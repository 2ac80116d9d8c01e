import type { Pool } from "pg";
import type { Hex } from "viem";
import { labelhash } from "../../src/ens/labels.ts";
import { namehash } from "../../src/ens/names.ts";
import { createSearchIndexes } from "../../src/operations/indexes.ts";
import { indexStatements, tableStatements } from "../../test/support/create-tables.ts";

// Names that follow from their number, their owners and events.

/** The time of the index, in Unix seconds. */
export const now = 1_768_400_395;
export const year = 31_536_000;
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
const registrarShare = 0.7;
const hotShare = 0.1;

const address = (index: number): Hex => `0x${index.toString(16).padStart(40, "0")}`;
/** An address with a tenth of the names. */
export const hot = address(7);
const [eth, big] = [namehash("eth"), namehash("big.eth")];
// The first part of the names is leased under .eth, the rest are subnames of one name.
const isLease = (i: number, count: number) => i < count * registrarShare;
/** The name with a number, of so many. */
export const generateName = (i: number, count: number) =>
  isLease(i, count) ? `${generateLabel(i)}.eth` : `${generateLabel(i)}.big.eth`;
export const generateLabel = (i: number) => (i % 4 === 0 ? `${word(i)}${i}` : syllables(i));
const consonants = "bfghjklnrst";
const syllables = (i: number): string => {
  const at = (i * 54_323) % 55 ** 4;
  return [0, 1, 2, 3]
    .map((index) => Math.floor(at / 55 ** index) % 55)
    .map((one) => `${consonants[one % 11]}${"aeiou"[Math.floor(one / 11)]}`)
    .join("");
};
const words = ["vitalik", "alice", "zero", "moon", "crypto", "pay", "wallet", "dao", "art", "x"];
export const word = (i: number) => words[(i * 7_919) % words.length] ?? "x";
export const pickOwner = (i: number, count: number) =>
  i % 10 === 3 && i < 10 * hotShare * count
    ? hot
    : address(1_000 + ((i * 31) % Math.max(1, Math.floor(count / 3))));
const isWrapped = (i: number) => i % 10 === 1;
const generateExpiry = (i: number) => now - year + ((i * 104_729) % (4 * year));

// An owner and a record for each name, a registration and a renewal for each lease; of one in ten names on another
// chain.
async function fillEvents(pool: Pool) {
  const place = (
    table: string,
    plus: number,
  ) => `SELECT CASE WHEN n % 10 = 0 THEN 8453 ELSE 1 END || '-' || n || '-' || ${plus} AS event,
    ${now - 5 * year} + n * 12 AS at, sha256(n::text::bytea) AS hash, t.* FROM (SELECT *, row_number() OVER () AS n FROM ${table}) t`;
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

/** Creates the tables and writes so many names with their events. */
export async function fill(pool: Pool, count: number): Promise<void> {
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
    id: namehash(name),
    name,
    parent: null,
    owner: address(1),
  }));
  await pool.query(domains, [JSON.stringify(parents)]);
  for (let start = 0; start < count; start += 20_000) {
    const rows = Array.from({ length: Math.min(20_000, count - start) }, (_, index) => {
      const i = start + index;
      const name = generateName(i, count);
      const [label = ""] = name.split(".");
      const lease = isLease(i, count) ? generateExpiry(i) : undefined;
      const owner = pickOwner(i, count);
      return {
        id: namehash(name),
        name,
        label,
        hash: labelhash(label),
        parent: isLease(i, count) ? eth : big,
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
  await fillEvents(pool);
  for (const text of indexStatements()) await pool.query(text);
  await createSearchIndexes((text, values) => pool.query(text, values), "public");
  // As src/operations/indexes.ts does.
  await pool.query("ALTER TABLE domain ALTER COLUMN parent_id SET (n_distinct = 100)");
  await pool.query("VACUUM ANALYZE");
}
