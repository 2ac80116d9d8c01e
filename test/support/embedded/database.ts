import { existsSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { indexStatements, tableStatements } from "../create-tables.ts";

/** What a database begins with: nothing, the schema's tables, or these and their indexes. */
type Contents = "nothing" | "tables" | "indexes";

const made = new Map<Contents, Promise<Blob>>();

/**
 * An embedded Postgres, in memory unless `directory` is given: what is there, else a copy of one that is made once for all test
 * files of a worker. Copying takes half the time that creating takes.
 */
export async function createEmbedded(contents: Contents = "nothing", directory?: string): Promise<PGlite> {
  if (directory !== undefined && existsSync(join(directory, "PG_VERSION")))
    return await PGlite.create(directory);
  const files = made.get(contents) ?? filesOf(contents);
  made.set(contents, files);
  const place = directory === undefined ? {} : { dataDir: directory };
  return await PGlite.create({ ...place, loadDataDir: await files });
}

async function filesOf(contents: Contents): Promise<Blob> {
  const client = contents === "nothing" ? await PGlite.create() : await createEmbedded(below[contents]);
  for (const text of [...statementsOf(contents), "CHECKPOINT"]) await client.exec(text);
  const files = await client.dumpDataDir("none");
  await client.close();
  return files;
}

const below = { tables: "nothing", indexes: "tables" } as const;

function statementsOf(contents: Contents): string[] {
  if (contents === "tables") return tableStatements();
  return contents === "indexes" ? indexStatements() : [];
}
