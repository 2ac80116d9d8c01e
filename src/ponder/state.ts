/**
 * The table in which an index keeps what it knows of itself, a row for each subject: `servable` and `took over` have
 * the time since when that is so, `purged` the blocks that the index rests on and the cache no longer has, `feed` how
 * far the log of name events reaches (src/feed/log.ts), `labels` how far a newer version of the label set has healed
 * it, `coverage` how many labels are known, `past` how far back the index keeps its past (src/operations/past.ts),
 * `stats` how far the figures of days are counted (src/read/stats/count.ts), `reorganizations` how many the index has
 * followed, `head <chain id>` and `branch <chain id>` which blocks its rows are of (branch.ts).
 */
export const stateTable = "_indexing_status";

/**
 * SQL expression for what is kept of a subject, as JSON; null if nothing is. `own`: `<schema>.`, or empty where the
 * search path has it.
 */
export const stateSql = (subject: string, own = "") =>
  `(SELECT snapshot FROM ${own}${stateTable} WHERE id = '${subject}')`;
