import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { rootDatasource } from "../../src/deployments/ens.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { escapeControls } from "../../src/log/json-log.ts";
import { type SqlView, sqlOfView, sqlViews, sqlViewsSchema } from "../../src/operations/sql-views.ts";
import { readStatuses } from "../../src/operations/stored-indexes.ts";
import { finalizedCheckpointSql } from "../../src/ponder/checkpoints.ts";
import type { Statement } from "../../src/ponder/sql-client.ts";
import { PreflightError } from "../refusal.ts";
import { writeViewFile } from "./files.ts";
import { openSnapshot, readView, type Settings } from "./snapshot.ts";

// A folder of Parquet files of the SQL views. Events that are final never change: each run adds those since the last
// one as a file, whose name says from which second on and before which one. All others are replaced at once: `current`
// is a link to the last run's folder.

/**
 * Where the events of an empty folder begin: with the first, at a time (Unix seconds), or at a block of the root chain.
 */
export type Since = "last" | { time: number } | { block: number };

/** Parses `last`, a block number, or a date (ISO 8601, in UTC). Throws an InvalidArgumentError. */
export function parseSince(text: string): Since {
  if (text === "last") return text;
  if (/^\d{1,9}$/.test(text)) return { block: Number(text) };
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError("Expected last, a block number, or a date such as 2026-01-31.");
  return { time: time / 1_000 };
}

/**
 * Brings a folder up to the index, and returns what to tell the operator. Throws a PreflightError if the folder is of
 * another index.
 */
export async function keepFolder(
  run: Statement,
  config: Settings,
  { folder, since }: { folder: string; since: Since },
): Promise<string> {
  const of = { contract: sqlViewsSchema, namespace: config.namespace, plugins: config.plugins };
  await requireSame(folder, of);
  const blocks = await openSnapshot(run, config);
  const lock = "SELECT pg_try_advisory_xact_lock(hashtext($1)) AS is";
  if ((await run(lock, [`nsindex ${resolve(folder)}`])).rows[0]?.["is"] !== true)
    throw new PreflightError(`Another run writes to ${escapeControls(folder)}. Wait until it has ended.`);
  const write = (what: SqlView, path: string, where?: string) =>
    writeViewFile(path, "parquet", readView(run, config.databaseSchema, { what, blocks, where }));

  const eventsFolder = join(folder, "events");
  await mkdir(eventsFolder, { recursive: true });
  // Left over from a killed run.
  for (const name of await readdir(eventsFolder))
    if (name.endsWith(".part")) await rm(join(eventsFolder, name));
  const to = await readFinalTime(run, config);
  const from = await findBegin(run, config, { eventsFolder, since });
  const added = join(eventsFolder, `${formatTime(from)}-${formatTime(to)}.parquet`);
  let events = 0;
  if (to > from) events = await write("events", added, `e.timestamp >= ${from} AND e.timestamp < ${to}`);

  const state = `.state-${Date.now()}`;
  await mkdir(join(folder, state));
  const counts: Record<string, number> = {};
  for (const view of sqlViews.filter((one) => one !== "events"))
    counts[view] = await write(view, join(folder, state, `${view}.parquet`));
  const until = new Date(Math.max(from, to) * 1_000).toISOString();
  const manifest = { ...of, blocks, events_until: until, rows: counts };
  await writeFile(join(folder, state, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await rm(join(folder, ".next"), { force: true });
  await symlink(state, join(folder, ".next"));
  await rename(join(folder, ".next"), join(folder, "current"));
  for (const name of await readdir(folder))
    if (name.startsWith(".state-") && name !== state) await rm(join(folder, name), { recursive: true });
  await run("COMMIT");
  return `Added ${events} events to ${escapeControls(folder)}, until ${until}, and ${counts["names"]} names.`;
}

async function requireSame(folder: string, of: object): Promise<void> {
  const manifest = join(folder, "current", "manifest.json");
  if (!existsSync(manifest)) return;
  const { contract, namespace, plugins } = JSON.parse(await readFile(manifest, "utf8"));
  if (JSON.stringify({ contract, namespace, plugins }) !== JSON.stringify(of))
    throw new PreflightError(
      `${escapeControls(folder)} has ${contract} of ${namespace} with ${plugins}. Choose another --output.`,
    );
}

/** The second before which no event changes any more. A later one of the second itself may come. */
async function readFinalTime(run: Statement, { databaseSchema }: Settings): Promise<number> {
  const { rows } = await run(`SELECT left(${finalizedCheckpointSql}, 10) AS time`);
  const { indexing } = await readStatuses(run, databaseSchema);
  const isComplete = indexing?.omnichainSnapshot?.omnichainStatus === "omnichain-completed";
  return Number(rows[0]?.["time"]) + Number(isComplete);
}

const formatTime = (seconds: number) => String(seconds).padStart(10, "0");

/** Where the events of a run begin, in Unix seconds: where those of the folder end, or as asked. */
async function findBegin(
  run: Statement,
  config: Settings,
  { eventsFolder, since }: { eventsFolder: string; since: Since },
): Promise<number> {
  const files = (await readdir(eventsFolder)).filter((name) => /^\d{10}-\d{10}\.parquet$/.test(name)).sort();
  const [first, last] = [files[0]?.split("-")[0], files.at(-1)?.split(/[-.]/)[1]];
  if (last === undefined) return since === "last" ? 0 : await findTime(run, config, since);
  if (since !== "last" && (await findTime(run, config, since)) < Number(first))
    throw new PreflightError(
      `The events in ${escapeControls(eventsFolder)} begin later than --since. Choose another --output.`,
    );
  return Number(last);
}

async function findTime(
  run: Statement,
  { namespace, databaseSchema }: Settings,
  since: Exclude<Since, "last">,
): Promise<number> {
  if ("time" in since) return since.time;
  const events = sqlOfView("events", databaseSchema, `e.block_number >= ${since.block}`);
  const { rows } = await run(`SELECT extract(epoch FROM min(v.block_time))::text AS time FROM (${events}) v
    WHERE v.chain_id = ${namespaces[namespace][rootDatasource]?.chainId}`);
  if (rows[0]?.["time"] === null) throw new PreflightError(`There is no event from block ${since.block} on.`);
  return Number(rows[0]?.["time"]);
}
