// Names that have a text, byte by byte.

// Of those that have it anywhere, the first in order: an index of trigrams finds all that have it, in no order: thousands are read for a
// page. Names that begin with it are in the index of names, side by side; the others are looked up group by group, a group being the
// names with the same first two characters, until the page is full. Both at once would read thousands again: those that begin with a word
// are all in its own group.

/** Conditions of `d.name`: a text is anywhere in it. */
export type TextAnywhere = {
  text: string;
  /** Where all names are listed in their order, and it has a trigram: that a name begins with it, and that it has it later on. */
  ofAll?: { begins: string; later: string };
};

/** Adds a value to a statement; returns its place in the SQL. */
type Bind = (value: string) => string;

// What trigrams are made of whatever the database's locale.
const trigram = /[a-z0-9]{3}/i;
// With at most as many names all of them are read at once.
const few = 100;
// Of a text that is in many names, but in none of so many groups, all names with it are read.
const mostGroups = 1_500;
// Behind each text that begins with what it is added to.
const last = "\u{10ffff}";

/** Condition that a name begins with a text; of the SQL of a name. */
export function beginsWith(bind: Bind, text: string): (name?: string) => string {
  const first = [...text].slice(0, 256).join("");
  const [start, end] = [bind(first), bind(`${first}${last}`)];
  const like = first === text ? undefined : bind(`${escaped(text)}%`);
  return (name = "d.name") => {
    const range = `left(${name}, 256) >= ${start} AND left(${name}, 256) < ${end}`;
    return like === undefined ? range : `${range} AND ${name} LIKE ${like}`;
  };
}

/** Conditions that a name has a text anywhere. `isOfAll`: among all names, which are listed in their order. */
export function anywhereIn(bind: Bind, text: string, { isOfAll }: { isOfAll: boolean }): TextAnywhere {
  const like = bind(`%${escaped(text)}%`);
  const has = { text: `d.name LIKE ${like}` };
  if (!isOfAll || !trigram.test(text)) return has;
  return { ...has, ofAll: { begins: beginsWith(bind, text)(), later: `substr(d.name, 2) LIKE ${like}` } };
}

const escaped = (text: string) => text.replaceAll(/[\\%_]/g, "\\$&");

/**
 * SQL of the first `most` names of a table that have a text, by `o0` and `o1`: the tables to be named, of which `with_text_<table>` is the
 * last, and the condition that those are all. `own`: further conditions of `d`, with the row to begin after.
 */
export function namesWithText(
  { begins, later }: NonNullable<TextAnywhere["ofAll"]>,
  { table, own, most }: { table: string; own: readonly string[]; most: number },
): { tables: string[]; isAll: string } {
  const keys = `SELECT d.id, d.name FROM ${table} d WHERE`;
  const conditions = own.join(" AND ");
  const order = "ORDER BY left(d.name, 256), d.id";
  const areMany = `(SELECT count(*) FROM few_${table}) > ${few}`;
  const end = `(CASE WHEN char_length(g.start) = 2 THEN g.start || '${last}' ELSE g.start END COLLATE "C")`;
  // Groups without a trigram index, as on the embedded database, are read from the index of names.
  const ofGroup = `left(d.name, 2) = g.start AND left(d.name, 256) >= g.start COLLATE "C" AND left(d.name, 256) <= ${end}`;
  // Groups come in their order, and the limit ends the search.
  const ofGroups = `SELECT n.* FROM groups_${table} g CROSS JOIN LATERAL (
    ${keys} ${ofGroup} AND ${later} AND NOT (${begins}) AND ${conditions} ${order} LIMIT ${most}) n LIMIT ${most}`;
  return {
    tables: [
      `few_${table} AS MATERIALIZED (${keys} ${later} LIMIT ${few + 1})`,
      `groups_${table} (start, place) AS (
  (SELECT left(d.name, 2), 1 FROM ${table} d WHERE ${conditions} AND ${areMany} ${order} LIMIT 1)
  UNION ALL SELECT (SELECT left(d.name, 2) FROM ${table} d WHERE left(d.name, 256) > ${end} ${order} LIMIT 1), g.place + 1
    FROM groups_${table} g WHERE g.start IS NOT NULL AND g.place <= ${mostGroups})`,
      `keys_${table} AS MATERIALIZED (SELECT d.id, left(d.name, 256) AS o0 FROM (
  (${keys} ${conditions} AND ${begins} ${order} LIMIT ${most})
  UNION ALL (SELECT d.id, d.name FROM few_${table} d WHERE ${conditions} AND NOT (${begins}) AND NOT ${areMany})
  UNION ALL (${ofGroups})) d ${order} LIMIT ${most})`,
      `with_text_${table} AS MATERIALIZED (
  SELECT d.*, k.o0, k.id AS o1 FROM keys_${table} k JOIN ${table} d ON d.id = k.id)`,
    ],
    isAll: `(SELECT count(*) FROM keys_${table}) < ${most} AND (SELECT count(*) FROM groups_${table}) <= ${mostGroups}`,
  };
}
