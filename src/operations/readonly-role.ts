import { quoted, type Statement } from "../ponder/sql-client.ts";
import { sqlViewsComment, sqlViewsText } from "./sql-views.ts";
import { inTurn, listIndexes, OperationError } from "./stored-indexes.ts";

type RoleGrant = {
  role: string;
  /** Schema of the SQL views. */
  name: string;
  /** The views schema that they go with, or the schema of one index. */
  follows: string;
  /** Longest statement of the role, and pause within a transaction; 0 for no limit. */
  seconds: number;
};

// Of analysts and their tools together.
const maxConnections = 10;

const factsSql = `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS "isRole",
  to_regnamespace($2) IS NOT NULL AS "isTaken", obj_description(to_regnamespace($2), 'pg_namespace') AS comment,
  quote_ident(current_database()) AS database`;

/**
 * Creates the SQL views, and lets a role read them and nothing else of the index; returns what to tell the operator.
 * Throws an OperationError for a role that does not exist or may read tables, for a schema that is taken, and where
 * there is no index.
 */
export async function grantReadonly(
  run: Statement,
  { role, name, follows, seconds }: RoleGrant,
): Promise<string> {
  const facts = (await run(factsSql, [role, quoted(name)])).rows[0] ?? {};
  if (facts["isRole"] !== true)
    throw new OperationError(
      `Postgres has no role ${quoted(role)}. Create it: CREATE ROLE ${quoted(role)} LOGIN PASSWORD '…'`,
    );
  const indexes = await listIndexes(run, Date.now());
  const schema = indexes.find((one) => one.schema === follows || one.names.includes(follows))?.schema;
  if (schema === undefined) throw new OperationError(`Schema ${quoted(follows)} has no index yet.`);
  const comment = String(facts["comment"] ?? "");
  if (facts["isTaken"] === true && !comment.startsWith(sqlViewsComment))
    throw new OperationError(
      `Schema ${quoted(name)} is no schema of SQL views. Choose another with --views.`,
    );
  const other = indexes.find((one) => one.schema !== schema && one.names.includes(name));
  if (other !== undefined && comment !== sqlViewsComment + follows)
    throw new OperationError(
      `${quoted(name)} has the SQL views of ${quoted(comment.slice(sqlViewsComment.length))}. Choose another schema with --views.`,
    );
  const { rows } = await run("SELECT has_table_privilege($1, $2, 'SELECT') AS is", [
    role,
    `${quoted(schema)}.domain`,
  ]);
  if (rows[0]?.["is"] === true)
    throw new OperationError(
      `Role ${quoted(role)} may read the tables of the index: it owns them, or was granted that. Choose a role of its own for analysts.`,
    );
  const to = `TO ${quoted(role)}`;
  await inTurn(
    run,
    [schema],
    [
      sqlViewsText({ schema, name, follows }),
      `GRANT CONNECT ON DATABASE ${facts["database"]} ${to}`,
      `GRANT USAGE ON SCHEMA ${quoted(name)} ${to}`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA ${quoted(name)} ${to}`,
    ].join(";\n"),
  );
  const done = `Role ${quoted(role)} reads the SQL views in ${quoted(name)}, over schema ${quoted(schema)}.`;
  const left = await limitRole(run, { role, database: String(facts["database"]), schema, name, seconds });
  if (left.length === 0) return done;
  const why =
    "This login may not limit the role. Run as a superuser, so that analysts do not slow the index down:";
  return [done, why, ...left].join("\n");
}

type Limited = Pick<RoleGrant, "role" | "name" | "seconds"> & {
  /** As an SQL identifier. */
  database: string;
  /** Schema of the index, whose owner keeps its temporary tables. */
  schema: string;
};

// Functions that every role may call by default: large objects are written past all privileges on tables.
const largeObjects = "lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea)";

/**
 * Limits a role as far as Postgres allows it. Returns the statements that take effect only for a login with more
 * rights.
 */
async function limitRole(run: Statement, { role, database, schema, name, seconds }: Limited) {
  const settings = {
    statement_timeout: `'${seconds}s'`,
    idle_in_transaction_session_timeout: `'${seconds}s'`,
    default_transaction_read_only: "on",
    search_path: quoted(name),
  };
  const { rows } = await run(
    "SELECT quote_ident(pg_get_userbyid(nspowner)) AS name FROM pg_namespace WHERE nspname = $1",
    [schema],
  );
  const owner = String(rows[0]?.["name"]);
  const limits: [statement: string, isLeft: string][] = [
    ...Object.entries(settings).map(([setting, value]): [string, string] => [
      `ALTER ROLE ${quoted(role)} IN DATABASE ${database} SET ${setting} = ${value};`,
      "false",
    ]),
    [`ALTER ROLE ${quoted(role)} CONNECTION LIMIT ${maxConnections};`, "false"],
    [
      `GRANT TEMPORARY ON DATABASE ${database} TO ${owner}; REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC;`,
      "has_database_privilege($1, current_database(), 'TEMPORARY')",
    ],
    [
      `REVOKE EXECUTE ON FUNCTION ${largeObjects} FROM PUBLIC;`,
      "has_function_privilege($1, 'lo_create(oid)', 'EXECUTE')",
    ],
  ];
  const left: string[] = [];
  for (const [statement, isLeft] of limits) {
    const isDenied = await run(statement).then(
      () => false,
      (error: Error & { code?: unknown }) => {
        // Postgres: insufficient_privilege.
        if (error.code !== "42501") throw error;
        return true;
      },
    );
    // Whoever may not revoke from others gets a warning only.
    const { rows } = await run(`SELECT $1::text IS NOT NULL AND ${isLeft} AS is`, [role]);
    if (isDenied || rows[0]?.["is"] === true) left.push(statement);
  }
  return left;
}
