// A primary with the indexer, two standbys, four readers (two of them behind PgBouncer) and nginx, while a block comes
// each second, some of which replace others: what clients see of faults, and what a request costs with one, two and
// four readers.
//
//   node cli/with-node.mjs bench/replicas.ts [--only faults,growth] [--cache on] [--clients 24] [--rate 48] [--seconds
// 20]
//
// Needs the programs of a Postgres server, PgBouncer and nginx. A failed request that was not in flight at the killed
// process, a client that sees a block number go back, an answer that mixes two blocks or names one after that of its
// rows, and a wrong hash make the exit code 1.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chainIds } from "../devnet/recorded-chains.ts";
import { startNginx } from "../test/support/nginx.ts";
import { printRow } from "./feed/world.ts";
import { whole } from "./measure.ts";
import type { ClientJob, Report } from "./replicas/clients.ts";
import { measureGrowth } from "./replicas/growth.ts";
import { type ReplicaWorld, startReplicas } from "./replicas/world.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "faults,growth" },
    cache: { type: "string", default: "on" },
    clients: { type: "string", default: "24" },
    rate: { type: "string", default: "48" },
    seconds: { type: "string", default: "20" },
  },
});

type Fault = { name: string; run: (lost: (at: Lost) => void) => Promise<unknown> };

/** When a process was killed, and when it was gone, in Unix milliseconds. */
type Lost = { from: number; to: number };

// Each is done while clients ask; `lost` notes when requests in flight may be lost.
function listFaults(world: ReplicaWorld): Fault[] {
  const { primary, near, indexer } = world;
  const away = async (server: typeof near, seconds: number) => {
    await server.halt();
    await sleep(seconds * 1_000);
    await server.resume();
  };
  return [
    { name: "none", run: async () => undefined },
    { name: "a standby is killed, and back after 5 s", run: () => away(near, 5) },
    { name: "the primary restarts, down for 3 s", run: () => away(primary, 3) },
    {
      name: "a reader is killed, and back",
      async run(lost) {
        const reader = world.readers[0];
        const from = Date.now();
        await reader?.end();
        lost({ from, to: Date.now() });
        await sleep(2_000);
        world.readers[0] = await world.startReader(0, reader?.port);
      },
    },
    {
      name: "a second index is built beside, switched to, and back",
      async run() {
        const next = await indexer.startBeside("start", { DATABASE_SCHEMA: "names_v2" });
        await world.isAtHead(next.url);
        await world.switchTo("names_v2");
        await sleep(4_000);
        await world.switchTo("names_v1");
        await sleep(4_000);
        await next.stop();
      },
    },
  ];
}

async function measureFaults(world: ReplicaWorld): Promise<number> {
  const nginx = await startNginx(
    world.readers.map(({ url }) => url),
    { isLimited: false, isCaching: options.cache === "on" },
  );
  const child = fork(fileURLToPath(new URL("replicas/clients.ts", import.meta.url)), {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const reported = async (): Promise<Report> => {
    const answer = once(child, "message");
    child.send("report");
    return (await answer)[0] as Report;
  };
  child.send({
    ...{ url: nginx.url, clients: Number(options.clients), perSecond: Number(options.rate) },
    ...{ chainId: chainIds.root, base: world.chain.base },
  } satisfies ClientJob);
  let wrong = 0;
  const notes: string[] = [];
  await sleep(3_000);
  await reported();
  const columns = ["failed", "in flight at the killed", "503 with Retry-After", "block not there yet"];
  const more = ["went back", "two blocks", "`as_of` ahead of rows", "behind them", "wrong hash"];
  printRow("fault", "requests", ...columns, ...more, "longest without an answer, s");
  printRow(...Array.from({ length: 12 }, (_, at) => (at === 0 ? "---" : "--:")));
  for (const { name, run } of listFaults(world)) {
    const begun = performance.now();
    let lost: Lost = { from: Number.NaN, to: Number.NaN };
    await run((at) => {
      lost = at;
    });
    await sleep(Math.max(5_000, Number(options.seconds) * 1_000 - (performance.now() - begun)));
    const seen = await reported();
    const inFlight = seen.failed.filter(({ begun, ended }) => begun <= lost.to && ended >= lost.from);
    const failed = seen.failed.filter((one) => !inFlight.includes(one));
    const wrongHashes = seen.hashes.filter(([at, hash]) => world.chain.hashes.get(at) !== hash);
    const counts = [failed, inFlight, seen.busy, seen.notYet, seen.wentBack, seen.mixed];
    const last = [seen.ahead, seen.behind, wrongHashes];
    const shown = [...counts, ...last].map((one) => whole(typeof one === "number" ? one : one.length));
    printRow(name, whole(seen.requests), ...shown, (seen.longestMs / 1_000).toFixed(1));
    const wrongs = [...failed.map(({ text }) => text), ...[...seen.wentBack, ...seen.mixed, ...seen.ahead]];
    wrong += wrongs.length + wrongHashes.length;
    notes.push(
      ...[...wrongs.slice(0, 6), ...wrongHashes.slice(0, 2).map(String)].map((one) => `${name}: ${one}`),
    );
  }
  console.log(`${world.chain.reorganizations()} reorganizations of 1 to 3 blocks`);
  for (const note of notes) console.log(note);
  child.disconnect();
  await nginx.stop();
  return wrong;
}

const world = await startReplicas();
try {
  const parts = options.only.split(",");
  if (parts.includes("faults") && (await measureFaults(world)) > 0) process.exitCode = 1;
  if (parts.includes("growth")) await measureGrowth(world);
} finally {
  await world.close();
}
