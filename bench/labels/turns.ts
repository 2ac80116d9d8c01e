import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { labelhash } from "../../src/ens/labels.ts";
import { load, requestOf } from "../load/load.ts";
import { untilReady } from "../measure.ts";
import { generatedLabels } from "./data.ts";

/** What a command of the label service cost. */
export type CommandCost = { cpuSeconds: number; wallSeconds: number; peakBytes: number };

/** Runs a command of the label service of `checkout`. */
export function runCommand(checkout: string, ...args: string[]): CommandCost {
  const measured = join(checkout, "bench/labels/measured.ts");
  const { stdout, stderr, status } = spawnSync(process.execPath, [measured, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

/** Ingests a dump into a new database. */
export function ingest(
  checkout: string,
  { dump, database }: { dump: string; database: string },
): CommandCost {
  rmSync(database, { force: true });
  const args = ["--label-set-id", "subgraph", "--label-set-version", "0", "--database", database];
  return runCommand(checkout, "ingest", dump, ...args);
}

/** A label service under measurement. */
export type Server = { port: number; pid: number; stop(): Promise<void> };

/** Starts the label service of `checkout`; it has its database when the promise resolves. */
export async function startServer(
  checkout: string,
  { port, database }: { port: number; database: string },
): Promise<Server> {
  const cli = join(checkout, "labels-service/cli.ts");
  const options = ["--port", String(port), "--host", "127.0.0.1", "--database", database];
  const child = spawn(process.execPath, [cli, "serve", ...options], { stdio: "ignore" });
  await untilReady(port);
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { port, pid: child.pid ?? 0, stop };
}

/** Processor seconds of the label service at `port` so far, to the microsecond. */
export async function cpuSeconds(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1]);
}

/** Requests for labels of the generated set, at random. */
export function requests(labelCount: number) {
  const known: string[] = [];
  const step = Math.max(1, Math.floor(labelCount / 100_000));
  let i = 0;
  for (const label of generatedLabels(labelCount))
    if (i++ % step === 1 % step && label.length < 1000) known.push(labelhash(label));
  const unknown = known.map((_, i) => labelhash(`unknown label ${i}`));
  const pin = "?label_set_id=subgraph&label_set_version=0";
  const get = (labelhash: string, query: string) => requestOf("GET", `/v1/heal/${labelhash}${query}`);
  const pick = (list: string[]) => list[Math.floor(Math.random() * list.length)] ?? "";
  const posts = Array.from({ length: 20 }, () => {
    const labelhashes = Array.from({ length: 10_000 }, () => pick(known));
    const body = { labelhashes, label_set_id: "subgraph", label_set_version: 0 };
    return requestOf("POST", "/v1/heal", JSON.stringify(body));
  });
  return {
    pinned: () => get(pick(known), pin),
    known: () => get(pick(known), ""),
    unknown: () => get(pick(unknown), ""),
    batch: () => pick(posts),
  };
}

type Comparison = { dump: string; folder: string; labelCount: number; port: number; rounds: number };

/** Prints the processor time of two checkouts, which work by turns, and the second one's by the first one's. */
export async function compareLabels(
  checkouts: [string, string],
  { dump, folder, labelCount, port, rounds }: Comparison,
): Promise<void> {
  const database = join(folder, "turns.sqlite");
  const measured = async (rounds: number, turns: (round: number) => Promise<number[]>) => {
    const results = [];
    for (let round = 0; round < rounds; round++) results.push(await turns(round));
    return results;
  };
  const ingestOnce = (one: string) => (ingest(one, { dump, database }).cpuSeconds * 1e6) / labelCount;
  print("ingest, us/row", await measured(5, (round) => inTurn(round, checkouts, ingestOnce)));

  const kinds = Object.entries(requests(labelCount));
  const all = new Map<string, number[][]>(kinds.map(([kind]) => [kind, []]));
  for (let pair = 0; pair < pairs; pair++) {
    // One after the other, each first in every second pair.
    const servers = await inTurn(pair, checkouts, (one) => startServer(one, { port: port++, database }));
    for (const [kind, next] of kinds) {
      const [connections, seconds] = kind === "batch" ? [2, 0.4] : [50, 0.2];
      const turn = async ({ port }: Server) => {
        const before = await cpuSeconds(port);
        const result = await load(port, { connections, seconds, next });
        return (((await cpuSeconds(port)) - before) * 1e6) / result.requests;
      };
      for (const server of servers) await load(server.port, { connections, seconds: 1, next });
      const turns = await measured(Math.ceil(rounds / pairs), (round) => inTurn(round, servers, turn));
      all.get(kind)?.push(...turns);
    }
    await Promise.all(servers.map((server) => server.stop()));
  }
  for (const [kind, turns] of all) print(`${kind} heal, us/request`, turns);
}

// One process may cost a tenth more than its twin for as long as it lives, by where its memory lies: several are measured.
const pairs = 10;

/** The results in the order of `items`; in odd rounds the last one begins. */
async function inTurn<T, R>(round: number, items: T[], turn: (item: T) => R | Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const i of round % 2 === 0 ? items.keys() : [...items.keys()].reverse()) {
    const item = items[i];
    if (item !== undefined) results[i] = await turn(item);
  }
  return results;
}

// Small machines share their cores: a turn costs up to twice as much beside a neighbour. Ratios of one quantile compare
// turns of the same kind.
function print(what: string, rounds: number[][]) {
  const sorted = (isOwn: boolean) =>
    rounds.flatMap((round) => round.filter((_, i) => (i % 2 === 0) === isOwn)).sort((a, b) => a - b);
  const [own, others] = [sorted(true), sorted(false)];
  const quantiles = [0.1, 0.25, 0.5].map((share) => {
    const at = Math.floor((own.length - 1) * share);
    const [one = 0, other = 0] = [own[at], others[at]];
    return `${one.toFixed(2)} / ${other.toFixed(2)} = ${(other / one).toFixed(3)}`;
  });
  console.log(`${what.padEnd(26)} ${quantiles.join("   ")}`);
}
