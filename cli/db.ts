import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { ConfigurationError, isPostgresUrl, parseEnvironment } from "../src/config/environment.ts";
import { type RowSettings, toEnvironment } from "../src/config/row-settings.ts";
import { escapeControls, formatSpan } from "../src/log/json-log.ts";
import { findNearest } from "../src/log/nearest.ts";
import { grantReadonly } from "../src/operations/readonly-role.ts";
import { sqlViewsSchema } from "../src/operations/sql-views.ts";
import {
  dropIndex,
  type IndexState,
  listIndexes,
  OperationError,
  readActivity,
  switchName,
} from "../src/operations/stored-indexes.ts";
import { quoted, type Statement } from "../src/ponder/sql-client.ts";
import { createProgram, loadConfig, parseWhole, print, runProgram } from "./command.ts";
import { withDatabase } from "./database.ts";
import { PreflightError } from "./refusal.ts";
import { type Standbys, withStandbys } from "./standbys.ts";

/** `npm run db`. */
const db = createProgram(
  "db",
  "The Postgres database of DATABASE_URL, in which each index has its own schema.",
);

const createStandbyOption = () =>
  new Option(
    "--standby <url>",
    "a hot standby whose readers count too, beside those of DATABASE_READ_URLS; may be repeated",
  )
    .argParser((url: string, others: string[]) => {
      if (isPostgresUrl(url)) return [...others, url];
      throw new InvalidArgumentError("Expected postgresql://… with host, port and database name.");
    })
    .default([] as string[]);

db.command("list")
  .description(
    "Shows the indexes: release, size, state, the head of each chain, the views schemas that point to them, and who is connected, including to standbys.",
  )
  .addOption(createStandbyOption())
  .action(({ standby }) => print(list(standby)));

db.command("switch <schema>")
  .description(
    "Points readers (npm run serve with DATABASE_STABLE_SCHEMA) to the index in this schema, from one statement to the next. To undo it, switch back to the previous schema.",
  )
  .option("--name <views schema>", "instead of DATABASE_STABLE_SCHEMA")
  .option(
    "--force",
    "even if the index lacks tables or columns that readers of the index now served may query",
  )
  .action((schema, { name, force: isForced = false }) =>
    print(withIndexes([schema], (run, indexes) => switchReaders(run, indexes, { schema, name, isForced }))),
  );

db.command("prune <schema...>")
  .description("Drops indexes with all their data. Refuses those in use, including by a reader on a standby.")
  .addOption(createStandbyOption())
  .option(
    "--ignore-standbys",
    "even if readers on standbys that were not named, or do not respond, may use them",
  )
  .action((schemas, { standby, ignoreStandbys = false }) =>
    print(
      withIndexes(schemas, (run) =>
        withStandbys(run, withReadUrls(standby), async (standbys) => {
          if (!ignoreStandbys) requireAll(standbys);
          for (const schema of schemas) await dropIndex(run, schema, Date.now(), standbys.named);
          return `Dropped ${schemas.join(", ")}.`;
        }),
      ),
    ),
  );

db.command("grant-readonly <role>")
  .description(
    "Lets a role of Postgres read the SQL views of docs/sql.md, and nothing else of an index. They follow DATABASE_STABLE_SCHEMA, or DATABASE_SCHEMA if it is unset.",
  )
  .option("--views <schema>", "schema of the views; one per served index", sqlViewsSchema)
  .option(
    "--timeout <seconds>",
    "cancels the role's statements after this many seconds; 0 for never",
    parseWhole,
    5,
  )
  .action((role, { views: name, timeout: seconds }) =>
    print(
      withIndexes([], (run) => {
        const { stableSchema, databaseSchema } = loadConfig();
        return grantReadonly(run, { role, name, follows: stableSchema ?? databaseSchema, seconds });
      }),
    ),
  );

const withReadUrls = (urls: readonly string[]) => [...new Set([...urls, ...loadConfig().readUrls])];

function list(urls: readonly string[]): Promise<string> {
  return withIndexes([], (run) =>
    withStandbys(run, withReadUrls(urls), async (standbys) => {
      const indexes = await listIndexes(run, Date.now(), standbys.named);
      return [describeIndexes(indexes, Date.now()), ...(await describeStandbys(standbys))].join("\n\n");
    }),
  );
}

/** Throws an OperationError if readers may be on standbys that cannot be asked. */
function requireAll({ away, others, hosts }: Standbys): void {
  const reasons = [
    ...away.map((place) => `${place} does not respond`),
    ...(others === 0 ? [] : [`${others} of the standbys at ${hosts.join(", ")} were not named`]),
  ];
  if (reasons.length > 0)
    throw new OperationError(
      `Readers on standbys may use it: ${reasons.join("; ")}. Name all standbys with --standby <url> or DATABASE_READ_URLS, or add --ignore-standbys.`,
    );
}

/** A line for each standby. */
async function describeStandbys({ named, away, others, hosts }: Standbys): Promise<string[]> {
  const lines: string[] = [];
  for (const { place, run } of named) {
    const { longest, behind } = await readActivity(run);
    const spent = longest < 1 ? "" : `, readers' longest statement runs for ${formatSpan(longest)}`;
    lines.push(`standby ${place}, last change ${formatSpan(behind)} ago${spent}`);
  }
  lines.push(...away.map((place) => `standby ${place} does not respond`));
  if (others > 0)
    lines.push(`${others} of the standbys at ${hosts.join(", ")} were not named: add --standby <url>`);
  return lines.length === 0 ? [] : [lines.map(escapeControls).join("\n")];
}

/** Returns the result of `work` on the database's indexes. Throws a PreflightError for an unknown schema. */
function withIndexes(
  schemas: readonly string[],
  work: (run: Statement, indexes: readonly IndexState[]) => Promise<string>,
): Promise<string> {
  const config = loadConfig();
  return withDatabase(config, async (run) => {
    const indexes = await listIndexes(run, Date.now());
    const known = indexes.map(({ schema }) => schema);
    for (const schema of schemas.filter((one) => !known.includes(one))) {
      const near = findNearest(schema, known, 3);
      const hint = near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
      throw new PreflightError(
        `Unknown schema ${JSON.stringify(schema)}.${hint} There are: ${known.join(", ") || "none"}.`,
      );
    }
    return work(run, indexes);
  });
}

async function switchReaders(
  run: Statement,
  indexes: readonly IndexState[],
  asked: { schema: string; name: string | undefined; isForced: boolean },
): Promise<string> {
  const { schema, isForced, name = loadConfig().stableSchema } = asked;
  if (name === undefined)
    throw new PreflightError("Set DATABASE_STABLE_SCHEMA, or add --name <views schema>.");
  const index = indexes.find((one) => one.schema === schema);
  if (!isForced && index?.description !== undefined) requireReadable(schema, index.description.settings);
  const former = await switchName(run, { schema, name }, { isForced });
  return [
    `Readers of ${name} are now served from ${schema}${former === undefined ? "" : `, previously from ${former}`}.`,
    ...(former === undefined || former === schema ? [] : [`To undo it: npm run db -- switch ${former}`]),
    ...(index?.isAlive === false
      ? [`No indexer runs for ${schema}: it stays as it is until one is started.`]
      : []),
  ].join("\n");
}

/**
 * Throws an OperationError if readers with the environment of this process could not describe an index of these
 * settings.
 */
function requireReadable(schema: string, settings: RowSettings): void {
  const own = toEnvironment(settings, process.env);
  try {
    parseEnvironment(own.environment, own.readTextFile);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new OperationError(
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
    state === "stopped" ? `stopped ${formatAge(aliveAt, now)} ago` : state,
  ];
  return [
    heading.join(", "),
    ...(description === undefined ? [] : [`  ${description.namespace}: ${description.plugins.join(", ")}`]),
    ...heads.map(({ chain, chainId, head }) =>
      head === undefined
        ? `  chain ${chainId} (${chain}): no block yet`
        : `  chain ${chainId} (${chain}): block ${head.number}, ${formatAge(head.timestamp * 1_000, now)} old`,
    ),
    ...(names.length === 0 ? [] : [`  served as ${names.join(", ")}`]),
    ...(readers.length === 0 ? [] : [`  read from ${readers.join(", ")}`]),
  ]
    .map(escapeControls)
    .join("\n");
}

const formatAge = (time: number, now: number) => formatSpan((now - time) / 1_000);

await runProgram(db, import.meta.url);
