import { accessSync, constants, existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { totalmem } from "node:os";
import { dirname } from "node:path";
import type { Config } from "../../src/config/environment.ts";
import { formatFetchCommand, openLabels } from "../../src/labels/open-labels.ts";
import { findPostgresPrograms } from "../postgres/programs.ts";
import { about, type Finding } from "./finding.ts";
import { checkOnDatabase } from "./index-state.ts";

const formatGigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;

/** Reports Node's version, and checks the memory of the machine or container. */
export async function examineMachine(): Promise<Finding[]> {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const remedy = "Provide 4 GB: a backfill with all plugins took 2.4 GB (docs/performance.md).";
  const { ok, warning } = about("memory");
  const found = formatGigabytes(memory);
  // cli/with-node.mjs rejects older versions.
  return [about("Node").ok(process.version), memory < 3.5e9 ? warning(found, remedy) : ok(found)];
}

/** Checks that the port is free, and that this machine has the host's address (default: all of its addresses). */
export function examinePort({ port, host }: Pick<Config, "port" | "host">): Promise<Finding[]> {
  const { ok, fail } = about("port");
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", ({ code }: NodeJS.ErrnoException) => {
      if (host !== undefined && /^(EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN|EINVAL)$/.test(code ?? ""))
        return resolve([fail(`This machine has no address ${host} (${code})`, "Correct API_HOST.")]);
      const reason = code === "EADDRINUSE" ? "is taken by another process" : `cannot be used (${code})`;
      resolve([fail(`Port ${port} ${reason}`, "Free it, or choose another with PORT.")]);
    });
    server.listen({ port, host }, () => server.close(() => resolve([ok(`${port} is free`)])));
  });
}

// Lower values slow a backfill down. compose.yaml has values for a machine of 16 GB.
const advised = "('shared_buffers', '512MB'), ('max_wal_size', '4GB'), ('maintenance_work_mem', '256MB')";

const facts = `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS text,
  has_database_privilege(current_database(), 'CREATE') AS creates,
  coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1), true) AS writes,
  current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery() AS reads_only,
  pg_database_size(current_database())::text AS size,
  current_setting('max_connections')::int - (SELECT count(*)::int FROM pg_stat_activity) AS connections,
  (SELECT count(*) = 2 FROM pg_available_extensions WHERE name IN ('pg_trgm', 'btree_gin')) AS searches,
  (SELECT string_agg(name || ' is ' || current_setting(name) || ', advised ' || least, '; ') FROM (VALUES ${advised})
    AS advised (name, least) WHERE pg_size_bytes(current_setting(name)) < pg_size_bytes(least)) AS low`;

const describePrivate = (folder: string) =>
  `a private server in ${folder}, for one machine (docs/operations.md, "The private Postgres server")`;

/** Checks version, rights, settings and connections of the database's server. */
export const examineDatabase = (config: Config): Promise<Finding[]> => {
  const { databaseFolder } = config;
  return databaseFolder !== undefined && !existsSync(databaseFolder)
    ? examineFolder(databaseFolder)
    : examinePostgres(config);
};

/** Checks the place where the first start creates a private server. */
async function examineFolder(folder: string): Promise<Finding[]> {
  const { ok, fail } = about("database");
  let parent = dirname(folder);
  while (!existsSync(parent)) parent = dirname(parent);
  try {
    findPostgresPrograms();
    accessSync(parent, constants.W_OK | constants.X_OK);
  } catch (error) {
    return [fail((error as Error).message, "Set DATABASE_FOLDER or DATABASE_URL.")];
  }
  const { bavail, bsize } = await statfs(parent);
  return [
    ok(`${describePrivate(folder)}, which the first start creates; ${formatGigabytes(bavail * bsize)} free`),
  ];
}

const examinePostgres = (config: Config) =>
  checkOnDatabase(config, async (run) => {
    const { ok, warning, fail } = about("database");
    const [row = {}] = (await run(facts, [config.databaseSchema])).rows;
    const used = `Postgres ${row["text"]}, ${formatGigabytes(Number(row["size"]))} used`;
    const found =
      config.databaseFolder === undefined ? used : `${used}, ${describePrivate(config.databaseFolder)}`;
    const findings = [
      Number(row["version"]) < 140_000 ? fail(found, "Use Postgres 14 or newer.") : ok(found),
      row["reads_only"] === true && fail("is read-only", "Name the primary server in DATABASE_URL."),
      row["creates"] === false &&
        fail("no right to create schemas", "GRANT CREATE ON DATABASE … TO its user."),
      row["writes"] === false && fail("no right to create tables", "GRANT ALL ON SCHEMA … TO its user."),
      row["searches"] === false &&
        warning("no pg_trgm or btree_gin", "Install postgresql-contrib: searches in names use them."),
      Number(row["connections"]) < 45 &&
        warning(`${row["connections"]} connections free`, "A process uses up to 45: raise max_connections."),
      typeof row["low"] === "string" && warning(row["low"], "Raise them: compose.yaml has values for 16 GB."),
    ];
    return findings.filter((one) => one !== false);
  });

/** Checks the label source: its set, versions and number of labels. */
export async function examineLabels({ labelsUrl, labelSet, namespace }: Config): Promise<Finding[]> {
  const { ok, warning, away, fail } = about("labels");
  const fetchFirst = () => formatFetchCommand({ url: labelsUrl, ...labelSet, labelSetVersion: 0 });
  let outage: unknown = "nothing in 8 s";
  const signal = AbortSignal.timeout(8_000);
  const log = (_level: string, _message: string, fields?: Record<string, unknown>) => {
    outage = fields?.["reason"] ?? outage;
  };
  try {
    const labels = await openLabels({ url: labelsUrl, ...labelSet, signal, log });
    const { labelSetId, highestLabelSetVersion, recordsCount } = await labels.describe();
    await labels.close();
    const found = `label set ${labelSetId} has versions 0 to ${highestLabelSetVersion} with ${recordsCount.toLocaleString("en")} labels`;
    // Mainnet's base set has 133,856,894 (docs/labels.md).
    const isPartial = namespace === "mainnet" && recordsCount < 100_000_000;
    const remedy = `Many names stay [labelhash]: delete the set (npm run labels -- purge), and fetch it (${fetchFirst()}).`;
    return [isPartial ? warning(found, remedy) : ok(found)];
  } catch (error) {
    const { name, message } = error as Error;
    if (signal.aborted)
      return [
        away(
          `label service cannot be used: ${outage}`,
          `Start it (npm run labels -- serve) with a label set (${fetchFirst()}), or correct LABELS_URL.`,
        ),
      ];
    if (name !== "LabelSourceError") throw error;
    return [fail(message, "See docs/labels.md, or correct LABELS_URL.")];
  }
}
