import { Kind, parse, parseValue, print } from "graphql";
import { afterAll, describe, expect, inject, test } from "vitest";
import { deploymentOf, register } from "../../devnet/life.ts";
import { chainIds, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { readPastAtRandom } from "../support/healed-index.ts";
import { createEmptyDatabase } from "../support/postgres.ts";
import { clientQueries } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

// Reads of former blocks equal those of an index that stopped there.

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function open(options: Parameters<typeof startWorld>[0]) {
  const world = await startWorld(options);
  ends.push(world.close);
  world.start();
  return world;
}

/** A query with each root field at a block, without `_meta`, which has no hash then. */
function pinnedTo(block: number | undefined, query: string): string {
  const document = parse(query);
  const at = block === undefined ? [] : [parseValue(`{ number: ${block} }`)];
  return print({
    ...document,
    definitions: document.definitions.map((one) => {
      if (one.kind !== Kind.OPERATION_DEFINITION) return one;
      const selections = one.selectionSet.selections.flatMap((field) => {
        if (field.kind !== Kind.FIELD || field.name.value === "_meta") return [];
        if (field.arguments?.some(({ name }) => name.value === "block")) return [];
        const added = at.map((value) => ({
          ...({ kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: "block" }, value } as const),
        }));
        return { ...field, arguments: [...(field.arguments ?? []), ...added] };
      });
      return { ...one, selectionSet: { ...one.selectionSet, selections } };
    }),
  });
}

async function ask({ url }: World, query: string, variables: object): Promise<unknown> {
  const body = JSON.stringify({ query, variables });
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/subgraph`, { method: "POST", headers, body })).json();
}

/** The message of the first error of a query. */
async function errorOf(world: World, query: string): Promise<string> {
  const { errors } = (await ask(world, query, {})) as { errors: { message: string }[] };
  return errors[0]?.message ?? "";
}

const server = inject("postgresUrl") ?? "";

describe.skipIf(server === "")("on a server", () => {
  // bench/heal.ts plays more of them.
  test.each(
    [1, 2, 3].flatMap((seed) =>
      [true, false].map((isSubgraphCompatible) => ({ seed, isSubgraphCompatible })),
    ),
  )(
    "random history $seed, subgraph mode $isSubgraphCompatible: each block reads like an index that stopped there",
    async (history) => {
      const [one, other] = [await createEmptyDatabase(server), await createEmptyDatabase(server)];
      const { found, expected, blocks } = await readPastAtRandom([one.url, other.url], history);
      for (const database of [one, other]) await database.drop();
      for (let block = blocks.from; block <= blocks.to; block++)
        expect([block, found[block]]).toEqual([block, expected[block]]);
      expect(blocks.to).toBeGreaterThan(70);
    },
  );

  test("blocks of the backfill and live ones read like an index that stopped there", async () => {
    const world = await open({ environment: { HISTORY_BLOCKS: "all" }, head: 1_500 });
    await world.waitForIndex();
    for (let head = 1_520; head < 1_666; head += 20) {
      world.node.chain.setHead(head);
      await world.waitForIndex({ block: head });
    }
    world.node.chain.setHead(1_666);
    await world.waitForIndex();
    const stopped = [];
    for (const block of [900, 1_580]) {
      const other = await open({ environment: { END_BLOCK: String(block) } });
      await other.waitForIndex({ block });
      expect(await world.entities(block)).toEqual(await other.entities());
      for (const { name, query, variables } of clientQueries())
        expect([block, name, await ask(world, pinnedTo(block, query), variables)]).toEqual([
          block,
          name,
          await ask(other, pinnedTo(undefined, query), variables),
        ]);
      stopped.push(other);
    }

    // Without the setting, what is final cannot be read.
    const [other] = stopped as [World];
    expect(await errorOf(other, "{ domains(block: { number: 10 }) { id } }")).toMatch(
      /only has data starting at block number \d+ and data for block number 10 is therefore not available/,
    );
    expect(await errorOf(other, "{ domains(block: { number: 901 }) { id } }")).toMatch(
      /has only indexed up to block number 900 and data for block number 901 is therefore not yet available/,
    );
  });
});

describe.runIf(hasAnvil())("after a reorganization", () => {
  test("blocks of both sides read as they were, and none of the branch that is gone", async () => {
    const root = Number(chainIds.root);
    const chain = await startEmittingChain(root, Object.values(readAddresses(recordingFolder("root"))));
    ends.push(chain.close);
    const sale = { owner: `0x${"11".repeat(20)}`, expires: 2_000_000_000n } as const;
    const mine = (label: string) => chain.mine([register(deploymentOf("root"), { ...sale, label }).logs]);
    for (let block = 0; block < 20; block++) await mine(`first${block}`);
    const world = await open({ rpcUrl: chain.url });
    await world.waitForIndex({ block: await chain.head() });

    const seen = new Map<number, Awaited<ReturnType<World["entities"]>>>();
    for (let block = 0; block < 5; block++) {
      await mine(`branch${block}`);
      const head = await chain.head();
      await world.waitForIndex({ block: head });
      seen.set(head, await world.entities());
    }
    const left = await chain.client.getBlock();
    await chain.goBack(2);
    const common = await chain.head();
    for (let block = 0; block < 4; block++) await mine(`kept${block}`);
    const head = await chain.head();
    await world.waitForIndex({ block: head });

    for (const [block, entities] of seen)
      if (block <= common) expect(await world.entities(block)).toEqual(entities);
    const labels = (argument: string) =>
      `registrations(${argument}, orderBy: labelName, where: { labelName_starts_with: "kept" }) { labelName }`;
    const block = await chain.client.getBlock({ blockNumber: BigInt(common + 2) });
    const found = await world.query(`{
      before: ${labels(`block: { number: ${common} }`)}
      at: ${labels(`block: { hash: "${block.hash}" }`)}
      now: ${labels("first: 10")}
      _meta(block: { number: ${common + 2} }) { block { number timestamp } }
    }`);
    const named = (...numbers: number[]) => numbers.map((number) => ({ labelName: `kept${number}` }));
    expect(found).toEqual({
      ...{ before: [], at: named(0, 1), now: named(0, 1, 2, 3) },
      _meta: { block: { number: common + 2, timestamp: Number(block.timestamp) } },
    });
    expect(await errorOf(world, `{ domains(block: { hash: "${left.hash}" }) { id } }`)).toContain(
      "no block with that hash found",
    );

    const get = async (path: string) => {
      const response = await fetch(`${world.url}${path}`);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const name = "/v1/names/kept1.eth";
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
        .filter((row) => row.name.startsWith("kept"))
        .map((row) => row.name)
        .sort();
    };
    expect(await listed(`at=${root}:${common + 2}`)).toEqual(["kept0.eth", "kept1.eth"]);
    expect(await listed("")).toEqual([0, 1, 2, 3].map((number) => `kept${number}.eth`));
    expect((await get(`${name}?at=${root}:${head + 5}`)).status).toBe(409);
  });
});
