import { join } from "node:path";
import { labelhash, zeroHash } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emits } from "../../devnet/events.ts";
import { readDeployment, register } from "../../devnet/life.ts";
import { chainIds, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { ingestBytes } from "../support/labels/commands.ts";
import { createPool } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

// Branches of a chain in blocks, receipts and blooms of a real EVM.

const contracts = Object.values(readAddresses(recordingFolder("root")));
const newer = { LABEL_SET_VERSION: "1", LABELS_HEAL: "true" };
const hidden = ["final", "common", "dropped", "kept"].flatMap((branch) =>
  [0, 1, 2].map((at) => `${branch}hidden${at}`),
);
const addLabels = ({ folder }: World) =>
  ingestBytes(`${["eth", ...hidden].join("\n")}\n`, {
    ...{ databasePath: join(folder, "labels.sqlite"), labelSetId: "subgraph", labelSetVersion: 1 },
  });

const sale = { owner: `0x${"11".repeat(20)}`, expires: 2_000_000_000n } as const;

describe.runIf(hasAnvil())("a reorganisation", () => {
  let chain: EmittingChain;
  let world: World;
  let fresh: World | undefined;
  beforeAll(async () => {
    chain = await startEmittingChain(Number(chainIds.root), contracts);
    // Blocks of one second cannot be told apart by time.
    await chain.client.setBlockTimestampInterval({ interval: 1 });
    const { registry, registrar } = readDeployment("root");
    await chain.mine([[emits.newOwner(registry, zeroHash, labelhash("eth"), registrar)]]);
    await mine("first", 130);
    world = await startWorld({ rpcUrl: chain.url, environment: { DATABASE_SCHEMA: "names_v1" } });
    world.start();
    await world.waitForIndex({ block: await chain.head() });
  });
  afterAll(async () => {
    await fresh?.close();
    await world?.close();
    await chain?.close();
  });

  /** Mines `count` blocks, the first of each ten with the registration of a name. */
  async function mine(branch: string, count: number, every = 10) {
    for (let block = 0; block < count; block++) {
      const label = `${branch}${block}`;
      await chain.mine(
        block % every === 0 ? [register(readDeployment("root"), { ...sale, label }).logs] : [],
      );
    }
  }

  async function names(): Promise<string[]> {
    const { registrations } = await world.query<{ registrations: { labelName: string }[] }>(
      "{ registrations(first: 1000, orderBy: labelName) { labelName } }",
    );
    return registrations.map(({ labelName }) => labelName);
  }

  /** The message of the first error of a query. */
  async function errorOf(query: string): Promise<string> {
    const body = JSON.stringify({ query });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${world.url}/subgraph`, { method: "POST", headers, body });
    const { errors } = (await response.json()) as { errors?: { message: string }[] };
    return errors?.[0]?.message ?? "";
  }

  test("beyond finality is refused at the start, with the command that repairs the cache for a new index", async () => {
    const head = await chain.head();
    const pool = createPool(world.databaseUrl, 1);
    await world.waitFor("the hash of a finalized block that is dropped", async () => {
      const { rows } = await pool
        .query<{ newest: number }>("SELECT max(number)::int AS newest FROM ponder_sync.finalized_hashes")
        .catch(() => ({ rows: [] }));
      const newest = rows[0]?.newest ?? 0;
      return newest > head - 90 ? { done: newest } : { state: `the newest is of block ${newest}` };
    });
    await pool.end();
    await world.stop();
    await chain.goBack(90);
    await mine("second", 100);

    // The last registration before block `head` - 90 + 1.
    const lastCommon = Math.floor((head - 90 - (head - 129)) / 10) * 10 + (head - 129);
    world.start();
    const message = await world.refusal();
    // Which of the dropped blocks it names depends on how far hashes were stored.
    const named = Number(/block (\d+) of chain/.exec(message)?.[1]);
    expect(named).toBeGreaterThan(lastCommon);
    const block = await chain.client.getBlock({ blockNumber: BigInt(named) });
    expect(message).toContain(`in the index, ${block.hash} at the node`);
    const command = /npm run cache -- (purge --chain \d+ --from (\d+))$/m.exec(message);
    // What was compared on the way back lies further apart the deeper it goes.
    expect(Number(command?.[2])).toBeGreaterThan(0);
    expect(Number(command?.[2])).toBeLessThanOrEqual(lastCommon + 1);
    const { output } = await world.run("cache", (command?.[1] ?? "").split(" "));
    expect(output).toContain('The index in schema "names_v1" depends on removed blocks');
    world.start();
    expect(await world.refusal()).toContain(" on. Set a new DATABASE_SCHEMA");

    world.start({ DATABASE_SCHEMA: "names_v2" });
    await world.waitForIndex({ block: await chain.head() });
    expect(await names()).toContain("second90");
  });

  test.each([1, 5, 20])("of %i blocks leaves the names of the last branch", async (depth) => {
    const before = await names();
    await mine(`dropped${depth}x`, depth, 1);
    await world.waitForIndex({ block: await chain.head() });
    expect((await names()).length).toBe(before.length + depth);

    await chain.goBack(depth);
    await mine(`kept${depth}x`, depth + 1, depth);
    await world.waitForIndex({ block: await chain.head() });
    expect(await names()).toEqual([...before, `kept${depth}x0`, `kept${depth}x${depth}`].sort());
  });

  test("leaves what is read of former blocks as it was, and nothing of the branch that is gone", async () => {
    const root = Number(chainIds.root);
    const mineName = (label: string) =>
      chain.mine([register(readDeployment("root"), { ...sale, label }).logs]);
    const seen = new Map<number, Awaited<ReturnType<World["entities"]>>>();
    for (let block = 0; block < 5; block++) {
      await mineName(`branch${block}`);
      const head = await chain.head();
      await world.waitForIndex({ block: head });
      seen.set(head, await world.entities());
    }
    const left = await chain.client.getBlock();
    await chain.goBack(2);
    const common = await chain.head();
    for (let block = 0; block < 4; block++) await mineName(`stays${block}`);
    const head = await chain.head();
    await world.waitForIndex({ block: head });

    for (const [block, entities] of seen)
      if (block <= common) expect(await world.entities(block)).toEqual(entities);
    const labels = (argument: string) =>
      `registrations(${argument}, orderBy: labelName, where: { labelName_starts_with: "stays" }) { labelName }`;
    const block = await chain.client.getBlock({ blockNumber: BigInt(common + 2) });
    const found = await world.query(`{
      before: ${labels(`block: { number: ${common} }`)}
      at: ${labels(`block: { hash: "${block.hash}" }`)}
      now: ${labels("first: 10")}
      _meta(block: { number: ${common + 2} }) { block { number timestamp } }
    }`);
    const named = (...numbers: number[]) => numbers.map((number) => ({ labelName: `stays${number}` }));
    expect(found).toEqual({
      ...{ before: [], at: named(0, 1), now: named(0, 1, 2, 3) },
      _meta: { block: { number: common + 2, timestamp: Number(block.timestamp) } },
    });
    expect(await errorOf(`{ domains(block: { hash: "${left.hash}" }) { id } }`)).toContain(
      "no block with that hash found",
    );

    const get = async (path: string) => {
      const response = await fetch(`${world.url}${path}`);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const name = "/v1/names/stays1.eth";
    const before = await get(`${name}?at=${root}:${common + 1}`);
    expect([before.status, before.body]).toMatchObject([
      404,
      { error: { message: "The name did not exist yet at that block or time" } },
    ]);
    const never = await get(`/v1/names/nobody.eth?at=${root}:${common + 1}`);
    expect(never.body).toMatchObject({ error: { message: "The index has never seen this name" } });
    const { status, body } = await get(`${name}?at=${root}:${common + 2}`);
    const { as_of, as_of_token } = body["meta"] as { as_of: Record<string, object>; as_of_token: string };
    expect([status, as_of[root]]).toMatchObject([
      200,
      { block_number: common + 2, timestamp: String(block.timestamp) },
    ]);
    const byToken = await get(`${name}?at=${as_of_token}`);
    expect(byToken.body["data"]).toEqual(body["data"]);
    const listed = async (at: string) => {
      const { data } = (await get(`/v1/addresses/${sale.owner}/names?page_size=200&${at}`)).body;
      return (data as { name: string }[])
        .filter((row) => row.name.startsWith("stays"))
        .map((row) => row.name)
        .sort();
    };
    expect(await listed(`at=${root}:${common + 2}`)).toEqual(["stays0.eth", "stays1.eth"]);
    expect(await listed("")).toEqual([0, 1, 2, 3].map((number) => `stays${number}.eth`));
    expect((await get(`${name}?at=${root}:${head + 5}`)).status).toBe(409);

    // What is final is kept where HISTORY_BLOCKS says so.
    // Rows are dropped some time after their block is final.
    await expect
      .poll(() => errorOf("{ domains(block: { number: 10 }) { id } }"))
      .toMatch(
        /only has data starting at block number \d+ and data for block number 10 is therefore not available/,
      );
    expect(await errorOf(`{ domains(block: { number: ${head + 1} }) { id } }`)).toContain(
      `has only indexed up to block number ${head} and data for block number ${head + 1} is therefore not yet available`,
    );
  });

  // Their labels are in the events of no controller.
  const mineHidden = (branch: string) =>
    chain.mine(
      hidden
        .filter((label) => label.startsWith(branch))
        .map((label) => register(readDeployment("root"), { ...sale, label }).logs.slice(0, -1)),
    );

  test("while labels are healed leaves healed names", async () => {
    await mineHidden("final");
    // ponder: blocks become final when twice 65 others follow. A restart indexes all others again, with the newer
    // labels.
    await mine("after", 140);
    await mineHidden("common");
    await mine("between", 3);
    await mineHidden("dropped");
    await world.waitForIndex({ block: await chain.head() });
    expect((await names()).filter((name) => name?.startsWith("common"))).toEqual([]);
    await world.stop();
    await addLabels(world);
    const pool = createPool(world.databaseUrl, 1);
    const holding = await pool.connect();
    // The batch that heals final names waits for it with all of its locks, gives up, and begins again.
    await holding.query("BEGIN");
    await holding.query("LOCK TABLE names_v2._name_events_feed IN SHARE ROW EXCLUSIVE MODE");
    world.start({ DATABASE_SCHEMA: "names_v2", ...newer });
    await world.waitForIndex({ block: await chain.head() });
    await chain.goBack(3);
    await mineHidden("kept");
    await mine("last", 4);
    await world.waitForIndex({ block: await chain.head() });
    const stateOf = async () => {
      const config = (await (await fetch(`${world.url}/api/config`)).json()) as {
        labelHealing?: { state: string };
      };
      return config.labelHealing?.state ?? "none";
    };
    expect(await stateOf()).not.toBe("complete");
    await holding.query("COMMIT");
    holding.release();
    await pool.end();
    await world.waitFor("the index to be healed", async () => {
      const state = await stateOf();
      return state === "complete" ? { done: state } : { state };
    });
    const healed = hidden.filter((label) => !label.startsWith("dropped"));
    expect((await names()).filter((name) => hidden.includes(name))).toEqual(healed.sort());
  });

  test("leaves an index that equals one that only saw the last branch", async () => {
    fresh = await startWorld({ rpcUrl: chain.url });
    await addLabels(fresh);
    fresh.start(newer);
    await fresh.waitForIndex({ block: await chain.head() });
    expect(await world.entities()).toEqual(await fresh.entities());
  });
});
