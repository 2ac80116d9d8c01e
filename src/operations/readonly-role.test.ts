import { readFileSync } from "node:fs";
import pg from "pg";
import { type Hex, namehash } from "viem";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { indexStatements, tableStatements } from "../../test/support/create-tables.ts";
import { createEmptyDatabase, createPool } from "../../test/support/postgres.ts";
import { labelhash } from "../ens/labels.ts";
import { createTable, type Statement } from "../ponder/sql-client.ts";
import { grantReadonly } from "./readonly-role.ts";
import { columnsOfView, type SqlView, sqlViews, sqlViewsSchema } from "./sql-views.ts";
import { createStatusTable, dropIndex, listIndexes, saveStatus, switchName } from "./stored-indexes.ts";

// The contract, version 1. A later version is a schema of its own: nothing here may change.
const contract: Record<SqlView, string> = {
  names:
    "node text, name text, label text, labelhash text, parent_node text, generation integer, namespace text, chain_id integer, registry text, registry_owner text, registrant text, wrapped_owner text, resolver text, address text, created_at timestamp with time zone, registered_at timestamp with time zone, expires_at timestamp with time zone, wrapper_expires_at timestamp with time zone, fuses bigint",
  registrations:
    "node text, name text, label text, generation integer, namespace text, chain_id integer, registrant text, registered_at timestamp with time zone, expires_at timestamp with time zone, cost numeric",
  events:
    "id text, kind text, node text, name text, account text, contract text, chain_id integer, block_number integer, block_time timestamp with time zone, log_index integer, transaction_hash text, data jsonb",
  tokens:
    "id text, node text, name text, chain_id integer, contract text, token_id numeric, standard text, owner text, is_burned boolean",
  records: "node text, name text, chain_id integer, resolver text, key text, value text, is_current boolean",
  accounts: "address text, primary_name text",
  blocks: "chain_id integer, chain text, block_number integer, block_time timestamp with time zone",
};

const server = inject("postgresUrl");
const role = `analyst ${process.pid}`;
const address = (digit: string): Hex => `0x${digit.repeat(40)}`;
const [alice, bob, publicResolver, zero] = [address("a"), address("b"), address("c"), address("0")];
const node = namehash("vitalik.eth");
const checkpoint = (block: number) =>
  `${1_700_000_000 + block}${"1".padStart(16, "0")}${String(block).padStart(16, "0")}${"9".repeat(33)}`;

/** The rows of an index: a leased name, a wrapped one that never ends, events, a token, records. */
const rows = (owner: Hex) => `
  INSERT INTO domain (id, name, label_name, labelhash, parent_id, subdomain_count, is_migrated, namespace, chain_id, created_at, owner_id,
      registrant_id, resolver_id, expiry_date, change_block) VALUES
    ('${node}', 'vitalik.eth', 'vitalik', '${labelhash("vitalik")}', '${namehash("eth")}', 0, true, 'ens', 1, 1497775154, '${owner}',
      '${owner}', '1-${publicResolver}-${node}', 1793776000, 9),
    ('${namehash("")}', '', NULL, NULL, NULL, 1, true, 'ens', 1, 0, '${zero}', NULL, NULL, NULL, 1);
  INSERT INTO registration VALUES ('${node}', '${node}', 1581013420, 1786000000, 123456789012345678901, '${owner}', 'vitalik', 9);
  INSERT INTO wrapped_domain (id, domain_id, expiry_date, fuses, owner_id, change_block) VALUES
    ('${node}', '${node}', 18446744073709551615, -1, '${owner}', 9);
  INSERT INTO registration_event (id, type, block_number, timestamp, log_index, transaction_id, registration_id, registrant_id, expiry_date)
    VALUES ('1-9-4', 'NameRegistered', 9, 1700000009, 4, sha256('9'), '${node}', '${owner}', 1786000000);
  INSERT INTO resolver (id, domain_id, address, change_block) VALUES ('1-${publicResolver}-${node}', '${node}', '${publicResolver}', 9);
  INSERT INTO resolver_event (id, type, block_number, timestamp, log_index, transaction_id, resolver_id, key, value)
    VALUES ('1-10-2', 'TextChanged', 10, 1700000010, 2, sha256('10'), '1-${publicResolver}-${node}', 'url', 'https://v.example');
  INSERT INTO name_tokens VALUES ('eip155:1/erc721:0x57/1', '${node}', 1, '${bob}', 115792089237316195423570985008687907853269984665640564039457584007913129639935,
    'erc721', '${zero}', 'burned', '1');
  INSERT INTO domain_resolver_relations VALUES (1, '${bob}', '${node}', '${publicResolver}');
  INSERT INTO resolver_text_records VALUES (1, '${publicResolver}', '${node}', '0x1', 'url', 'https://v.example');
  INSERT INTO resolver_address_records VALUES (1, '${bob}', '${node}', 60, '${alice}');
  INSERT INTO account VALUES ('${alice}', 9);
  INSERT INTO reverse_name_records VALUES ('${alice}', 60, 'vitalik.eth');
  INSERT INTO _ponder_checkpoint VALUES ('mainnet', 1, '${checkpoint(10)}', '${checkpoint(10)}', '${checkpoint(8)}')`;

describe("the SQL views", () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let pool: pg.Pool;
  const run: Statement = (text, values) => pool.query(text, values);
  const grant = (given: Partial<Parameters<typeof grantReadonly>[1]> = {}) =>
    grantReadonly(run, { role, name: sqlViewsSchema, follows: "names", seconds: 5, ...given });
  const to = (schema: string) => switchName(run, { schema, name: "names" });

  /** What a statement of the role returns, or the message of its error. */
  async function ask(text: string, user = role): Promise<unknown> {
    const client = new pg.Client(Object.assign(new URL(database.url), { username: user }).href);
    await client.connect();
    return client
      .query(text)
      .then(
        ({ rows: found }) => found,
        (error: Error) => error.message,
      )
      .finally(() => client.end());
  }

  async function createIndex(schema: string, owner: Hex): Promise<void> {
    await run(`CREATE SCHEMA ${schema}`);
    const own = createPool(database.url, 1, { options: `-c search_path=${schema}` });
    for (const text of [...tableStatements(schema), rows(owner)]) await own.query(text);
    const app = {
      build_id: "b",
      is_ready: 1,
      is_locked: 0,
      heartbeat_at: 0,
      table_names: ["domain", "resolver"],
    };
    await own.query("UPDATE _ponder_meta SET value = $1", [app]);
    await own.end();
    await createStatusTable(run, schema);
    await saveStatus(run, schema, "servable", {});
  }

  beforeAll(async () => {
    database = await createEmptyDatabase(server);
    pool = createPool(database.url, 8);
    await run(`CREATE ROLE "${role}" LOGIN`);
    await createIndex("v1", alice);
    await createIndex("v2", bob);
    // Another release: the tables have other columns, and the views schema does not fit.
    await run(
      "ALTER TABLE v2.registration ADD COLUMN extra int; ALTER TABLE v2.account RENAME change_block TO at",
    );
  });
  afterAll(async () => {
    await run(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`);
    await pool.end();
    await database.drop();
  });

  test("need a role, an index, and a schema of their own", async () => {
    await expect(grant({ role: "nobody" })).rejects.toThrow(
      `Postgres has no role "nobody". Create it: CREATE ROLE "nobody" LOGIN PASSWORD '…'`,
    );
    await expect(grant()).rejects.toThrow('Schema "names" has no index yet.');
    await expect(grant({ follows: "v1", name: "public" })).rejects.toThrow(
      '"public" is no schema of SQL views',
    );
    await expect(grant({ follows: "v1", role: "postgres" })).rejects.toThrow(
      'Role "postgres" may read the tables of the index',
    );
  });

  test("have the columns of the contract, and docs/sql.md names each", async () => {
    await to("v1");
    expect(await grant()).toBe(`Role "${role}" reads the SQL views in "nsindex_v1", over schema "v1".`);
    const { rows: found } = await run(`SELECT c.relname AS view,
        string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) AS columns
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
      WHERE c.relnamespace = 'nsindex_v1'::regnamespace GROUP BY 1`);
    expect(Object.fromEntries(found.map(({ view, columns }) => [view, columns]))).toEqual(contract);
    const documented = readFileSync("docs/sql.md", "utf8");
    for (const view of sqlViews) {
      const [, section = ""] = documented.split(`\n### ${view}\n`);
      for (const { name, type } of columnsOfView(view))
        expect([view, section.split("\n### ")[0]]).toEqual([
          view,
          expect.stringContaining(`\`${name}\` ${type}`),
        ]);
    }
  });

  test("tell what the tables do, in types of SQL", async () => {
    const url = { key: "text:url", value: "https://v.example" };
    expect(await ask("SELECT * FROM names")).toEqual([
      {
        ...{
          node,
          name: "vitalik.eth",
          label: "vitalik",
          labelhash: labelhash("vitalik"),
          parent_node: namehash("eth"),
        },
        ...{
          generation: 1,
          namespace: "ens",
          chain_id: 1,
          registry: null,
          registry_owner: alice,
          registrant: alice,
        },
        ...{ wrapped_owner: null, resolver: publicResolver, address: null, fuses: String(2 ** 32 - 1) },
        created_at: new Date("2017-06-18T08:39:14Z"),
        registered_at: new Date("2020-02-06T18:23:40Z"),
        // Without the 90 days of grace.
        expires_at: new Date(1_786_000_000_000),
        // The maximum of a uint64: never.
        wrapper_expires_at: null,
      },
    ]);
    expect(await ask("SELECT registrant, cost FROM registrations")).toEqual([
      { registrant: alice, cost: "123456789012345678901" },
    ]);
    expect(
      await ask(
        "SELECT kind, node, account, contract, chain_id, block_number, block_time, data FROM events ORDER BY id DESC",
      ),
    ).toEqual([
      {
        ...{ kind: "NameRegistered", node, account: alice, contract: null, chain_id: 1, block_number: 9 },
        ...{ block_time: new Date(1_700_000_009_000), data: { expiry: "1786000000" } },
      },
      {
        ...{
          kind: "TextChanged",
          node,
          account: null,
          contract: publicResolver,
          chain_id: 1,
          block_number: 10,
        },
        ...{ block_time: new Date(1_700_000_010_000), data: { key: "url", value: "https://v.example" } },
      },
    ]);
    expect(await ask("SELECT token_id, owner, is_burned FROM tokens")).toEqual([
      { token_id: String(2n ** 256n - 1n), owner: zero, is_burned: true },
    ]);
    expect(await ask("SELECT resolver, key, value, is_current FROM records ORDER BY key DESC")).toEqual([
      { resolver: publicResolver, ...url, is_current: true },
      { resolver: bob, key: "addr:60", value: alice, is_current: false },
    ]);
    expect(await ask("SELECT * FROM accounts")).toEqual([{ address: alice, primary_name: "vitalik.eth" }]);
    expect(await ask("SELECT * FROM blocks")).toEqual([
      { chain_id: 1, chain: "mainnet", block_number: 10, block_time: new Date(1_700_000_010_000) },
    ]);
  });

  test("are all that the role may read, and it writes nothing", async () => {
    for (const text of ["SELECT FROM v1.domain", "SELECT FROM names.domain", "SELECT FROM v1._ponder_meta"])
      expect(await ask(text)).toMatch(/^permission denied/);
    expect(await ask("BEGIN READ WRITE; INSERT INTO v1.account VALUES ('a', 1)")).toMatch(
      /^permission denied/,
    );
    expect(await ask("SHOW statement_timeout")).toEqual([{ statement_timeout: "5s" }]);
    // The role may lift its own settings, but not these.
    const write = "BEGIN READ WRITE; SET LOCAL statement_timeout = 0;";
    expect(await ask(`${write} CREATE TEMP TABLE own (a int)`)).toMatch(/^permission denied/);
    expect(await ask(`${write} SELECT lo_create(0)`)).toMatch(/^permission denied/);
    expect(await ask(`${write} SELECT lo_from_bytea(0, 'abc')`)).toMatch(/^permission denied/);
    const limit = await run("SELECT rolconnlimit AS is FROM pg_roles WHERE rolname = $1", [role]);
    expect(limit.rows).toEqual([{ is: 10 }]);
    await grant({ seconds: 1 });
    expect(await ask("SELECT pg_sleep(20)")).toBe("canceling statement due to statement timeout");
  });

  test("find rows by node, holder and block through indexes", async () => {
    const own = createPool(database.url, 1, { options: "-c search_path=nsindex_v1 -c enable_seqscan=off" });
    for (const text of indexStatements("v1")) await own.query(text);
    for (const where of [
      ...[
        `names WHERE node = '${node}'`,
        `names WHERE registrant = '${bob}'`,
        `names WHERE wrapped_owner = '${bob}'`,
      ],
      ...[
        `names WHERE registry_owner = '${bob}'`,
        `names WHERE parent_node = '${node}'`,
        `accounts WHERE address = '${bob}'`,
      ],
      ...[
        `registrations WHERE node = '${node}'`,
        `registrations WHERE registrant = '${bob}'`,
        `tokens WHERE owner = '${bob}'`,
      ],
      ...[`events WHERE node = '${node}' AND chain_id = 1`, `tokens WHERE node = '${node}'`],
    ]) {
      const { rows: plan } = await own.query(`EXPLAIN SELECT * FROM ${where}`);
      const lines = plan.map((row) => String(row["QUERY PLAN"]));
      expect([where, lines.filter((line) => /Seq Scan/.test(line) && !line.includes("_ponder_"))]).toEqual([
        where,
        [],
      ]);
    }
    await own.end();
  });

  test("follow a switch, its return and an index that does not fit, and nobody switches them by their name", async () => {
    const owner = () => ask("SELECT registry_owner FROM names");
    expect(await to("v2").catch((error: Error) => error.message)).toContain("account.change_block");
    expect(await switchName(run, { schema: "v2", name: "names" }, { isForced: true })).toBe("v1");
    expect(await owner()).toEqual([{ registry_owner: bob }]);
    expect((await listIndexes(run, 0)).map(({ names }) => names)).toEqual([[], ["names", "nsindex_v1"]]);
    await switchName(run, { schema: "v1", name: "names" }, { isForced: true });
    expect(await owner()).toEqual([{ registry_owner: alice }]);
    await expect(switchName(run, { schema: "v2", name: sqlViewsSchema })).rejects.toThrow(
      "has tables of its own",
    );
  });

  test("locks that analysts may take stop no start and no switch", async () => {
    const analyst = new pg.Client(Object.assign(new URL(database.url), { username: role }).href);
    await analyst.connect();
    // As statements of the service name them, or did.
    const locks = ["nsindex create table", "nsindex views schema"];
    await analyst.query(
      `BEGIN; ${locks.map((name) => `SELECT pg_advisory_lock(hashtext('${name}'))`).join("; ")}`,
    );
    await createTable(run, "public.made (a int)");
    await switchName(run, { schema: "v2", name: "names" }, { isForced: true });
    await switchName(run, { schema: "v1", name: "names" }, { isForced: true });
    await analyst.end();
  });

  test("tables and schemas may be created by several processes at once", async () => {
    await run("DROP TABLE IF EXISTS public.made");
    const made = Array.from({ length: 8 }, () => createTable(run, "public.made (a int PRIMARY KEY)"));
    expect(await Promise.allSettled(made)).toEqual(
      made.map(() => expect.objectContaining({ status: "fulfilled" })),
    );
    expect((await run("SELECT * FROM public.made")).rows).toEqual([]);
  });

  test("that analysts hold do not hold readers up, and keep the former index", async () => {
    const analyst = new pg.Client(Object.assign(new URL(database.url), { username: role }).href);
    await analyst.connect();
    await analyst.query("BEGIN; SELECT FROM names");
    const switched = switchName(run, { schema: "v2", name: "names" }, { isForced: true });
    await expect
      .poll(async () => (await run("SELECT owner_id FROM names.domain WHERE name <> ''")).rows)
      .toEqual([{ owner_id: bob }]);
    await expect(dropIndex(run, "v1", 0)).rejects.toThrow('it is served as "nsindex_v1"');
    expect((await analyst.query("SELECT registry_owner FROM names")).rows).toEqual([
      { registry_owner: alice },
    ]);
    await analyst.query("COMMIT");
    await switched;
    expect((await analyst.query("SELECT registry_owner FROM names")).rows).toEqual([{ registry_owner: bob }]);
    await analyst.end();
    await dropIndex(run, "v1", 0);
  });

  test("of one index are not given to another by mistake; of an index without a views schema they stay with it", async () => {
    await createIndex("v3", alice);
    await expect(grant({ follows: "v3" })).rejects.toThrow('"nsindex_v1" has the SQL views of "names"');
    await grant({ follows: "v3", name: "other's views" });
    await switchName(run, { schema: "v3", name: "names" }, { isForced: true });
    await switchName(run, { schema: "v2", name: "names" }, { isForced: true });
    expect(await ask(`SELECT registry_owner FROM "other's views".names`)).toEqual([
      { registry_owner: alice },
    ]);
    expect(await ask("SELECT registry_owner FROM nsindex_v1.names")).toEqual([{ registry_owner: bob }]);
  });

  test("an operator who may not limit the role is told how", async () => {
    const owner = `owner ${process.pid}`;
    await run(
      `CREATE ROLE "${owner}" LOGIN; GRANT "${owner}" TO CURRENT_USER; ALTER SCHEMA v3 OWNER TO "${owner}"`,
    );
    await run(`DROP SCHEMA "other's views" CASCADE; DROP SCHEMA v2, names, nsindex_v1 CASCADE`);
    const own = createPool(Object.assign(new URL(database.url), { username: owner }).href, 1);
    const { rows: tables } = await run(
      "SELECT relname FROM pg_class WHERE relnamespace = 'v3'::regnamespace AND relkind = 'r'",
    );
    for (const { relname } of tables) await run(`ALTER TABLE v3.${relname} OWNER TO "${owner}"`);
    await run(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} OWNER TO "${owner}"`);
    const given = { role, name: sqlViewsSchema, follows: "v3", seconds: 60 };
    const told = await grantReadonly((text, values) => own.query(text, values), given);
    expect(told).toContain(`Run as a superuser`);
    expect(told).toContain("SET statement_timeout = '60s';");
    await own.end();
    await run(`REASSIGN OWNED BY "${owner}" TO postgres; DROP OWNED BY "${owner}"; DROP ROLE "${owner}"`);
  });
});
