import { setTimeout as pause } from "node:timers/promises";
import { namehash } from "viem";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { emits } from "../../devnet/events.ts";
import { deploymentOf, register } from "../../devnet/life.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { waitFor } from "../../devnet/wait.ts";
import { query as sql } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

const root = deploymentOf("root");
const ownerOf = (entropy: number) => `0x${entropy.toString(16).padStart(40, "0")}` as const;
const clock = namehash("clock.eth");
const query = `{ _meta { block { number timestamp } } domain(id: "${clock}") { owner { id } } }`;
type Answer = { _meta: { block: { number: number; timestamp: number } }; domain: { owner: { id: string } } };

describe.skipIf(inject("postgresUrl") === "")("while reorganizations are followed", () => {
  let world: World;
  let readerUrl: string;
  let timestamp = Math.floor(Date.now() / 1_000) - 600;
  let entropy = timestamp;
  /** The owner in a block, by its hash: each block of each branch has its own. */
  const owners = new Map<string, string>();

  /** Mines blocks a second apart, from `from` on. */
  const mine = (count: number, from = timestamp) => {
    timestamp = from;
    for (let block = 0; block < count; block++) {
      timestamp += 1;
      entropy += 1;
      const owner = ownerOf(entropy);
      const logs = [emits.registryTransfer(root.registry, clock, owner)];
      const sale = register(root, { label: "clock", owner, expires: 2_000_000_000n });
      const { hash } = world.node.mineBlock({
        timestamp,
        transactions: [sale, { from: owner, to: root.registry, value: 0n, logs }],
      });
      owners.set(hash, owner);
    }
  };

  beforeAll(async () => {
    world = await startWorld({ database: "server", environment: { DATABASE_SCHEMA: "names" } });
    mine(1);
    world.start();
    await world.waitForIndex();
    const reader = await world.startBeside("serve");
    readerUrl = reader.url;
    stopReader = () => reader.stop();
    await waitFor("the reader", async () => {
      const { status } = await fetch(`${reader.url}/ready`).catch(() => ({ status: 0 }));
      return status === 200 ? { done: status } : { state: `/ready returns ${status}` };
    });
  });
  let stopReader: (() => Promise<unknown>) | undefined;
  afterAll(async () => {
    await stopReader?.();
    await world?.close();
  });

  test("the block of an answer is the one of its rows", async () => {
    const { chain } = world.node;
    entropy = timestamp;
    const heads = new Set<number>();
    for (const depth of [1, 2, 3]) {
      mine(4);
      await world.waitForIndex();
      chain.setHead(chain.head() - depth);
      mine(depth + 1);
      const newest = timestamp;
      let seen = 0;
      while (seen < newest) {
        // While a reorganization holds its locks, an answer may be a 503.
        const answer = await world.query<Answer>(query).catch(() => undefined);
        if (answer === undefined) continue;
        const { _meta, domain } = answer;
        seen = _meta.block.timestamp;
        heads.add(_meta.block.number);
        expect(domain.owner.id).toBe(ownerOf(seen));
        await pause(20);
      }
    }
    expect(heads.size).toBeGreaterThan(2);
    const counted =
      "SELECT snapshot::text AS reorganizations FROM names._indexing_status WHERE id = 'reorganizations'";
    expect(await sql(world.databaseUrl, counted)).toEqual([{ reorganizations: "3" }]);
  });

  type Found = { _meta: { block: { hash: string } }; domain: { owner: object } };
  const subgraph = async (url: string, text: string) => {
    const body = JSON.stringify({ query: text });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/subgraph`, { method: "POST", headers, body });
    return { response, body: (await response.json()) as { data?: Found; errors?: object } };
  };
  const isDocumented = (status: number, text: string) =>
    [409, 503].includes(status) ||
    // The last two: of a machine that has much else to do.
    /no block with that hash found|has only indexed up to|does not have block number|index changed during|no node responds|Query timed out/.test(
      text,
    );

  /** Asks for a block by its hash: the answer has its rows or is a documented error. Returns whether it had rows. */
  async function askByHash(url: string, hash: string): Promise<boolean> {
    const at = `(block: { hash: "${hash}" })`;
    const { response, body } = await subgraph(
      url,
      `{ _meta${at} { block { hash } } domain(id: "${clock}", block: { hash: "${hash}" }) { owner { id } } }`,
    );
    if (body.data === undefined) {
      const text = JSON.stringify(body.errors);
      expect([hash, isDocumented(response.status, text) || text]).toEqual([hash, true]);
      return false;
    }
    expect(body.data).toEqual({
      _meta: { block: { hash } },
      domain: { owner: { id: owners.get(hash) } },
    });
    return true;
  }

  /** Asks for the newest block, and for a former one by its number: what is said of the block and the rows are of one branch. */
  async function askForHeads(url: string, former: number) {
    const { body } = await subgraph(
      url,
      `{ _meta { block { hash } } domain(id: "${clock}") { owner { id } } }`,
    );
    const { data } = body;
    if (data) expect(data.domain.owner).toEqual({ id: owners.get(data._meta.block.hash) });
    for (const at of ["", `?at=${chainIds.root}:${former}`]) {
      const response = await fetch(`${url}/v1/names/clock.eth${at}`);
      const text = await response.text();
      if (response.status !== 200) {
        expect([at, isDocumented(response.status, text)]).toEqual([at, true]);
        continue;
      }
      const found = JSON.parse(text) as {
        data: { manager: string };
        meta: { as_of: Record<string, { block_hash: string; block_number: number }> };
      };
      const asOf = found.meta.as_of[chainIds.root];
      expect([at, found.data.manager]).toEqual([at, owners.get(asOf?.block_hash ?? "")]);
      if (at !== "") expect(asOf?.block_number).toBe(former);
    }
  }

  test("each answer is of the branch that its block is of, on the indexer and on a reader", async () => {
    const { chain } = world.node;
    mine(6);
    await world.waitForIndex();
    for (let round = 0; round < 20; round++) {
      const depth = 1 + (round % 5);
      const common = chain.head() - depth;
      const branchOf = () =>
        Array.from({ length: depth }, (_, at) => chain.block(common + 1 + at)?.hash ?? "");
      const dropped = branchOf();
      for (const url of [world.url, readerUrl])
        for (const hash of dropped)
          await waitFor(`block ${hash}`, async () =>
            (await askByHash(url, hash)) ? { done: hash } : { state: "an error" },
          );
      // Each second branch has the times of the first.
      const since = chain.block(common)?.timestamp ?? 0;
      chain.setHead(common);
      mine(depth + 1, round % 2 === 0 ? since : timestamp);
      const kept = branchOf();
      const left = new Set([world.url, readerUrl]);
      while (left.size > 0) {
        for (const url of [world.url, readerUrl]) {
          for (const hash of dropped) await askByHash(url, hash);
          const known = await Promise.all(kept.map((hash) => askByHash(url, hash)));
          await askForHeads(url, common + 1);
          if (known.every(Boolean)) left.delete(url);
        }
        await pause(20);
      }
      await world.waitForIndex();
      for (const url of [world.url, readerUrl])
        for (const hash of dropped) expect([hash, await askByHash(url, hash)]).toEqual([hash, false]);
    }
  });
});
