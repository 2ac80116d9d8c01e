import { fork } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { clientQueries, type KnownName } from "../../cli/compare/queries.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { askSubgraph } from "../../devnet/subgraph.ts";
import { megabytesIn, quantile, residentMegabytes } from "../measure.ts";
import type { AttackJob } from "./attack-process.ts";
import type { Attack } from "./attacks.ts";
import type { Seen, Watched } from "./watch.ts";
import type { World } from "./world.ts";

/** What other clients saw in one period, and the most memory (MB) and lag (seconds) in it. */
export type Period = { seen: Record<string, Seen>; rss: number; postgres: number; lag: number };

const program = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const gaugedEveryMs = 250;
// Beyond the time of the attack itself: a late response is recorded, a hanging process is not waited for.
const graceMs = 15_000;

/** What reads the observations of other clients. */
export type Observer = Awaited<ReturnType<typeof startObserver>>;

/** Watches the services as their other clients do; `read` returns what was seen since the last call. */
export async function startObserver(world: World) {
  const child = fork(program("watch.ts"));
  // What is seen of it is the wait for a processor, which attackers, their target and those who measure share.
  const bare = await listen((_, response) => response.end());
  const requests = [{ method: "GET", path: "/" }] as const;
  const reference = { name: "bare server", port: bare.port, requests };
  const all = [...(await watchedRequests(world)), reference];
  // Each has an address of its own, none of an attacker: the services give each address its share.
  child.send(
    all.map((one, index) => ({ ...one, everyMs: 20, from: `127.0.2.${index + 1}` })) satisfies Watched[],
  );
  const client = new pg.Client(world.postgres.url);
  await client.connect();
  let worst = { rss: 0, postgres: 0, lag: 0 };
  let isOn = true;
  const gauging = (async () => {
    while (isOn) {
      const now = {
        rss: residentMegabytes(await world.pidOfIndex()),
        ...(await databaseGauges(client, world)),
      };
      for (const key of ["rss", "postgres", "lag"] as const) worst[key] = Math.max(worst[key], now[key]);
      await sleep(gaugedEveryMs);
    }
  })();
  return {
    async read(): Promise<Period> {
      const answer = once(child, "message");
      child.send("read");
      const [seen] = (await answer) as [Period["seen"]];
      const period = { seen, ...worst };
      worst = { rss: 0, postgres: 0, lag: 0 };
      return period;
    },
    async stop() {
      isOn = false;
      await gauging;
      await client.end();
      child.kill("SIGKILL");
      await bare.close();
    },
  };
}

async function databaseGauges(client: pg.Client, { schema }: World) {
  const { rows } = await client.query<{ lag: number; pids: number[] | null }>(
    `SELECT extract(epoch FROM clock_timestamp())::float8 - substr(latest_checkpoint, 1, 10)::float8 AS lag,
       (SELECT array_agg(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()) AS pids
     FROM ${schema}._ponder_checkpoint WHERE chain_id = $1`,
    [chainIds.root],
  );
  // Without the shared buffers, which belong to all backends and have a fixed size.
  const privates = (rows[0]?.pids ?? []).map((pid) =>
    megabytesIn(`/proc/${pid}/smaps_rollup`, /Pss_Anon:\s+(\d+)/),
  );
  return { lag: rows[0]?.lag ?? 0, postgres: privates.reduce((sum, one) => sum + one, 0) };
}

/** Runs an attack in a process of its own, which is killed when it exceeds its time. */
export async function runAttack(attack: Attack, job: Omit<AttackJob, "name">): Promise<void> {
  const timeout = attack.seconds * 1000 + graceMs;
  const child = fork(program("attack-process.ts"), { timeout, killSignal: "SIGKILL" });
  if (child.pid !== undefined) setPriority(child.pid, 19);
  child.send({ name: attack.name, ...job } satisfies AttackJob);
  await Promise.race([once(child, "message"), once(child, "exit")]);
  child.kill("SIGKILL");
}

/** Paths that must always respond, a small query, and four clients with the ten queries of wallets and explorers. */
async function watchedRequests({
  port,
  labelsPort,
}: World): Promise<Pick<Watched, "name" | "port" | "requests">[]> {
  const get = (path: string) => [{ method: "GET", path }] as const;
  const ask = (body: object) => ({ method: "POST", path: "/subgraph", body: JSON.stringify(body) }) as const;
  const names = '{ domains(first: 300, where: { name_ends_with: ".eth" }) { id name owner { id } } }';
  const { domains } = await askSubgraph<{ domains: KnownName[] }>(`http://127.0.0.1:${port}/subgraph`, names);
  const queries = clientQueries(domains, domains[0]?.owner.id ?? "0x").flatMap(({ query, variables }) =>
    variables.slice(0, 20).map((one) => ask({ query, variables: one })),
  );
  const mixed = queries.map((_, index) => queries[(index * 7) % queries.length] ?? ask({}));
  return [
    { port, name: "/health", requests: get("/health") },
    { port, name: "/amirealtime", requests: get("/amirealtime") },
    { port: labelsPort, name: "labels' /health", requests: get("/health") },
    { port, name: "small query", requests: [ask({ query: "{ domains(first: 3) { id name } }" })] },
    ...[0, 11, 22, 33].map((from, index) => {
      const requests = [...mixed.slice(from), ...mixed.slice(0, from)];
      return { port, name: `client ${index}`, requests };
    }),
  ];
}

const watchedNames = ["/health", "/amirealtime", "small query", "labels' /health", "bare server"] as const;

/** Head of the table of periods. */
export const tableHead = [
  `| | ${watchedNames.map((name) => `${name}, p99 / worst`).join(" | ")} | clients/s | RSS MB | Postgres MB | behind s |`,
  `|${"---|".repeat(watchedNames.length + 5)}`,
].join("\n");

/** One period as a line of the table. */
export function tableRow(name: string, { seen, rss, postgres, lag }: Period): string {
  const perSecond = Object.entries(seen).reduce(
    (sum, [watched, one]) => sum + (watched.startsWith("client") ? one.perSecond : 0),
    0,
  );
  const cells = watchedNames.map((watched) => formatCell(seen[watched]));
  return `| ${[name, ...cells, ...[perSecond, rss, postgres, lag].map((one) => one.toFixed(0))].join(" | ")} |`;
}

function formatCell(seen: Seen | undefined): string {
  if (seen === undefined) return "-";
  const failed = Object.entries(seen.statuses).flatMap(([status, count]) =>
    status === "200" ? [] : [`${count} x ${status}`],
  );
  const [p99, worst] = [0.99, 1].map((share) => quantile(seen.latencies, share).toFixed(0));
  return [`${p99} / ${worst} ms`, ...failed].join(", ");
}
