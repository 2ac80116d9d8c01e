// Shows the indexes in a Postgres database, switches readers to another and drops old ones: `npm run db -- list | switch | prune`.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Config,
  ConfigurationError,
  type Environment,
  parseEnvironment,
  readConfig,
} from "../src/config/environment.ts";
import { nearestOf } from "../src/config/nearest.ts";
import { environmentOf, type RowSettings } from "../src/config/row-settings.ts";
import { escapeControls, seeOperations } from "../src/log/json-log.ts";
import {
  dropIndex,
  type IndexState,
  listIndexes,
  switchName,
  ViewsSchemaError,
} from "../src/operations/stored-indexes.ts";
import { hasTable, isDatabaseAway, quoted, type Statement } from "../src/ponder/sql-client.ts";
import { openDatabase, openIfThere, PreflightError } from "./preflight.ts";

const usage = `Usage: npm run db -- list
       npm run db -- switch <schema> [--name <views schema>] [--force]
       npm run db -- prune <schema> …

For the Postgres database of DATABASE_URL, in which each index has a schema of its own.

list shows the indexes: release, size, state, the head of each chain, the views schemas that point to them, and who is connected.

switch has readers (npm run serve with DATABASE_STABLE_SCHEMA, which --name replaces) served from the index in this schema, from
one statement to the next. To take it back, switch to the former schema. --force: also if the index lacks tables or columns that
readers of the index served now may ask for.

prune drops indexes with all their data. Those in use are refused.`;

const commands = ["list", "switch", "prune"] as const;

/** What the arguments of the command ask for. */
export type Asked =
  | { command: "list" }
  | { command: "switch"; schema: string; name: string | undefined; isForced: boolean }
  | { command: "prune"; schemas: string[] };

/** Reads the arguments; `stableSchema` is the configured views schema. Throws a PreflightError that lists every fault. */
export function parseDb([command, ...args]: string[]): Asked {
  const faults: string[] = [];
  const schemas: string[] = [];
  let name: string | undefined;
  let isForced = false;
  const isSwitch = command === "switch";
  for (let place = 0; place < args.length; place += 1) {
    const [arg = "", value] = (args[place] ?? "").split(/=(.*)/s);
    if (isSwitch && arg === "--force" && value === undefined) isForced = true;
    else if (isSwitch && arg === "--name") {
      if (name !== undefined) faults.push("--name is given twice.");
      name = value ?? args[++place] ?? "";
      if (name === "" || name.startsWith("--")) faults.push("--name needs a views schema.");
    } else if (arg.startsWith("-"))
      faults.push(unknown("option", arg, isSwitch ? ["--name", "--force"] : []));
    else schemas.push(args[place] ?? "");
  }
  const known = commands.find((one) => one === command);
  if (known === undefined) faults.unshift(unknown("command", command ?? "", commands));
  if (known === "list" && schemas.length > 0)
    faults.push(`Unexpected argument ${JSON.stringify(schemas[0])}.`);
  if (known === "switch" && schemas.length !== 1)
    faults.push(`switch takes one schema, got ${schemas.length === 0 ? "none" : schemas.join(", ")}.`);
  if (known === "prune" && schemas.length === 0) faults.push("prune takes the schemas to drop, got none.");
  if (faults.length > 0 || known === undefined) throw new PreflightError(`${faults.join("\n")}\n\n${usage}`);
  if (known === "list") return { command: known };
  return known === "prune"
    ? { command: known, schemas }
    : { command: known, schema: schemas[0] ?? "", name, isForced };
}

function unknown(kind: string, given: string, known: readonly string[]): string {
  const near = nearestOf(given, known, 3);
  const hint = near === undefined ? "" : ` The nearest is ${JSON.stringify(near)}.`;
  return given === "" ? `A ${kind} is missing.` : `Unknown ${kind} ${JSON.stringify(given)}.${hint}`;
}

async function main(args: string[]): Promise<string> {
  if (args.includes("--help")) return usage;
  const asked = parseDb(args);
  const envFile = join(process.cwd(), ".env.local");
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const config = readConfig();
  if (config.databaseUrl === undefined)
    throw new PreflightError("The embedded database has one index only. Set DATABASE_URL.");
  const database = await openDatabase(config);
  if (database === undefined) throw new PreflightError("There is no database.");
  try {
    return await carryOut(database.run, asked, config);
  } finally {
    await database.close();
  }
}

async function carryOut(
  run: Statement,
  asked: Asked,
  { stableSchema }: Pick<Config, "stableSchema">,
): Promise<string> {
  const indexes = await listIndexes(run, Date.now());
  if (asked.command === "list") return describeIndexes(indexes, Date.now());
  const schemas = indexes.map(({ schema }) => schema);
  for (const schema of asked.command === "prune" ? asked.schemas : [asked.schema]) {
    if (!schemas.includes(schema))
      throw new PreflightError(
        `${unknown("schema", schema, schemas)} There are: ${schemas.join(", ") || "none"}.`,
      );
  }
  if (asked.command === "prune") {
    for (const schema of asked.schemas) await dropIndex(run, schema, Date.now());
    return `Dropped ${asked.schemas.join(", ")}.`;
  }
  const { schema, isForced } = asked;
  const name = asked.name ?? stableSchema;
  if (name === undefined)
    throw new PreflightError("Set DATABASE_STABLE_SCHEMA, or add --name <views schema>.");
  const index = indexes.find((one) => one.schema === schema);
  if (!isForced) requireReadable(schema, index?.description?.settings);
  const former = await switchName(run, { schema, name }, { isForced });
  const isStopped = indexes.some((one) => one.schema === schema && !one.isAlive);
  return [
    `Readers of ${name} are served from ${schema} now${former === undefined ? "" : `, before from ${former}`}.`,
    ...(former === undefined || former === schema ? [] : [`To take it back: npm run db -- switch ${former}`]),
    ...(isStopped ? [`No indexer runs for ${schema}: it stays as it is until one is started.`] : []),
  ].join("\n");
}

/** Throws a ViewsSchemaError if readers with this environment could not describe an index of these settings. */
export function requireReadable(
  schema: string,
  settings: RowSettings | undefined,
  environment: Environment = process.env,
): void {
  if (settings === undefined) return;
  const own = environmentOf(settings, environment);
  try {
    parseEnvironment(own.environment, own.readTextFile);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ViewsSchemaError(
      `Readers configured as this command cannot describe the index in ${quoted(schema)}: ${error.faults.join(" ")} ` +
        "Correct it here and for them, or add --force.",
    );
  }
}

/** The indexes as text; `now` in Unix milliseconds. */
export function describeIndexes(indexes: readonly IndexState[], now: number): string {
  if (indexes.length === 0) return "The database has no index.";
  return indexes.map((index) => describe(index, now)).join("\n\n");
}

function describe(index: IndexState, now: number): string {
  const { schema, description, buildId, bytes, state, aliveAt, heads, names, readers } = index;
  const heading = [
    schema,
    description === undefined ? "release unknown" : `release ${description.release}`,
    `build ${buildId}`,
    `${(bytes / 1e9).toFixed(bytes < 1e10 ? 2 : 0)} GB`,
    state === "stopped" ? `stopped ${ago(aliveAt, now)} ago` : state,
  ];
  const machines = Object.entries(readers).map(([host, count]) => `${host} (${count} connections)`);
  return [
    heading.join(", "),
    ...(description === undefined ? [] : [`  ${description.namespace}: ${description.plugins.join(", ")}`]),
    ...heads.map(({ chain, chainId, head }) =>
      head === undefined
        ? `  chain ${chainId} (${chain}): no block yet`
        : `  chain ${chainId} (${chain}): block ${head.number}, ${ago(head.timestamp * 1_000, now)} old`,
    ),
    ...(names.length === 0 ? [] : [`  served as ${names.join(", ")}`]),
    ...(machines.length === 0 ? [] : [`  read from ${machines.join(", ")}`]),
  ]
    .map(escapeControls)
    .join("\n");
}

function ago(time: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - time) / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/**
 * Waits until a reader finds an index in its schema, and says once that it does; an outage is left to Ponder. Throws a
 * PreflightError if Postgres refuses the login.
 */
export async function waitForServedIndex(
  { stableSchema, databaseSchema, ...config }: Config,
  { log, wait }: { log(message: string): void; wait(milliseconds: number): Promise<void> },
): Promise<void> {
  for (let isWaiting = false; !(await hasIndex(config, stableSchema ?? databaseSchema)); isWaiting = true) {
    if (!isWaiting)
      log(
        stableSchema === undefined
          ? `Schema ${quoted(databaseSchema)} has no index yet. Waiting for an indexer with this DATABASE_SCHEMA.`
          : `Views schema ${quoted(stableSchema)} points to no index yet. Waiting for an index that takes it over, or for ` +
              `"npm run db -- switch <schema>". ${seeOperations("Upgrade without downtime")}`,
      );
    await wait(5_000);
  }
}

async function hasIndex(config: Parameters<typeof openIfThere>[0], schema: string): Promise<boolean> {
  const database = await openIfThere(config);
  if (database === undefined) return true;
  try {
    return await hasTable(database.run, `${quoted(schema)}._ponder_meta`);
  } finally {
    await database.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await main(process.argv.slice(2)));
  } catch (error) {
    const expected = [ConfigurationError, PreflightError, ViewsSchemaError].some(
      (kind) => error instanceof kind,
    );
    const away = `The database does not respond. ${seeOperations("While something is away")}`;
    const { message, severity } = error as { message: string; severity?: string };
    const refused = severity === undefined ? error : `Postgres refuses it: ${message}.`;
    const text = isDatabaseAway(error) ? away : refused;
    console.error(expected ? message.split("\n").map(escapeControls).join("\n") : text);
    process.exitCode = 1;
  }
}
