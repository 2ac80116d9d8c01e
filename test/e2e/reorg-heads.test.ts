import { setTimeout as pause } from "node:timers/promises";
import { namehash } from "viem";
import { expect, inject, onTestFinished, test } from "vitest";
import { emits } from "../../devnet/events.ts";
import { deploymentOf, register } from "../../devnet/life.ts";
import { query as sql } from "../support/postgres.ts";
import { startWorld } from "../support/world.ts";

const root = deploymentOf("root");
const ownerOf = (timestamp: number) => `0x${timestamp.toString(16).padStart(40, "0")}` as const;
const query = `{ _meta { block { number timestamp } } domain(id: "${namehash("clock.eth")}") { owner { id } } }`;
type Answer = { _meta: { block: { number: number; timestamp: number } }; domain: { owner: { id: string } } };

test.skipIf(inject("postgresUrl") === "")(
  "while a reorganization is followed, the block of an answer is the one of its rows",
  async () => {
    const world = await startWorld({ database: "server", environment: { DATABASE_SCHEMA: "names" } });
    onTestFinished(() => world.close());
    const { chain } = world.node;
    // Each block of each branch has a time of its own.
    let timestamp = Math.floor(Date.now() / 1_000) - 600;
    const mine = (count: number) => {
      for (let block = 0; block < count; block++) {
        timestamp += 1;
        const owner = ownerOf(timestamp);
        const logs = [emits.registryTransfer(root.registry, namehash("clock.eth"), owner)];
        const sale = register(root, { label: "clock", owner, expires: 2_000_000_000n });
        world.node.mineBlock({
          timestamp,
          transactions: [sale, { from: owner, to: root.registry, value: 0n, logs }],
        });
      }
    };
    mine(1);
    world.start();
    await world.waitForIndex();
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
  },
);
