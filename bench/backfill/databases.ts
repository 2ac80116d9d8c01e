import { join } from "node:path";
import pg from "pg";

/** Databases for measurements, each with an empty RPC cache. */
export type Databases = {
  /** Creates a database; returns the environment variables that point the indexing service at it. */
  create(name: string): Promise<Record<string, string>>;
  /** Drops what was created. */
  close(): Promise<void>;
};

/** Databases on the server of `url`, or embedded ones in `folder` if there is no URL. */
export function createDatabases(url: string | undefined, folder: string): Databases {
  if (url === undefined) {
    return {
      create: async (name) => ({ DATABASE_URL: "", PGLITE_DIRECTORY: join(folder, name) }),
      close: async () => {},
    };
  }
  const created: string[] = [];
  const run = async (statement: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  return {
    async create(name) {
      const database = `bench_${process.pid}_${name}`;
      await run(`CREATE DATABASE ${database}`);
      created.push(database);
      return { DATABASE_URL: Object.assign(new URL(url), { pathname: `/${database}` }).href };
    },
    async close() {
      for (const database of created.splice(0)) await run(`DROP DATABASE ${database} WITH (FORCE)`);
    },
  };
}
