import { join } from "node:path";
import { type Hex, labelhash } from "viem";
import { afterAll, describe, expect, test } from "vitest";
import type { ChainName } from "../../devnet/recorded-chains.ts";
import { isUsableLabel } from "../../src/ens/labels.ts";
import { messagesOf } from "../support/feed.ts";
import { ingestBytes } from "../support/labels/commands.ts";
import { query } from "../support/postgres.ts";
import { datasourcesFile, recordedLabels } from "../support/recordings.ts";
import { modesOf } from "../support/rounds.ts";
import { startWorld, type World } from "../support/world.ts";

// The recorded chains with two thirds of their labels in version 1 of the label set: indexes that begin with version 0
// and are healed, and new ones with version 1.

const newer = { LABEL_SET_VERSION: "1" };
const healing = { ...newer, LABELS_HEAL: "true" };
const modes: { mode: string; chains: ChainName[]; environment: Record<string, string> }[] = [
  { mode: "subgraph", chains: ["root"], environment: {} },
  {
    mode: "multichain",
    chains: ["root", "base", "linea"],
    environment: {
      PLUGINS: "subgraph,basenames,lineanames,protocol-acceleration,registrars,tokenscope",
      SUBGRAPH_COMPAT: "false",
      // The other chains' heads are years ahead and wait for the root's blocks, however slow the test is.
      CHAIN_PAUSE_SECONDS: "86400",
    },
  },
];

const worlds: World[] = [];
afterAll(async () => {
  for (const world of worlds) await world.close();
});

const addVersion = (world: World, labels: readonly string[]) =>
  ingestBytes(`${labels.join("\n")}\n`, {
    ...{ databasePath: join(world.folder, "labels.sqlite"), labelSetId: "subgraph", labelSetVersion: 1 },
  });

async function tablesOf({ databaseUrl }: World): Promise<Record<string, string[]>> {
  const tables = await query<{ name: string }>(
    databaseUrl,
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND NOT starts_with(tablename, '_') ORDER BY 1",
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    const found = await query<{ row: string }>(
      databaseUrl,
      `SELECT (to_jsonb(t) - 'change_block')::text AS row FROM public."${name}" t ORDER BY 1`,
    );
    rows[name] = found.map(({ row }) => row);
  }
  return rows;
}

const namesOf = (tables: Record<string, string[]>) =>
  new Map(
    tables["domain"]?.map((row) => {
      const { id, name } = JSON.parse(row) as { id: string; name: string | null };
      return [id, name] as const;
    }),
  );

const configOf = async ({ url }: World) =>
  (await (await fetch(`${url}/api/config`)).json()) as {
    labelHealing?: { from: number; to: number; state: string; healed: number };
  };

const healed = (world: World) =>
  world.waitFor("the index to be healed", async () => {
    const { labelHealing } = await configOf(world);
    return labelHealing?.state === "complete"
      ? { done: labelHealing }
      : { state: JSON.stringify(labelHealing) };
  });

async function newestId({ url }: World): Promise<string> {
  for await (const { id } of messagesOf(await fetch(`${url}/v1/events/stream`))) return id;
  throw new Error("The stream has no heartbeat.");
}

/** Expects messages behind an id, of healed names or events, of all nodes whose names differ. */
async function expectTold(
  { url }: World,
  last: string,
  [before, after]: readonly Map<string, string | null>[],
): Promise<void> {
  const told = new Map<string, string | undefined>();
  for await (const { event, data } of messagesOf(await fetch(`${url}/v1/events/stream?after=${last}`))) {
    if (event === "heartbeat") break;
    const { namehash, name } = data as { namehash?: string; name?: string };
    for (const one of data.names ?? [{ namehash: namehash ?? "", name }]) told.set(one.namehash, one.name);
  }
  const changed = [...(after ?? [])].filter(([id, name]) => before?.has(id) && before.get(id) !== name);
  expect(changed.length).toBeGreaterThan(10);
  for (const [id, name] of changed) expect([id, told.get(id)]).toEqual([id, name ?? undefined]);
}

// The tests of a mode continue each other.
describe.each(modesOf(modes))("in $mode mode", ({ chains, environment }) => {
  const all = new Set(["eth", ...recordedLabels(chains)]);
  // What deployments name is known without a label set.
  const labels = [...all].filter((label) => !label.includes("\n") && !/^(base|linea)$/.test(label));
  const known = labels.filter((_, index) => index % 3 === 0);
  const others = labels.filter((label) => !known.includes(label));
  const open = async (head: number) => {
    const world = await startWorld({
      ...{ chains, environment, labels: known, head },
      datasources: datasourcesFile(),
    });
    worlds.push(world);
    return world;
  };
  let world: World;
  let before: Awaited<ReturnType<typeof tablesOf>>;
  let last: string;

  test("a dry run says what can be healed", async () => {
    world = await open(820);
    world.start();
    await world.waitForIndex();
    before = await tablesOf(world);
    last = await newestId(world);
    await world.stop();
    await addVersion(world, others);

    const dry = async (version: Record<string, string>) => {
      const { output } = await world.run("heal", ["--dry-run"], version);
      const counts = [...output.matchAll(/: ([\d,]+) of [1-9][\d,]* unknown labels/g)];
      return counts.reduce((sum, [, found]) => sum + Number(found?.replaceAll(",", "")), 0);
    };
    const hashes = new Set(others.filter(isUsableLabel).map((label) => labelhash(label)));
    const findable = new Set(
      (before["domain"] ?? [])
        .map((row) => JSON.parse(row) as { label_name: string | null; labelhash: Hex })
        .filter((row) => (row.label_name?.[0] ?? "[") === "[" && hashes.has(row.labelhash))
        .map((row) => row.labelhash),
    );
    expect(findable.size).toBeGreaterThan(10);
    expect(await dry(newer)).toBeGreaterThanOrEqual(findable.size);
    expect(await dry({})).toBe(0);
  });

  test("a kill and new blocks do not stop healing, and the feed tells the names", async () => {
    // Blocks that are not final are taken back at each start.
    world.start(healing);
    world.node.chain.setHead(840);
    await world.waitForIndex();
    await world.crash();
    world.start(healing);
    expect(await healed(world)).toMatchObject({ from: 0, to: 1 });
    world.node.chain.setHead(866);
    await world.waitForIndex();

    expect(await world.run("heal", [])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Healed from version 0 to 1: /),
    });

    await expectTold(world, last, [namesOf(before), namesOf(await tablesOf(world))]);
  });

  test("a healed index has the rows of a new one, and cannot go back", async () => {
    const fresh = await open(866);
    await addVersion(fresh, others);
    fresh.start(newer);
    await fresh.waitForIndex();
    const [expected, found] = [await tablesOf(fresh), await tablesOf(world)];
    for (const table of Object.keys(expected)) expect(found[table], table).toEqual(expected[table]);
    // Not in vain.
    expect(before["domain"]).not.toEqual(expected["domain"]);
    expect((await configOf(world)).labelHealing?.healed).toBeGreaterThan(0);
    expect((await configOf(fresh)).labelHealing).toBeUndefined();

    await world.stop();
    world.start({ LABELS_HEAL: "true" });
    expect(await world.refusal()).toContain(
      "LABEL_SET_VERSION must not decrease: the index has version 1, not 0",
    );
  });
});
