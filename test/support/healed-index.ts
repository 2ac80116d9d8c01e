import { drizzle } from "drizzle-orm/node-postgres";
import type { PgTable } from "drizzle-orm/pg-core";
import type pg from "pg";
import { type Hex, namehash } from "viem";
import { createRandom } from "../../devnet/random.ts";
import { subnode, zeroAddress } from "../../src/ens/ids.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { createFeed, writeHealed } from "../../src/feed/log.ts";
import { createHealer } from "../../src/indexing/healing.ts";
import { type HandlerDatabase, multichainNaming, subgraphNaming } from "../../src/indexing/scope.ts";
import { installChecksums, updateChecksums } from "../../src/operations/checksums.ts";
import { type HealOptions, healBatch } from "../../src/operations/heal-labels.ts";
import { installPast } from "../../src/operations/past.ts";
import { createStatusTable, saveStatus } from "../../src/operations/stored-indexes.ts";
import { moduleOfPonder } from "../../src/ponder/expected.ts";
import {
  type Connection,
  createIndexingCache,
  createIndexingStore,
} from "../../src/ponder/rows/row-store.ts";
import { type HealRows, shared } from "../../src/ponder/shared.ts";
import { inTransaction, type Statement } from "../../src/ponder/sql-client.ts";
import { checkpointOf } from "./checkpoints.ts";
import { indexStatements, tables as schemaTables, tableStatements } from "./create-tables.ts";
import { historyLabels, randomHistory, type Step, someOf } from "./name-histories.ts";
import { createPool } from "./postgres.ts";
import { createScopes } from "./scope.ts";

type Actions = Record<
  | "createTriggers"
  | "dropTriggers"
  | "commitBlock"
  | "revertOmnichain"
  | "crashRecovery"
  | "finalizeOmnichain",
  (connection: object, of: object) => Promise<unknown>
>;
const ponder = moduleOfPonder<Actions>("database/actions.js");

const used = ["domain", "account", "registration", "wrapped_domain", "resolver"];
const ofEvents = ["domain_event", "registration_event", "resolver_event", "read_allowances"];
const tables = [...schemaTables].flatMap(([name, table]) =>
  [...used, ...ofEvents].includes(name) ? [table] : [],
);

const hashes = new Map(historyLabels.map((label) => [labelhash(label), label]));
const healing = (labels: readonly string[]) => (hash: Hex) => {
  const label = hashes.get(hash);
  return label !== undefined && labels.includes(label) ? label : undefined;
};
const timeOf = (number: number) => 1_700_000_000 + number;
const block = (number: number) => checkpointOf({ number, timestamp: timeOf(number) });

/**
 * Two indexes of a random history: one that is healed while blocks come, are taken back, and its process is killed, and
 * a new one with the newer labels. Returns the rows of both, by table, and their checksums.
 */
export async function healAtRandom(
  databases: readonly [string, string],
  { seed, isSubgraphCompatible }: { seed: number; isSubgraphCompatible: boolean },
) {
  const random = createRandom(seed);
  const steps = randomHistory(random, 80);
  const newer = someOf(random, historyLabels);
  const older = someOf(random, newer).filter((label) => label !== "eth" || random.below(2) === 0);
  const [disturbed, fresh] = [
    await openIndex(databases[0], isSubgraphCompatible),
    await openIndex(databases[1], isSubgraphCompatible),
  ];
  try {
    fresh.restart(newer);
    for (const [number, step] of steps.entries()) await fresh.index(number + 1, [step]);

    // Blocks in order; those after `final` may be taken back.
    disturbed.restart(older);
    const begin = random.below(steps.length);
    let [head, final, isHealing, rounds] = [0, 0, false, 0];
    while (head < steps.length || !isHealing || !(await disturbed.isHealed())) {
      rounds += 1;
      if (!isHealing && head >= begin) {
        await disturbed.crash();
        head = final;
        disturbed.restart(newer);
        await disturbed.beginHealing(disturbed.healerOf(newer));
        isHealing = true;
      }
      const next = head < steps.length ? random.below(10) : 9;
      if (rounds > 2_000) throw new Error(`seed ${seed}: it does not end`);
      if (next < 4) {
        head += 1;
        // Rows are healed while a block is handled, and after it.
        await disturbed.index(head, steps.slice(head - 1, head), async () => {
          if (isHealing && random.below(2) === 0) await disturbed.heal();
        });
      } else if (next === 4 && head > final) {
        head = final + random.below(head - final);
        await disturbed.revert(head);
      } else if (next === 5 && random.below(3) === 0) {
        await disturbed.crash();
        head = final;
        disturbed.restart(isHealing ? newer : older);
      } else if (next === 6) {
        final = final + random.below(head - final + 1);
        await disturbed.finalize(final);
      } else if (next === 7 && isHealing) await disturbed.heal({ isKilled: true });
      else if (isHealing) await disturbed.heal();
    }
    // Rows that are not final count as they were before.
    await fresh.finalize(final);
    return {
      healed: { rows: await disturbed.rows(), checksum: await disturbed.checksum() },
      fresh: { rows: await fresh.rows(), checksum: await fresh.checksum() },
    };
  } finally {
    shared().healRows = undefined;
    await disturbed.close();
    await fresh.close();
  }
}

/**
 * An index of a random history whose first blocks are backfilled and whose others come, are taken back, and become
 * final while its process is killed. Returns its rows as they were at each block that it keeps, and those of an index
 * at that block, by block and table.
 */
export async function readPastAtRandom(
  databases: readonly [string, string],
  { seed, isSubgraphCompatible }: { seed: number; isSubgraphCompatible: boolean },
) {
  const random = createRandom(seed);
  const steps = randomHistory(random, 80);
  const labels = someOf(random, historyLabels);
  const [index, fresh] = [
    await openIndex(databases[0], isSubgraphCompatible),
    await openIndex(databases[1], isSubgraphCompatible),
  ];
  try {
    const expected: Record<string, unknown[]>[] = [];
    fresh.restart(labels);
    for (const [number, step] of steps.entries()) {
      await fresh.index(number + 1, [step]);
      expected[number + 1] = await fresh.rows();
    }
    const from = random.below(20);
    await index.keepPast(from);
    let head = random.below(60);
    let final = head;
    index.restart(labels);
    await index.backfill(steps.slice(0, head));
    while (head < steps.length) {
      const next = random.below(8);
      if (next < 5) {
        head += 1;
        await index.index(head, steps.slice(head - 1, head));
      } else if (next === 5 && head > final) {
        head = final + random.below(head - final);
        await index.revert(head);
      } else if (next === 6 && random.below(3) === 0) {
        await index.crash();
        head = final;
        index.restart(labels);
      } else {
        final += random.below(head - final + 1);
        await index.finalize(final);
      }
    }
    const found: typeof expected = [];
    for (let number = Math.max(1, from); number <= head; number++)
      found[number] = await index.rowsAt(block(number).slice(0, 42));
    return { found, expected, blocks: { from: Math.max(1, from), to: head } };
  } finally {
    shared().past = undefined;
    await index.close();
    await fresh.close();
  }
}

/**
 * Heals an index of this many names below eth, half of which the newer labels know. Returns the seconds that it took,
 * the number of healed names, by how many bytes the heap has grown at most, and the longest batch in milliseconds.
 * `isTold`: the feed has messages of them.
 */
export async function healMany(url: string, names: number, { isTold }: { isTold: boolean }) {
  const index = await openIndex(url, true);
  const label = (number: number) => `label${number}`;
  const known = new Map(
    Array.from({ length: names / 2 }, (_, index) => [labelhash(label(2 * index)), label(2 * index)]),
  );
  try {
    const eth = namehash("eth");
    await createFeed(index.run, "public");
    for (let from = 0; from < names; from += 10_000) {
      const rows = Array.from({ length: Math.min(10_000, names - from) }, (_, number) => {
        const hash = labelhash(label(from + number));
        return { id: subnode(eth, hash), labelhash: hash, name: `[${hash.slice(2)}].eth` };
      });
      await index.run(
        `INSERT INTO domain (id, labelhash, name, parent_id, subdomain_count, is_migrated, chain_id, created_at, owner_id, change_block)
        SELECT id, labelhash, name, '${eth}', 0, true, 1, 1, '${zeroAddress}', 1 FROM json_to_recordset($1::json) AS v(id text, labelhash text, name text)`,
        [JSON.stringify(rows)],
      );
    }
    await index.run("TRUNCATE _reorg__domain");
    await index.run("ANALYZE");
    await index.beginHealing(createHealer({ naming: subgraphNaming, heal: (hash) => known.get(hash) }));
    const before = process.memoryUsage().heapUsed;
    const begun = performance.now();
    let [max, longest] = [before, 0];
    const onHealed = (run: Statement, nodes: readonly string[]) =>
      isTold ? writeHealed(run, "public", nodes) : Promise.resolve();
    while (!(await index.isHealed())) {
      const from = performance.now();
      await index.heal({ batch: 2_000, onHealed });
      longest = Math.max(longest, performance.now() - from);
      max = Math.max(max, process.memoryUsage().heapUsed);
    }
    const seconds = (performance.now() - begun) / 1_000;
    const { rows: counts } = await index.run(
      "SELECT count(*)::int AS healed FROM domain WHERE label_name IS NOT NULL",
    );
    return { seconds, healed: Number(counts[0]?.healed), bytes: max - before, longest };
  } finally {
    shared().healRows = undefined;
    await index.close();
  }
}

/** An index in an empty database, whose blocks are indexed as Ponder does. */
async function openIndex(url: string, isSubgraphCompatible: boolean) {
  const naming = isSubgraphCompatible ? subgraphNaming : multichainNaming;
  const pool = createPool(url, 3);
  const run = (text: string, values?: unknown[]) => pool.query(text, values);
  for (const statement of [...tableStatements(), ...indexStatements()]) await run(statement);
  for (const { name } of tables.map((table) => ({ name: nameOf(table) })))
    await run(`CREATE TABLE _reorg__${name} (LIKE ${name}, operation_id bigserial PRIMARY KEY, operation int NOT NULL,
      checkpoint varchar(75) NOT NULL)`);
  await createStatusTable(run, "public");
  await run(
    `INSERT INTO _ponder_checkpoint VALUES ('mainnet', 1, '${block(0)}', '${block(0)}', '${block(0)}')`,
  );
  await ponder.createTriggers(connectionTo(pool), { tables });

  let labels: readonly string[] = [];
  let [cache, store] = newStore(true);

  function newStore(isEmpty: boolean) {
    const common = { options: { indexingCacheMaxBytes: 50_000 } };
    const schema = Object.fromEntries(tables.map((table) => [nameOf(table), table]));
    const indexingCache = createIndexingCache({
      ...{ common, schemaBuild: { schema }, eventCount: {} },
      crashRecoveryCheckpoint: isEmpty ? undefined : [],
    });
    const indexingErrorHandler = { setRetryableError() {} };
    const indexingStore = createIndexingStore({ indexingCache, indexingErrorHandler });
    Object.assign(indexingStore, { isProcessingEvents: true });
    return [indexingCache, indexingStore] as const;
  }

  type Given = { isKilled?: boolean; batch?: number; onHealed?: HealOptions["onHealed"] };
  const heal = ({ isKilled = false, batch = 3, onHealed = async () => {} }: Given = {}) =>
    healBatch({
      ...{ run, schema: "public", isSubgraphCompatible, batch, onHealed },
      root: { chainId: 1, endBlock: undefined },
      healRows: shared().healRows ?? healerOf([]),
      inTransaction: async (work) => {
        const client = await pool.connect();
        const own = (text: string, values?: unknown[]) => client.query(text, values);
        try {
          return await inTransaction(own, async () => {
            const result = await work(own);
            if (isKilled) throw new Error("killed");
            return result;
          });
        } finally {
          client.release();
        }
      },
    }).catch((error: Error) => {
      if (error.message !== "killed") throw error;
    });

  const healerOf = (known: readonly string[]) => createHealer({ naming, heal: healing(known) });

  return {
    /** Begins a process with these labels. */
    restart(known: readonly string[]): void {
      labels = known;
      [cache, store] = newStore(false);
    },
    run,
    async beginHealing(healRows: HealRows): Promise<void> {
      const first = { part: "domain", cursor: "", asked: 0, healed: 0, startedAt: 0 };
      await saveStatus(run, "public", "labels", { from: 0, to: 1, ...first });
      shared().healRows = healRows;
    },
    ...{ heal, healerOf },
    async isHealed(): Promise<boolean> {
      const { rows } = await run(
        "SELECT snapshot ->> 'part' AS part FROM _indexing_status WHERE id = 'labels'",
      );
      return rows[0]?.part === "done";
    },
    /** Indexes a block in a transaction; `meanwhile` runs before its rows are written. */
    async index(number: number, steps: readonly Step[], meanwhile?: () => Promise<unknown>): Promise<void> {
      const client = await pool.connect();
      try {
        const connection = connectionTo(client);
        cache.qb = connectionTo(pool);
        await cache.prefetch({ events: [] });
        await client.query("BEGIN");
        store.qb = connection;
        cache.qb = connection;
        const { next } = createScopes();
        for (const step of steps) {
          const timestamp = BigInt(timeOf(number));
          const at = {
            blockNumber: number,
            timestamp,
            eventId: block(number),
            naming,
            heal: healing(labels),
          };
          await step(next({ ...at, db: store.db as unknown as HandlerDatabase }));
        }
        await meanwhile?.();
        await cache.flush();
        for (const table of tables)
          await ponder.commitBlock(connection, { table, checkpoint: block(number), preBuild: {} });
        await client.query("UPDATE _ponder_checkpoint SET latest_checkpoint = $1", [block(number)]);
        await client.query("COMMIT");
      } finally {
        client.release();
      }
    },
    /** Indexes blocks from the first on in one transaction, without a note of what changes. */
    async backfill(blocks: readonly Step[]): Promise<void> {
      await ponder.dropTriggers(connectionTo(pool), { tables });
      for (const [at, step] of blocks.entries()) {
        cache.event = { eventCallback: { name: "any" }, checkpoint: block(at + 1) };
        await this.index(at + 1, [step]);
      }
      cache.clear();
      await this.finalize(blocks.length);
      await ponder.createTriggers(connectionTo(pool), { tables });
    },
    /** Keeps former rows, from a block on. */
    async keepPast(from: number): Promise<void> {
      const since = Number(block(from).slice(0, 10));
      shared().past = await installPast(run, "public", { since, functions: () => "PERFORM 1" });
    },
    /** All rows as they were at a position, likewise. */
    async rowsAt(position: string): Promise<Record<string, unknown[]>> {
      const client = await pool.connect();
      try {
        await client.query("SELECT set_config('nsindex.at', $1, false)", [position]);
        const found: Record<string, unknown[]> = {};
        for (const name of tables.map(nameOf)) {
          const { rows } = await client.query(
            `SELECT to_jsonb(t) - 'change_block' AS row FROM public_past.${name} t ORDER BY 1`,
          );
          found[name] = rows.map(({ row }) => row);
        }
        return found;
      } finally {
        client.release();
      }
    },
    async revert(number: number): Promise<void> {
      await ponder.dropTriggers(connectionTo(pool), { tables });
      await ponder.revertOmnichain(connectionTo(pool), { checkpoint: block(number), tables });
      await ponder.createTriggers(connectionTo(pool), { tables });
      cache.clear();
    },
    async crash(): Promise<void> {
      await ponder.dropTriggers(connectionTo(pool), { tables });
      for (const table of tables) await ponder.crashRecovery(connectionTo(pool), { table });
      await ponder.createTriggers(connectionTo(pool), { tables });
    },
    async finalize(number: number): Promise<void> {
      await run("UPDATE _ponder_checkpoint SET finalized_checkpoint = $1", [block(number)]);
      for (const table of tables)
        await run(`DELETE FROM _reorg__${nameOf(table)} WHERE checkpoint <= '${block(number)}'`);
    },
    /** All rows without the block at which they last changed. */
    async rows(): Promise<Record<string, unknown[]>> {
      const found: Record<string, unknown[]> = {};
      for (const name of tables.map(nameOf)) {
        const { rows } = await run(`SELECT to_jsonb(t) - 'change_block' AS row FROM ${name} t ORDER BY 1`);
        found[name] = rows.map(({ row }) => row);
      }
      return found;
    },
    async checksum(): Promise<unknown> {
      await installChecksums(run, "public");
      await updateChecksums(run, "public");
      // A checksum is of a time that is final on every chain.
      await run("UPDATE _ponder_checkpoint SET finalized_checkpoint = $1", [block(10_000)]);
      const { rows } = await run("SELECT hash, tables FROM _checksums ORDER BY timestamp DESC LIMIT 1");
      return rows[0];
    },
    close: () => pool.end(),
  };
}

const nameOf = (table: PgTable) => [...schemaTables].find(([, other]) => other === table)?.[0] ?? "";

// As Ponder's own, which also retries.
function connectionTo(client: pg.Pool | pg.PoolClient) {
  const db = drizzle(client as pg.Pool, { casing: "snake_case" });
  const connection = {
    $dialect: "postgres",
    $client: client,
    wrap: async (...given: unknown[]) =>
      (given.find((one) => typeof one === "function") as (db: unknown) => unknown)(db),
    transaction: (...given: unknown[]) =>
      db.transaction((tx) => {
        const work = given.find((one) => typeof one === "function") as (tx: object) => Promise<unknown>;
        const wrap = async (...of: unknown[]) =>
          (of.find((one) => typeof one === "function") as (db: unknown) => unknown)(tx);
        return work({ wrap });
      }),
  };
  return connection as unknown as Connection;
}
