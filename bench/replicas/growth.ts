import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { clientQueries, type KnownName } from "../../cli/compare/queries.ts";
import { startNginx } from "../../test/support/nginx.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { recordedEntities } from "../../test/support/recordings.ts";
import { printRow } from "../feed/world.ts";
import { formatRequest, type LoadResult } from "../load/load.ts";
import type { LoadJob } from "../load/load-process.ts";
import { readProcessorSeconds, whole } from "../measure.ts";
import type { ReplicaWorld } from "./world.ts";

const seconds = 15;
// How often of a hundred times each query of clients is sent, in the place of which /v1 is asked for the rest.
const shares: Record<string, number> = {
  ...{ "domain-by-id": 30, "domain-by-name": 25, "names-for-address": 10, "domain-events": 5, search: 4 },
  ...{ "latest-domains": 4, expiring: 2, meta: 5 },
};

function generateRequests(): string[] {
  const names = (recordedEntities()["Domain"] ?? [])
    .map(({ owner, ...domain }) => ({ ...domain, owner: { id: owner } }) as unknown as KnownName)
    .filter(({ name }) => /^[a-z]+\.eth$/.test(name));
  const one = <T>(list: readonly T[]) => list[Math.floor(Math.random() * list.length)] as T;
  const queries = clientQueries(names, names[0]?.owner.id ?? "0x");
  return Array.from({ length: 10_000 }, () => {
    let at = Math.random() * 100;
    const query = queries.find(({ name }) => {
      at -= shares[name] ?? 0;
      return at < 0;
    });
    if (query === undefined) return formatRequest("GET", `/v1/names/${encodeURIComponent(one(names).name)}`);
    const body = { query: query.query, variables: one(query.variables) };
    return formatRequest("POST", "/subgraph", JSON.stringify(body));
  });
}

// Processor seconds of servers and all that they have started.
async function processorSecondsOfAll(pids: readonly (number | undefined)[]): Promise<number> {
  const all = await Promise.all(pids.map(async (pid) => [pid, ...(await childrenOf(pid))]));
  return all.flat().reduce((sum: number, pid) => sum + readProcessorSeconds(pid, { withEnded: true }), 0);
}

/**
 * Prints what a second of processor time answers with one, two and four readers behind nginx without its cache, the
 * readers on the standbys in turn: requests of the mix over 16 connections, as fast as they are answered.
 */
export async function measureGrowth(world: ReplicaWorld): Promise<void> {
  const [first, second, ...pooled] = world.readers;
  for (const reader of pooled) await reader.end();
  const readers = [first, second, await world.startReader(0), await world.startReader(1)].flatMap(
    (reader) => reader ?? [],
  );
  const requests = generateRequests();
  const client = fork(fileURLToPath(new URL("../load/load-process.ts", import.meta.url)), { execArgv: [] });
  printRow(
    "readers",
    "requests/s",
    "of a second of readers",
    "of a second of Postgres",
    "of nginx",
    "statuses",
  );
  printRow("--:", "--:", "--:", "--:", "--:", "---");
  for (const count of [1, 2, 4]) {
    const asked = readers.slice(0, count);
    const nginx = await startNginx(
      asked.map(({ url }) => url),
      { isLimited: false, isCaching: false },
    );
    const spent = () =>
      Promise.all([
        processorSecondsOfAll(asked.map(({ pid }) => pid)),
        processorSecondsOfAll([world.near.pid(), world.far.pid()]),
        processorSecondsOfAll([nginx.pid]),
      ]);
    client.send({ port: Number(new URL(nginx.url).port), seconds: 2, requests } satisfies LoadJob);
    await once(client, "message");
    const before = await spent();
    const begun = performance.now();
    client.send({ port: Number(new URL(nginx.url).port), seconds, requests } satisfies LoadJob);
    const [{ perSecond, statuses }] = (await once(client, "message")) as [LoadResult];
    // The first second is not part of the result, but of the time.
    const all = (perSecond * (performance.now() - begun)) / 1_000;
    const after = await spent();
    const ratios = after.map((one, at) => whole(all / (one - (before[at] ?? 0))));
    printRow(String(count), whole(perSecond), ...ratios, JSON.stringify(statuses));
    await nginx.stop();
  }
  client.disconnect();
}
