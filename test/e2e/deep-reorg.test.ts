import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Contracts } from "../../devnet/life/actions.ts";
import { createScenario } from "../../devnet/life/scenario.ts";
import { chainIds, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { createEmptyDatabase, createPool } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const contracts = readAddresses(recordingFolder("root")) as Contracts;
const scenario = createScenario({ contracts, seed: 11 });
const startChain = () => startEmittingChain(Number(chainIds.root), Object.values(contracts));
const now = () => Math.floor(Date.now() / 1000);

/** Mines `count` blocks, each tenth with the registration of a name. */
async function mine(chain: EmittingChain, branch: string, count: number) {
  for (let block = 0; block < count; block++) {
    const label = block % 10 === 0 ? [`${branch}${block}`] : [];
    await chain.mine(
      label
        .flatMap((name) => scenario.registerName(now(), { label: name, owner: 1 }))
        .map(({ logs }) => logs),
    );
  }
}

async function labelsOf(world: World): Promise<string[]> {
  const { registrations } = await world.query<{ registrations: { labelName: string }[] }>(
    "{ registrations(first: 1000, orderBy: labelName) { labelName } }",
  );
  return registrations.map(({ labelName }) => labelName);
}

describe.runIf(hasAnvil() && inject("postgresUrl") !== "")(
  "a reorganisation beyond finality, on Postgres",
  () => {
    let chain: EmittingChain;
    let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
    let environment: Record<string, string>;
    let world: World;
    let fresh: World | undefined;
    beforeAll(async () => {
      chain = await startChain();
      await mine(chain, "first", 130);
      database = await createEmptyDatabase(inject("postgresUrl"));
      environment = { DATABASE_URL: database.url, DATABASE_SCHEMA: "names_v1" };
      world = await startWorld({ rpcUrl: chain.url, environment });
    });
    afterAll(async () => {
      await fresh?.close();
      await world?.close();
      await database?.drop();
      await chain?.close();
    });

    /** Waits until the index has kept the hash of a finalized block above this one. */
    async function waitForHash(above: number) {
      const pool = createPool(database.url, 1);
      await world.waitFor("the hash of a finalized block", async () => {
        const { rows } = await pool
          .query<{ newest: number }>("SELECT max(number)::int AS newest FROM ponder_sync.finalized_hashes")
          .catch(() => ({ rows: [] }));
        const newest = rows[0]?.newest ?? 0;
        return newest > above ? { done: newest } : { state: `the newest is of block ${newest}` };
      });
      await pool.end();
    }

    async function refusal(): Promise<string> {
      expect(await world.running().ended).toEqual({ code: 78, signal: undefined });
      return world.running().lastLines().join("\n");
    }

    test("is refused at the start, with the command that repairs the cache; a new index then equals a fresh one", async () => {
      world.start();
      const head = await chain.head();
      await world.waitForIndex({ block: head });
      await waitForHash(head - 90);
      await world.stop();
      await chain.goBack(90);
      await mine(chain, "second", 100);

      // The last registration before block `head` - 90 + 1.
      const lastCommon = Math.floor((head - 90 - (head - 129)) / 10) * 10 + (head - 129);
      world.start();
      const message = await refusal();
      const block = await chain.client.getBlock({ blockNumber: BigInt(lastCommon + 10) });
      expect(message).toContain(`block ${lastCommon + 10} of chain ${chainIds.root} is 0x`);
      expect(message).toContain(`in the index, ${block.hash} at the node`);
      const command = /npm run cache -- (purge --chain \d+ --from (\d+))$/m.exec(message);
      expect(command?.[2]).toBe(String(lastCommon + 1));

      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["cli/cache.ts", ...(command?.[1] ?? "").split(" ")],
        {
          cwd: root,
          env: {
            NAMESPACE: "ens-test-env",
            SUBGRAPH_COMPAT: "true",
            LABELS_URL: "http://localhost:3223",
            [`RPC_URL_${chainIds.root}`]: chain.url,
            ...environment,
          },
        },
      );
      expect(stdout).toContain('The index in schema "names_v1" rests on removed blocks');

      world.start();
      expect(await refusal()).toContain(`which were purged. Set a new DATABASE_SCHEMA`);

      world.start({ DATABASE_SCHEMA: "names_v2" });
      fresh = await startWorld({ rpcUrl: chain.url });
      fresh.start();
      await world.waitForIndex({ block: await chain.head() });
      await fresh.waitForIndex({ block: await chain.head() });
      expect(await labelsOf(world)).toContain("second90");
      expect(await world.entities()).toEqual(await fresh.entities());
    });
  },
);
