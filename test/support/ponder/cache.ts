import { serveRpc } from "../../../devnet/rpc/server.ts";
import { checkpointOf } from "../checkpoints.ts";
import { stateTables } from "../create-tables.ts";
import { createTestDatabase, type Statements, type TestDatabase } from "../database.ts";

/** A database with the tables of Ponder 0.17's cache, in the columns that say which blocks they are of. */
export async function openPonderCache(): Promise<TestDatabase> {
  const database = await createTestDatabase("nothing");
  await resetPonderCache(database);
  return database;
}

/** Empties the cache and drops all other schemas. */
export async function resetPonderCache(database: Statements): Promise<void> {
  const { rows } = await database.query<{ name: string }>(
    "SELECT nspname AS name FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'",
  );
  await database.exec(`
    ${rows.map(({ name }) => `DROP SCHEMA ${name} CASCADE;`).join(" ")}
    CREATE SCHEMA public;
    CREATE SCHEMA ponder_sync;
    CREATE TABLE ponder_sync.blocks (chain_id bigint, number bigint, hash varchar(66), PRIMARY KEY (chain_id, number));
    CREATE TABLE ponder_sync.transactions (chain_id bigint, block_number bigint);
    CREATE TABLE ponder_sync.transaction_receipts (chain_id bigint, block_number bigint);
    CREATE TABLE ponder_sync.logs (chain_id bigint, block_number bigint);
    CREATE TABLE ponder_sync.traces (chain_id bigint, block_number bigint);
    CREATE TABLE ponder_sync.rpc_request_results (chain_id bigint, block_number bigint);
    CREATE TABLE ponder_sync.factory_addresses (chain_id bigint, block_number bigint);
    CREATE TABLE ponder_sync.intervals (fragment_id text PRIMARY KEY, chain_id bigint NOT NULL, blocks nummultirange NOT NULL)`);
}

/** Adds cached blocks of a chain, their hashes those of the branch. */
export async function addBlocks(
  database: Statements,
  chainId: number,
  numbers: readonly number[],
  branch = "a",
) {
  const values = numbers.map((number) => `(${chainId}, ${number}, '${hashOn(branch, number)}')`);
  if (values.length > 0) await database.exec(`INSERT INTO ponder_sync.blocks VALUES ${values.join(", ")}`);
}

/** The hash of a block on a branch, which is one hexadecimal digit. */
export const hashOn = (branch: string, number: number) => `0x${branch}${String(number).padStart(63, "0")}`;

/**
 * An index in a schema at a block of one chain, as Ponder leaves it; `heartbeatAt` in milliseconds if a process holds
 * it.
 */
export async function addIndex(
  database: Statements,
  schema: string,
  { chainId, block, heartbeatAt }: { chainId: number; block: number; heartbeatAt?: number },
) {
  const checkpoint = checkpointOf({ number: block, timestamp: block * 12 }, chainId);
  const app = { is_ready: 1, is_locked: heartbeatAt === undefined ? 0 : 1, heartbeat_at: heartbeatAt ?? 0 };
  await database.exec(`
    CREATE SCHEMA IF NOT EXISTS ${schema};
    ${stateTables(app, schema)};
    INSERT INTO ${schema}._ponder_checkpoint
      VALUES ('chain', ${chainId}, '${checkpoint}', '${checkpoint}', '${checkpoint}')`);
}

/** A chain, 1 unless `id` is set, whose blocks differ from `fork` on and that ends with `head`. */
export type ForkedChain = { fork: number; head: number; id?: number };

/** Serves block hashes of a chain, which may change, over JSON-RPC; `asked` holds the numbers of all requests. */
export async function serveHashes(chain: ForkedChain) {
  const asked: number[] = [];
  const hashOf = ([tag]: unknown[]) => {
    const number = Number(tag);
    asked.push(number);
    return number > chain.head ? null : { hash: hashOn(number >= chain.fork ? "b" : "a", number) };
  };
  const server = await serveRpc({
    methods: new Map<string, (params: unknown[]) => unknown>([
      ["eth_chainId", () => `0x${(chain.id ?? 1).toString(16)}`],
      ["eth_getBlockByNumber", hashOf],
    ]),
  });
  return { url: server.url, asked, close: () => void server.close() };
}
