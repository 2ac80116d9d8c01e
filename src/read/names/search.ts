import { namehash } from "../../ens/names.ts";
import type { SortType } from "../sql/keyset.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";
import type { NamesSource } from "./source.ts";
import { listText, nameOfNode, namesJoins, nameText, objectText, partsOfNames } from "./stored-name.ts";

// Names by relevance: those whose label is the text, then those whose label starts with it, then those one typo away.
// Each kind comes from an index, the shortest names first and a limited number, so that any text takes about the same
// time.

const maxPerKind = 100;
const longestName = 255;
const last = "\u{10ffff}";

/** Types of the sort values: kind, length and claim (claim first for prefixes and typing errors), age, node. */
export const relevanceTypes: readonly SortType[] = ["int", "int", "int", "numeric", "text"];

const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789-"];
const [fewest, max] = [3, 24];

/** All labels one edit away: a letter left out, added, replaced or swapped with the next. Only for 3 to 24 letters. */
function listTypos(label: string): string[] {
  const given = [...label];
  if (given.length < fewest || given.length > max) return [];
  const found = new Set<string>();
  for (let at = 0; at <= given.length; at++) {
    const [before, after] = [given.slice(0, at).join(""), given.slice(at)];
    const [first = "", second = "", ...others] = after;
    const behind = after.slice(1).join("");
    if (after.length > 0) found.add(before + behind);
    if (after.length > 1) found.add(before + second + first + others.join(""));
    for (const letter of letters) {
      found.add(before + letter + after.join(""));
      if (after.length > 0) found.add(before + letter + behind);
    }
  }
  // Labels that begin with the text are found as such.
  return [...found].filter((one) => !one.startsWith(label));
}

const reverseParent = namehash("addr.reverse");

// Sizes come in order and the limit ends the loop, so that the matches are never sorted as a whole.
const bySize = (from: string) =>
  `(SELECT c.* FROM generate_series(char_length($2::text), ${longestName}) size CROSS JOIN LATERAL (${from} LIMIT ${maxPerKind}) c LIMIT ${maxPerKind})`;

// $2: the label, $3: the first text after all that begin with it, $4 and $5: the same for the name.
const within = (column: string, from: number) =>
  `left(${column}, 256) >= $${from}::text COLLATE "C" AND left(${column}, 256) < $${from + 1}::text COLLATE "C"`;

function buildClaimsSql(namespaces: readonly IndexedNamespace[]) {
  const onRoot = `JOIN domain_resolver_relations l ON l.domain_id = v.node AND l.resolver = v.address AND l.chain_id = ${namespaces[0]?.chainId ?? 0}
    JOIN domain o ON o.id = v.node AND o.parent_id = '${reverseParent}'`;
  const isClaimed = (
    name: string,
  ) => `(EXISTS (SELECT FROM reverse_name_records v WHERE char_length(v.value) = char_length(${name}) AND left(v.value, 256) = left(${name}, 256))
  OR EXISTS (SELECT FROM resolver_records v ${onRoot} WHERE char_length(v.name) = char_length(${name}) AND left(v.name, 256) = left(${name}, 256)))`;
  const lists = [
    `SELECT v.value AS name FROM reverse_name_records v WHERE char_length(v.value) = size AND ${within("v.value", 4)} ORDER BY left(v.value, 256)`,
    `SELECT v.name FROM resolver_records v ${onRoot} WHERE char_length(v.name) = size AND ${within("v.name", 4)} ORDER BY left(v.name, 256)`,
  ];
  return { isClaimed, lists };
}

// The sort columns; only the names of the page are looked up again.
const buildCandidateColumns = (kind: number) => `domain.id, ${kind} AS kind, domain.created_at, domain.name`;

type Search = {
  /** Normalized; a trailing dot says that the last label is complete. */
  text: string;
  /** Conditions on names, of few forms. */
  filters: readonly string[];
  after: readonly string[] | undefined;
  limit: number;
};

/** SQL of names by relevance. Binds all of its values. */
export function relevanceSql(
  { namespaces, hasRecords }: NamesSource,
  { text, filters, after = ["", "0", "0", "0", ""], limit }: Search,
  bind: (value: string) => string,
): string {
  const dot = text.indexOf(".");
  const isComplete = dot >= 0;
  const label = isComplete ? text.slice(0, dot) : text;
  // `$2` to `$5` as above, `$6` the labels one edit away, `$7` to `$11` the last row, `$12` the limit, `$13` what
  // follows the label.
  for (const value of [label, `${label}${last}`, text, `${text}${last}`, JSON.stringify(listTypos(label))])
    bind(value);
  for (const value of [...after, String(limit), isComplete ? text.slice(dot) : ""]) bind(value);
  const joins = filters.length === 0 ? "" : namesJoins(namespaces);
  const where = ["domain.name <> ''", ...filters].join(" AND ");
  const { isClaimed, lists } = buildClaimsSql(namespaces);
  const parts = partsOfNames(namespaces);
  const exact = parts.map((part) =>
    bySize(`SELECT ${buildCandidateColumns(0)} FROM ${part}${joins} WHERE char_length(domain.name) = size AND left(domain.label_name, 256) = $2::text COLLATE "C"
    AND ${within("domain.name", 4)} AND ${where} ORDER BY domain.id`),
  );
  const prefix = parts.map((part) =>
    bySize(`SELECT ${buildCandidateColumns(1)} FROM ${part}${joins} WHERE char_length(domain.name) = size AND ${within("domain.label_name", 2)}
    AND left(domain.label_name, 256) <> $2::text COLLATE "C" AND ${where} ORDER BY left(domain.label_name, 256), domain.id`),
  );
  const claimed = lists.flatMap((list) =>
    parts.map(
      (
        part,
      ) => `(SELECT ${buildCandidateColumns(1)} FROM ${bySize(list)} c JOIN ${part} ON left(domain.name, 256) = left(c.name, 256) AND domain.name = c.name${joins}
    WHERE left(domain.label_name, 256) <> $2::text COLLATE "C" AND ${where})`,
    ),
  );
  const ofPrefix = isComplete ? [] : [...prefix, ...(hasRecords ? claimed : [])];
  const parents = namespaces.flatMap(({ leases }) => (leases === undefined ? [] : [`'${leases}'`]));
  const similar = parts.map(
    (
      part,
    ) => `(SELECT ${buildCandidateColumns(2)} FROM ${part}${joins} WHERE domain.parent_id IN (${[...parents, "'none'"].join(", ")})
    AND left(domain.label_name, 256) = ANY (ARRAY(SELECT json_array_elements_text($6::json))) AND strpos(domain.name, $13::text) > 0 AND ${where}
    ORDER BY domain.parent_id, left(domain.label_name, 256), domain.id LIMIT CASE WHEN (SELECT count(*) FROM held) >= ${maxPerKind} THEN 0 ELSE ${maxPerKind} END)`,
  );
  const keys = ["f.kind", "f.first", "f.second", "f.created_at", "f.id"];
  const order = keys.join(", ");
  const claim = hasRecords ? isClaimed("h.name") : "false";
  return `WITH held AS MATERIALIZED (${[...exact, ...ofPrefix].join("\nUNION\n")})
${listText(`SELECT ${objectText(nameText, { after: `json_build_array(${keys.map((key) => `${key}::text`).join(", ")})` })} AS found
FROM (SELECT * FROM (SELECT h.id, h.kind, h.created_at, CASE WHEN h.kind = 0 THEN char_length(h.name) ELSE c.rank END AS first,
      CASE WHEN h.kind = 0 THEN c.rank ELSE char_length(h.name) END AS second
    FROM (SELECT * FROM held UNION ${similar.join(" UNION ")}) h CROSS JOIN LATERAL (SELECT CASE WHEN ${claim} THEN 0 ELSE 1 END AS rank OFFSET 0) c) f
  WHERE ($7::text = '' OR (${order}) > (nullif($7::text, '')::int, $8::int, $9::int, $10::numeric, $11::text COLLATE "C")) AND $3::text IS NOT NULL
  ORDER BY ${order} LIMIT $12::int) f ${nameOfNode(namespaces, "f.id")}${namesJoins(namespaces)} ORDER BY ${order}`)}`;
}
