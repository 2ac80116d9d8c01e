import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import type { Config } from "../../src/config/environment.ts";
import { openDatabase, PreflightError, schemaHolder } from "../preflight.ts";
import { about, inGigabytes, type Place } from "./machine.ts";

// Values below these slow a backfill down; compose.yaml has those of a machine of 16 GB.
const advised = "('shared_buffers', '512MB'), ('max_wal_size', '4GB'), ('maintenance_work_mem', '256MB')";

const facts = `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS text,
  has_database_privilege(current_database(), 'CREATE') AS creates,
  coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1), true) AS writes,
  current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery() AS reads_only,
  pg_database_size(current_database())::text AS size,
  current_setting('max_connections')::int - (SELECT count(*)::int FROM pg_stat_activity) AS connections,
  EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS trigrams,
  (SELECT string_agg(name || ' is ' || current_setting(name) || ', advised ' || least, '; ') FROM (VALUES ${advised})
    AS advised (name, least) WHERE pg_size_bytes(current_setting(name)) < pg_size_bytes(least)) AS low,
  CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER') THEN current_setting('data_directory') END AS folder`;

/** Tries the configured Postgres: login, version, rights, settings, space where it runs on this machine, other indexers. */
export async function examinePostgres(config: Config): Promise<Place> {
  const { fail } = about("database");
  try {
    const database = await openDatabase(config);
    const { rows = [] } = (await database?.run(facts, [config.databaseSchema])) ?? {};
    await database?.close();
    const holder = await schemaHolder(config, Date.now());
    return await placeOf({ ...rows[0] }, { ...config, holder });
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof PreflightError) return { findings: [fail(message, "Correct DATABASE_URL.")] };
    return {
      findings: [fail(`no answer: ${message}`, "Start it, or correct host and port in DATABASE_URL.")],
    };
  }
}

type Settings = Pick<Config, "databaseUrl" | "databaseSchema"> & { holder: { from: string } | undefined };

async function placeOf(
  row: Record<string, unknown>,
  { databaseUrl, databaseSchema, holder }: Settings,
): Promise<Place> {
  const { ok, warning, fail } = about("database");
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(new URL(databaseUrl ?? "").hostname);
  const folder = isHere && existsSync(String(row["folder"])) ? String(row["folder"]) : undefined;
  const disk = folder === undefined ? undefined : await statfs(folder);
  const freeBytes = disk && disk.bavail * disk.bsize;
  const space = freeBytes === undefined ? "free space unknown" : `${inGigabytes(freeBytes)} free`;
  const found = `Postgres ${row["text"]}, ${inGigabytes(Number(row["size"]))} used, ${space}`;
  const findings = [
    Number(row["version"]) < 140_000 ? fail(found, "Use Postgres 14 or newer.") : ok(found),
    row["reads_only"] === true && fail("is read-only", "Name the primary server in DATABASE_URL."),
    row["creates"] === false && fail("no right to create schemas", "GRANT CREATE ON DATABASE … TO its user."),
    row["writes"] === false && fail("no right to create tables", "GRANT ALL ON SCHEMA … TO its user."),
    row["trigrams"] === false &&
      warning("no pg_trgm", "Install postgresql-contrib: searches in names use it."),
    Number(row["connections"]) < 45 &&
      warning(`${row["connections"]} connections free`, "A process uses up to 45: raise max_connections."),
    typeof row["low"] === "string" && warning(row["low"], "Raise them: compose.yaml has values for 16 GB."),
    holder !== undefined &&
      warning(
        `schema ${databaseSchema} is held${holder.from}`,
        "Stop the other indexer, or set DATABASE_SCHEMA.",
      ),
  ];
  return { findings: findings.filter((one) => one !== false), ...(freeBytes ? { freeBytes } : {}) };
}
