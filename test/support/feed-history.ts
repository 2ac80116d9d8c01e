import { setTimeout as pause } from "node:timers/promises";
import { waitWhileRunning } from "../../devnet/indexing-service.ts";
import { readDeployment, register } from "../../devnet/life.ts";
import { chainIds, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { waitFor } from "../../devnet/wait.ts";
import { startEmittingChain } from "./anvil.ts";
import { listed, openReader } from "./feed.ts";
import { type createIndexer, indexedBlock, killIndexer } from "./indexer.ts";
import { query } from "./postgres.ts";

// A chain that reorganizes, indexes that follow it one after the other behind a stable name, and readers of their feed.

type Service = Awaited<ReturnType<typeof createIndexer>>;
type Index = Awaited<ReturnType<Service["startBeside"]>> & { schema: string };

const stable = "names";
const sale = { owner: `0x${"11".repeat(20)}`, expires: 2_000_000_000n } as const;

/** Numbers from 0 up to `below`, in an order that the seed determines (mulberry32). */
export function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/**
 * Starts the chain, an index of it and a process that only serves; `create` makes the service, with a database on a
 * server.
 */
export async function startFeedHistory(
  create: (options: { rpcUrl: string; environment: Record<string, string> }) => Promise<Service>,
) {
  const contracts = Object.values(readAddresses(recordingFolder("root")));
  const chain = await startEmittingChain(Number(chainIds.root), contracts);
  async function mine(branch: string, count: number, every: number) {
    for (let block = 0; block < count; block++) {
      const label = `${branch}x${block}`;
      await chain.mine(
        block % every === 0 ? [register(readDeployment("root"), { ...sale, label }).logs] : [],
      );
    }
  }
  await mine("first", 70, 5);
  const environment = {
    ...{ SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,registrars" },
    ...{ DATABASE_STABLE_SCHEMA: stable, SWITCH_WHEN_READY: "true" },
  };
  const service = await create({ rpcUrl: chain.url, environment });
  let generation = 0;
  const startIndex = async (schema = `names_v${++generation}`): Promise<Index> => ({
    ...(await service.startBeside("start", { DATABASE_SCHEMA: schema })),
    schema,
  });
  let index = await startIndex();
  let former: Index | undefined;
  let reader = await service.startBeside("serve");
  const urls = () => [index, former, reader].flatMap((one) => one?.url ?? []);

  async function reaches(head: number) {
    await waitWhileRunning([index, reader], `block ${head}`, async () => {
      for (const { url } of [index, reader]) {
        const { status } = await fetch(`${url}/ready`);
        const block = status === 200 ? await indexedBlock(url) : -1;
        if (block < head) return { state: `${url} is at ${block}` };
      }
      return { done: head };
    });
  }

  async function crash() {
    await killIndexer(index, { databaseUrl: service.databaseUrl }, index.schema);
    index = await startIndex(index.schema);
  }

  async function takeOver() {
    former = index;
    index = await startIndex();
  }

  // Has the readers served from an index, once it is ready.
  const switchTo = ({ schema, url }: Index) =>
    waitFor(`the switch to ${schema}`, async () => {
      const { status } = await fetch(`${url}/ready`);
      if (status !== 200) return { state: `/ready returns ${status}` };
      const { code, output } = await service.run("db", ["switch", schema]);
      return code === 0 ? { done: output } : { state: output };
    });

  async function end({ schema, ...process }: Index) {
    await process.stop("SIGINT");
    await query(service.databaseUrl, `DROP SCHEMA "${schema}" CASCADE`);
  }

  await reaches(await chain.head());
  return {
    /**
     * Reorganizes the chain, kills processes and switches the stable name while two clients follow, one of them final
     * events alone. Throws if a client gets an event twice, or does not come to hold what is listed; returns what they
     * went through.
     */
    async run(seed: number) {
      const random = randomOf(seed);
      const latest = openReader(urls, "from=start", { random: randomOf(seed + 1_000), max: 20 });
      const final = openReader(() => [reader.url], "from=start&finality=finalized", {
        random: randomOf(seed + 2_000),
        max: 20,
      });
      const holds = async (
        { held, failed }: typeof latest,
        isHeld: (held: Map<string, unknown>) => boolean,
      ) =>
        waitFor("a client to hold what is listed", async () => {
          await failed();
          return isHeld(held) ? { done: true } : { state: `it holds ${held.size} entries` };
        });
      let deepest = 0;
      for (let step = 0; step < 10; step++) {
        const branch = `s${seed}n${step}`;
        const depth = step % 2 === 0 ? 0 : 1 + random(20);
        deepest = Math.max(deepest, depth);
        if (depth > 0) await chain.goBack(depth);
        await mine(branch, depth + 1 + random(4), 1 + random(2));
        if (step === 1) await takeOver();
        if (step === 3) {
          reader.kill();
          reader = await service.startBeside("serve");
        }
        if (step === 4 || step === 8) {
          await pause(random(400));
          await crash();
        }
        // There and back and there again.
        if (step === 5) await switchTo(index);
        if (step === 6 && former && random(2) === 0) await switchTo(former);
        if (random(2) === 0) await reaches(await chain.head());
      }
      await switchTo(index);
      if (former) await end(former);
      former = undefined;
      await reaches(await chain.head());
      const expected = await listed(index.url);
      const inOrder = JSON.stringify([...expected].sort());
      await holds(latest, (held) => JSON.stringify([...held].sort()) === inOrder);
      await latest.stop();
      // Events are final once the chain is long enough, and later than they are: anvil's blocks may all be of one
      // second.
      await chain.request("evm_increaseTime", 60);
      await mine(`s${seed}end`, 80, 100);
      await reaches(await chain.head());
      await holds(final, (held) => [...expected.keys()].every((id) => held.has(id)));
      await final.stop();
      const all = await listed(index.url);
      const wrong = [...final.held.keys()].filter((id) => !all.has(id)).length + final.counts.reverted;
      return { deepest, entries: all.size, wrong, latest: latest.counts, final: final.counts };
    },
    async close() {
      for (const process of [index, former, reader]) await process?.stop("SIGINT");
      await service.close();
      await chain.close();
    },
  };
}
