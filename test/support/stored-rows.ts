import pg from "pg";

/** All rows of an index in a schema of Postgres, each the name of its table and its text, sorted. */
export async function storedRows(connectionString: string, schema = "public"): Promise<string[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename !~ '^_'",
      [schema],
    );
    const texts = tables.rows.map(
      ({ name }) => `SELECT '${name} ' || r::text AS row FROM "${schema}"."${name}" r`,
    );
    const found = await client.query<{ row: string }>(texts.join(" UNION ALL "));
    return found.rows.map(({ row }) => row).sort();
  } finally {
    await client.end();
  }
}
