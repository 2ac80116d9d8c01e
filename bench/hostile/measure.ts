import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { clientQueries } from "../subgraph/queries.ts";
import type { Attack } from "./attack.ts";
import type { AttackJob, AttackResult } from "./attack-process.ts";
import { type Gauged, startGauges } from "./gauges.ts";
import type { Seen, Watched } from "./watch.ts";
import type { World } from "./world.ts";

/** What other clients observed of the services in one period. */
export type Watch = Record<string, Seen>;

/** All observed effects of one attack. */
export type Measured = AttackResult & {
  attack: Attack;
  /** Without the attack, while it ran, and in the 10 seconds after it. */
  without: Watch;
  during: Watch;
  after: Watch;
  memory: { before: Gauged; worst: Gauged; after: Gauged };
  /** How often the service's process exited or was replaced meanwhile. */
  ended: number;
  /** Whether the services were stopped because the machine was about to run out of memory. */
  isRelieved: boolean;
  log: { bytes: number; controls: number; errors: number };
  calls: { during: number; after: number };
};

const programs = {
  bare: fileURLToPath(new URL("bare-process.ts", import.meta.url)),
  attack: fileURLToPath(new URL("attack-process.ts", import.meta.url)),
  watch: fileURLToPath(new URL("watch-process.ts", import.meta.url)),
};
const warmUpMs = 6_000;
const baselineMs = 5_000;
const caughtUp = 8;
const afterMs = 10_000;
// Beyond the time of the attack itself: a late response is recorded, a hanging process is not waited for.
const graceMs = 15_000;

/** Runs one attack after a restart of the services and measures them before, during and after it. */
export async function measureAttack(world: World, attack: Attack, seed: number): Promise<Measured> {
  await world.restart(attack.environment ?? {});
  const isLabels = attack.service === "labels";
  const gauges = startGauges({
    pid: isLabels ? world.labels.pid : world.indexerPid,
    databaseUrl: world.postgres.url,
    schema: world.schema,
    chainId: chainIds.root,
    whenLow: world.relieve,
  });
  const watcher = await startWatcher(isLabels ? watchedLabels(world) : await watchedIndexer(world));
  try {
    await sleep(warmUpMs);
    // A restart goes back to the last final block and catches up from there.
    for (let left = 60; left > 0 && gauges.now().lag > caughtUp; left--) await sleep(1_000);
    await watcher.read();
    await sleep(baselineMs);
    const without = await watcher.read();
    gauges.worst();
    gauges.processes();
    const before = gauges.now();
    const log = { ...world.log };
    const calls = world.hostile.calls();
    const port = isLabels ? world.labels.port : world.port;
    const result = await runAttack(world, attack, { port, from: "127.0.0.1", seed });
    const during = await watcher.read();
    const callsDuring = world.hostile.calls() - calls;
    await sleep(afterMs);
    const after = await watcher.read();
    return {
      attack,
      ...result,
      without,
      during,
      after,
      memory: { before, worst: gauges.worst(), after: gauges.now() },
      ended: gauges.processes() - 1 + (gauges.now().rss === 0 ? 1 : 0),
      isRelieved: gauges.isRelieved(),
      log: {
        bytes: world.log.bytes - log.bytes,
        controls: world.log.controls - log.controls,
        errors: world.log.errors - log.errors,
      },
      calls: { during: callsDuring, after: world.hostile.calls() - calls - callsDuring },
    };
  } finally {
    watcher.stop();
    await gauges.stop();
  }
}

/** Runs an attack in its own process, which is killed when it exceeds its time. */
export async function runAttack(
  { processors }: World,
  attack: Attack,
  { port, from, seed }: Omit<AttackJob, "name">,
): Promise<AttackResult> {
  const child = fork(programs.attack);
  processors.put(child.pid, "attackers");
  if (child.pid !== undefined) setPriority(child.pid, 19);
  const started = performance.now();
  const timer = setTimeout(() => child.kill("SIGKILL"), attack.seconds * 1000 + graceMs);
  try {
    child.send({ name: attack.name, port, from, seed } satisfies AttackJob);
    const result = await Promise.race([messageOf<AttackResult>(child), once(child, "exit")]);
    if (!Array.isArray(result)) return result;
    return { replies: [], seconds: (performance.now() - started) / 1000 };
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
  }
}

/**
 * Starts the process that watches, and beside the services a server that does nothing; `read` returns the observations since
 * the last call.
 */
export async function startWatcher(watched: readonly Unsent[]) {
  const bare = fork(programs.bare);
  const child = fork(programs.watch);
  const [port] = await once(bare, "message");
  const requests = [{ method: "GET", path: "/" }] as const;
  const reference: Unsent = { name: "bare server", port: Number(port), everyMs: 20, requests };
  const all = [...watched, reference];
  child.send(all.map((one, place) => ({ ...one, from: `127.0.2.${place + 1}` })) satisfies Watched[]);
  return {
    async read(): Promise<Watch> {
      const answer = messageOf<Watch>(child);
      child.send("read");
      return answer;
    },
    stop() {
      child.kill("SIGKILL");
      bare.kill("SIGKILL");
    },
  };
}

/** A watch that has no address yet: each gets one of its own, none of an attacker. */
type Unsent = Omit<Watched, "from">;

/**
 * Two paths that must always respond, a small query, and four clients with the ten queries of wallets and explorers.
 */
export async function watchedIndexer({ port }: World): Promise<Unsent[]> {
  const ask = (body: object) => ({ method: "POST", path: "/subgraph", body: JSON.stringify(body) }) as const;
  const asked = await fetch(`http://127.0.0.1:${port}/subgraph`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"query":"{ domains(first: 300, where: { name_ends_with: \\".eth\\" }) { id name owner { id } } }"}',
  });
  const { domains } = ((await asked.json()) as { data: { domains: Parameters<typeof clientQueries>[0] } })
    .data;
  const queries = clientQueries(domains, domains[0]?.owner.id ?? "0x").flatMap(({ query, variables }) =>
    variables.slice(0, 20).map((one) => ask({ query, variables: one })),
  );
  const mixed = queries.map((_, place) => queries[(place * 7) % queries.length] ?? ask({}));
  const poll = { port, everyMs: 20 };
  return [
    { ...poll, name: "/health", requests: [{ method: "GET", path: "/health" }] },
    { ...poll, name: "/amirealtime", requests: [{ method: "GET", path: "/amirealtime" }] },
    { ...poll, name: "query", requests: [ask({ query: "{ domains(first: 3) { id name } }" })] },
    ...[0, 1, 2, 3].map((place) => ({
      ...poll,
      name: `client ${place}`,
      requests: [...mixed.slice(place * 11), ...mixed.slice(0, place * 11)],
    })),
  ];
}

/** The label service's paths that must always respond, and four clients that heal. */
function watchedLabels({ labels: { port } }: World): Unsent[] {
  const poll = { port, everyMs: 20 };
  const heal = { method: "GET", path: `/v1/heal/0x${"4f".repeat(32)}` } as const;
  return [
    { ...poll, name: "/health", requests: [{ method: "GET", path: "/health" }] },
    { ...poll, name: "query", requests: [{ method: "GET", path: "/v1/labels/count" }] },
    ...[0, 1, 2, 3].map((place) => ({ ...poll, name: `client ${place}`, requests: [heal] })),
  ];
}

async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const [message] = await once(child, "message");
  return message as Message;
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
