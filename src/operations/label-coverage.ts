import { addrReverseNode, rootNode } from "../ens/ids.ts";
import { type Log, seeOperations } from "../log/json-log.ts";
import { quoted, type Statement } from "../ponder/sql-client.ts";
import { repeat } from "./repeat.ts";
import { saveStatus } from "./stored-indexes.ts";

/** How many names of a kind, or below a parent, an index has, and how many of their labels are unknown. */
export type Coverage = { of: string; names: number; unknown: number };

/** SQL condition that the label of a domain is unknown, or unusable. */
export const isUnknown = "(d.labelhash IS NOT NULL AND (d.label_name IS NULL OR d.label_name LIKE '[%'))";

/** SQL of the kind of a domain, in a schema. */
export const kindOfNameSql = (
  own: string,
) => `CASE WHEN d.parent_id = '${addrReverseNode}' THEN 'reverse names'
  WHEN EXISTS (SELECT FROM ${own}.registration r WHERE r.domain_id = d.id) THEN 'registered names' ELSE 'other names' END`;

/** A name with the number of its direct subnames; its name has up to 1,000 characters. */
export type Parent = { namehash: string; name: string | null; subname_count: number };

/**
 * The coverage of all kinds, and below the ten parents with most unknown labels; and the 100 parents with most names.
 * Reads all names.
 */
export async function readLabelCoverage(
  run: Statement,
  schema: string,
): Promise<{ counts: Coverage[]; parents: Parent[] }> {
  const own = quoted(schema);
  const { rows } =
    await run(`WITH counts AS MATERIALIZED (SELECT k.parent_id, k.kind, count(*)::int AS names, (count(*) FILTER (WHERE k.is_unknown))::int AS unknown
    FROM (SELECT d.parent_id, ${kindOfNameSql(own)} AS kind, ${isUnknown} AS is_unknown FROM ${own}.domain d WHERE d.parent_id IS NOT NULL) k
    GROUP BY GROUPING SETS ((k.kind), (k.parent_id)))
  SELECT (SELECT json_agg(f) FROM (
    (SELECT c.kind AS of, c.names, c.unknown FROM counts c WHERE c.kind IS NOT NULL ORDER BY 1) UNION ALL
    (SELECT 'below ' || CASE c.parent_id WHEN '${rootNode}' THEN 'the root' ELSE coalesce(nullif(p.name, ''), c.parent_id) END, c.names, c.unknown FROM counts c LEFT JOIN ${own}.domain p ON p.id = c.parent_id
      WHERE c.kind IS NULL ORDER BY c.unknown DESC, c.names DESC, 1 LIMIT 10)) f) AS counts,
    (SELECT json_agg(f) FROM (SELECT c.parent_id AS namehash, nullif(left(p.name, 1000), '') AS name, c.names AS subname_count
      FROM counts c LEFT JOIN ${own}.domain p ON p.id = c.parent_id WHERE c.kind IS NULL ORDER BY c.names DESC, 1 LIMIT 100) f) AS parents`);
  const { counts, parents } = (rows[0] ?? {}) as { counts: Coverage[] | null; parents: Parent[] | null };
  return { counts: counts ?? [], parents: parents ?? [] };
}

/** A class of names (ENSIP-27), with the number of names that say they are of it. */
export type NameClass = { class: string; names: number };

/**
 * The 100 classes with most names, by the text record `class` in a name's resolver, without records under record ids of
 * ENSv2.
 */
export async function readClasses(run: Statement, schema: string): Promise<NameClass[]> {
  const own = quoted(schema);
  const { rows } =
    await run(`SELECT t.value AS class, count(DISTINCT t.node)::int AS names FROM ${own}.resolver_text_records t
    WHERE t.key = 'class' AND t.value ~ '^[A-Za-z]{1,100}$' AND EXISTS (SELECT FROM ${own}.domain_resolver_relations r
      WHERE r.domain_id = t.node AND r.chain_id = t.chain_id AND r.resolver = t.address)
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 100`);
  return rows as NameClass[];
}

type CoverageOptions = { run: Statement; schema: string; isReady: () => boolean; log: Log };

/**
 * Stores the coverage of an index with its parents and classes each hour, as the status `coverage`. Returns how to stop
 * it; its `soon` counts at once.
 */
export function keepCoverage({ run, schema, isReady, log }: CoverageOptions) {
  let ms = 5_000;
  const count = async () => {
    if (!isReady()) return;
    const [counts, classes] = [await readLabelCoverage(run, schema), await readClasses(run, schema)];
    await saveStatus(run, schema, "coverage", { at: Date.now(), ...counts, classes });
    ms = 3_600_000;
  };
  return repeat(count, {
    everyMs: () => ms,
    log,
    failure: "Could not count unknown labels",
    fields: { section: seeOperations("Heal labels") },
  });
}
