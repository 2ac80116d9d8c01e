import type { Config } from "../../src/config/environment.ts";
import { listChanges, rowSettings } from "../../src/config/row-settings.ts";
import { seeOperations } from "../../src/log/json-log.ts";
import { readStartBlocks } from "../../src/operations/start-blocks.ts";
import { heartbeatTimeout, readStatuses } from "../../src/operations/stored-indexes.ts";
import { hasTable, quoted, type Statement } from "../../src/ponder/sql-client.ts";
import { type DatabaseLocation, withDatabase } from "../database.ts";
import { about, type Finding } from "./finding.ts";
import { findNearestUrl } from "./read-servers.ts";

/** Findings of `work` on a connection to the configured database; none if the private server does not exist yet. */
export const checkOnDatabase = (
  config: DatabaseLocation,
  work: (run: Statement) => Promise<Finding[]>,
): Promise<Finding[]> => withDatabase(config, work, () => []);

/** Checks whether another indexer holds the configured schema, and whether its index can resume with these settings. */
export function examineIndex(config: Config): Promise<Finding[]> {
  const { databaseSchema: schema } = config;
  return checkOnDatabase(config, async (run) => {
    const { fail, away } = about("index");
    const app = await readLastRun(run, schema);
    if (app === undefined) return [];
    if (app.isHeld)
      return [
        away(
          `Another indexer holds schema ${quoted(schema)}${app.hosts === null ? "" : `, connected from ${app.hosts}`}. Waiting until it stops ` +
            `(${heartbeatTimeout / 1000} s after a kill)`,
          "For an index of its own, set another DATABASE_SCHEMA.",
          seeOperations("When another indexer holds the schema"),
        ),
      ];
    const { description: stored, labels } = await readStatuses(run, schema);
    const isOpen = labels !== undefined && labels.part !== "done";
    if (isOpen && !config.healsLabels)
      return [
        fail(
          `Some rows of the index in schema ${quoted(schema)} are not healed to version ${labels.to} of the label set yet`,
          "Set LABELS_HEAL=true.",
          seeOperations("Heal labels"),
        ),
      ];
    const changes = stored === undefined ? [] : listChanges(stored.settings, rowSettings(config));
    const before = Number(stored?.settings["LABEL_SET_VERSION"]);
    const isHealed = config.healsLabels && changes.length === 1 && before !== config.labelSet.labelSetVersion;
    const fault = isHealed || isOpen ? findHealingFault(config, before) : undefined;
    if (fault !== undefined) return [fail(fault, "", seeOperations("Heal labels"))];
    const verb = changes.length === 1 ? "changes" : "change";
    if (changes.length > 0 && !isHealed)
      return [
        fail(
          `${changes.join(", ")}, which ${verb} rows of the index in schema ${quoted(schema)}`,
          "Set a new DATABASE_SCHEMA: readers are served from this index until the new one is complete.",
          seeOperations("Upgrade without downtime"),
        ),
      ];
    return [];
  });
}

/** The version of the label set with which the index began; undefined for a new index. */
export function readFirstLabelSetVersion(config: Config): Promise<number | undefined> {
  const read = async (run: Statement) => {
    const { description, labels } = await readStatuses(run, config.databaseSchema);
    const described = description?.settings["LABEL_SET_VERSION"];
    return labels?.from ?? (described === undefined ? undefined : Number(described));
  };
  return withDatabase(config, read, () => undefined);
}

/** The blocks that the index knows, by chain id, for a start without the chain's nodes. */
export const readKnownBlocks = (
  config: DatabaseLocation & Pick<Config, "databaseSchema">,
): ReturnType<typeof readStartBlocks> =>
  withDatabase<Awaited<ReturnType<typeof readStartBlocks>>>(
    config,
    (run) => readStartBlocks(run, config.databaseSchema),
    () => ({}),
  );

/** Why the index of an earlier version of the label set cannot be healed to the configured one. */
function findHealingFault(config: Config, before: number): string | undefined {
  const { labelSetVersion } = config.labelSet;
  if (labelSetVersion < before)
    return `LABEL_SET_VERSION must not decrease: the index has version ${before}, not ${labelSetVersion}`;
  if (config.ponderStores === "stock") return "Labels are not healed with PONDER_STORES=stock";
  if (config.blockRange.startBlock !== undefined)
    return "Labels of an index with START_BLOCK are not healed: it may lack the names above";
  return undefined;
}

/** Ponder's record of its last run on a schema; undefined without an index. */
async function readLastRun(run: Statement, schema: string) {
  const table = `${quoted(schema)}._ponder_meta`;
  if (!(await hasTable(run, table))) return undefined;
  // ponder: names its connections after the schema.
  const { rows } = await run(
    `SELECT value ->> 'is_locked' = '1' AND (value ->> 'heartbeat_at')::numeric > $2 AS held,
      (SELECT string_agg(DISTINCT coalesce(host(client_addr), 'this machine'), ', ') FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = left($1 || '_internal', 63)) AS hosts
    FROM ${table} WHERE key = 'app'`,
    [schema, Date.now() - heartbeatTimeout],
  );
  const [row] = rows;
  return row && { isHeld: row["held"] === true, hosts: row["hosts"] };
}

/** Checks whether a reader's schema has an index. */
export async function examineServedIndex(config: Config): Promise<Finding[]> {
  const { stableSchema, databaseSchema: schema } = config;
  return checkOnDatabase({ ...config, databaseUrl: await findNearestUrl(config) }, async (run) => {
    if (await hasTable(run, `${quoted(stableSchema ?? schema)}._ponder_meta`)) return [];
    const { away } = about("index");
    return [
      stableSchema === undefined
        ? away(
            `Schema ${quoted(schema)} has no index yet`,
            "Waiting for an indexer with this DATABASE_SCHEMA.",
          )
        : away(
            `Views schema ${quoted(stableSchema)} points to no index yet`,
            'Waiting for an index that takes it over, or for "npm run db -- switch <schema>".',
            seeOperations("Upgrade without downtime"),
          ),
    ];
  });
}
