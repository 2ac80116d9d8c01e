import type { Pool } from "pg";
import { namehash } from "../../src/ens/names.ts";
import { createStatusTable } from "../../src/operations/stored-indexes.ts";
import type { IndexedNamespace } from "../../src/read/names/indexed-namespaces.ts";
import { createCounting, createFigures } from "../../src/read/stats/count.ts";
import { checkpointOf } from "../../test/support/checkpoints.ts";
import { now, year } from "./names.ts";

/** Seconds behind the head that are not final, as on mainnet. */
const unfinal = 900;
const span = 5 * year;

/**
 * Adds a registration and a renewal of each lease, spread over five years up to now, and counts what is final. Returns
 * the seconds that counting has taken.
 */
export async function fillFigures(pool: Pool, namespaces: readonly IndexedNamespace[]): Promise<number> {
  const registrar = "eip155:1/erc721:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
  const at = (n: string) =>
    `(${now - span} + (${n} * ${span} / (SELECT count(*) FROM registration)))::bigint`;
  const number = "SELECT *, row_number() OVER () AS n FROM registration";
  const action = (type: string, time: string, source: string) => `
    INSERT INTO registrar_actions (id, type, subregistry_id, node, incremental_duration, base_cost, premium, total, registrant, block_number, timestamp, transaction_hash, event_ids)
    SELECT lpad(${time}::text, 10, '0') || lpad(n::text, 65, '0'), '${type}', '${registrar}', domain_id, ${year}, 1e16, 0, 1e16, registrant_id, n, ${time},
      sha256(n::text::bytea), '{}' FROM (${source}) r`;
  for (const text of [
    `INSERT INTO subregistries VALUES ('${registrar}', '${namehash("eth")}') ON CONFLICT DO NOTHING`,
    action("registration", at("n"), number),
    action("renewal", `(${at("n")} + ${year / 2})`, `${number} OFFSET 0`),
    `DELETE FROM registrar_actions WHERE timestamp > ${now}`,
    `UPDATE registration_event e SET timestamp = a.timestamp FROM registration r JOIN registrar_actions a ON a.node = r.domain_id
      WHERE e.registration_id = r.id AND e.type = 'NameRegistered' AND a.type = 'registration'`,
    "VACUUM ANALYZE registrar_actions, registration_event",
  ])
    await pool.query(text);
  const run = (text: string, values?: unknown[]) => pool.query(text, values);
  await createStatusTable(run, "public");
  await createFigures(run, "public");
  const points = [0, unfinal].map((behind) => checkpointOf({ number: 1, timestamp: now - behind }));
  const [latest, final] = points;
  await pool.query("INSERT INTO _ponder_checkpoint VALUES ('mainnet', 1, $1, $1, $2)", [latest, final]);
  const count = createCounting({ run, schema: "public", namespaces });
  const begun = performance.now();
  while (await count());
  return (performance.now() - begun) / 1_000;
}
