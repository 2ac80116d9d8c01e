import { type Hex, keccak256, namehash, stringToHex, zeroHash } from "viem";
import { expect, test } from "vitest";
import { type EmittedLog, emits } from "../../devnet/events.ts";
import { readDeployment, register } from "../../devnet/life.ts";
import { createRandom } from "../../devnet/random.ts";
import { modesOf } from "../support/rounds.ts";
import { startWorld, type World } from "../support/world.ts";

// A client walks all names in pages, each at the block of the first one, while blocks come and are taken back that give
// names other owners, reveal labels, and add names: each name is in one page, as it was at that block.
// WALK_NAMES=100000 walks more of them.

const count = Number(process.env["WALK_NAMES"] ?? 6_000);
const pageSize = 1_000;
const { registry, controller } = readDeployment("root");
const [owner, other] = [`0x${"11".repeat(20)}`, `0x${"22".repeat(20)}`] as const;
const eth = namehash("eth");
const labels = Array.from({ length: count }, (_, number) => `walk${number}`);
const hashOf = (label: string) => keccak256(stringToHex(label));
// The label set lacks every third label, so that a controller can reveal it.
const known = labels.filter((_, number) => number % 3 !== 0);

type Row = { id: Hex; name: string | null; owner: { id: Hex } };
const isKnown = new Set(known);
const expected = labels.map((label) => {
  const part = isKnown.has(label) ? label : `[${hashOf(label).slice(2)}]`;
  return { id: namehash(`${label}.eth`), name: `${part}.eth`, owner: { id: owner } };
});
const orders = ["id", "name"] as const;

const mine = ({ node }: World, logs: EmittedLog[]) =>
  node.mineBlock({ transactions: [{ from: owner, to: controller, value: 0n, logs }] });

/** Mines blocks that change the names at random, each after a name that is new. */
function changes(world: World) {
  const random = createRandom(count);
  const expires = 2_000_000_000n;
  let added = 0;
  return (blocks: number) => {
    for (let block = 0; block < blocks; block++) {
      added += 1;
      const fresh = register(readDeployment("root"), { label: `added${added}`, owner, expires });
      const changed = Array.from({ length: count / 500 }, (_, at) => {
        const label = random.pick(labels);
        return at % 2 === 0
          ? emits.registryTransfer(registry, namehash(`${label}.eth`), other)
          : emits.soldByController(controller, label, hashOf(label), owner, 0n, 0n, expires, zeroHash);
      });
      mine(world, [...fresh.logs, ...changed]);
    }
  };
}

/** Pages of names, each behind the last one of the page before. Rows of the next page; empty at the end. */
function walk(world: World, by: (typeof orders)[number]) {
  let after = "";
  return async (pin?: number) => {
    const at = pin === undefined ? "" : `, block: { number: ${pin} }`;
    const text = `{ _meta { block { number } }
      domains(first: ${pageSize}, orderBy: ${by}, where: { ${by}_gt: "${after}" }${at}) { id name owner { id } } }`;
    // A busy machine may answer 503.
    const { _meta, domains } = await world.waitFor("a page", async () => ({
      done: await world.query<{ _meta: { block: { number: number } }; domains: Row[] }>(text),
    }));
    after = domains.at(-1)?.[by] ?? after;
    return { domains, block: _meta.block.number };
  };
}

const modes = [
  { kept: "the last 500 blocks", environment: { HISTORY_BLOCKS: "500" }, blocks: 80 },
  { kept: "what is not final", environment: {}, blocks: 20 },
];

test.each(modesOf(modes))(
  "a walk at one block has each name once, where the index keeps $kept",
  async ({ environment, blocks }) => {
    const world = await startWorld({ head: 60, labels: ["eth", ...known], environment });
    try {
      for (let from = 0; from < count; from += 1_000)
        mine(
          world,
          labels
            .slice(from, from + 1_000)
            .map((label) => emits.newOwner(registry, eth, hashOf(label), owner)),
        );
      world.start();
      await world.waitForIndex();

      const change = changes(world);
      const walks = orders.map((by) => walk(world, by));
      const { domains: first, block: pin } = await walk(world, "id")();
      const seen: Row[][] = [[], []];
      const rounds = Math.ceil(count / pageSize);
      let mined = 0;
      for (let round = 0, isOver = false; !isOver; round++) {
        // Blocks come with each page, and in the middle three of them are taken back.
        const wanted = Math.min(blocks, Math.ceil(((round + 1) * blocks) / rounds));
        if (round === Math.floor(rounds / 2)) world.node.chain.setHead(world.node.chain.head() - 3);
        change(wanted - mined);
        mined = wanted;
        if (round % 5 === 4) await world.waitForIndex();
        const pages = await Promise.all(walks.map((next) => next(pin)));
        for (const [at, { domains }] of pages.entries()) seen[at]?.push(...domains);
        isOver = pages.every(({ domains }) => domains.length === 0);
      }
      await world.waitForIndex();

      const ids = new Set(expected.map(({ id }) => id));
      for (const [at, by] of orders.entries()) {
        const rows = seen[at] ?? [];
        expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
        expect(rows.filter(({ id }) => ids.has(id))).toEqual(
          expected.toSorted((a, b) => (a[by] < b[by] ? -1 : 1)),
        );
        expect(rows.filter(({ name }) => name?.startsWith("added"))).toEqual([]);
      }
      expect(seen[0]?.slice(0, pageSize)).toEqual(first);

      // Meanwhile names had other owners, and were renamed.
      const { domains: now } = await walk(world, "id")();
      const before = new Map(first.map((row) => [row.id, row]));
      expect(
        now.filter((row) => before.get(row.id)?.owner.id === owner && row.owner.id === other).length,
      ).toBeGreaterThan(9);
      expect(
        now.filter((row) => before.get(row.id)?.name?.startsWith("[") && row.name?.startsWith("walk")).length,
      ).toBeGreaterThan(1);
    } finally {
      await world.close();
    }
  },
);
