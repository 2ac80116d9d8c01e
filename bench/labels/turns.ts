import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { load, requestOf } from "../load/load.ts";
import { quantile, untilReady } from "../measure.ts";
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
export type Server = { port: number; pid: number; stop(): Promise<unknown> };

/** Starts the label service of `checkout`; it has its database when the promise resolves. */
export async function startServer(
  checkout: string,
  { port, database }: { port: number; database: string },
): Promise<Server> {
  const cli = join(checkout, "labels-service/cli.ts");
  const options = ["--port", String(port), "--host", "127.0.0.1", "--database", database];
  const args = [cli, "serve", ...options];
  const { pid = 0, stop } = startServiceProcess({
    name: "label service",
    args,
    cwd: checkout,
    env: process.env,
  });
  await untilReady(port);
  return { port, pid, stop };
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
  const costs = new Map<string, number[][]>();
  const kinds = Object.entries(requests(labelCount));
  // Each checkout begins in every second round. One process may cost a tenth more than its twin for as long as it lives: each round has new ones.
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const index of order) {
      const checkout = checkouts[index as 0 | 1];
      const note = (kind: string, microseconds: number) => {
        const turns = costs.get(kind) ?? [[], []];
        turns[index]?.push(microseconds);
        costs.set(kind, turns);
      };
      if (round < 5)
        note("ingest, us/row", (ingest(checkout, { dump, database }).cpuSeconds * 1e6) / labelCount);
      const server = await startServer(checkout, { port, database });
      for (const [kind, next] of kinds) {
        const connections = kind === "batch" ? 2 : 50;
        await load(port, { connections, seconds: 1, next });
        const before = await cpuSeconds(port);
        const { requests: count } = await load(port, { connections, seconds: 1, next });
        note(`${kind} heal, us/request`, (((await cpuSeconds(port)) - before) * 1e6) / count);
      }
      await server.stop();
    }
  }
  for (const [kind, [own = [], others = []]] of costs) {
    // Small machines share their cores: ratios of one quantile compare turns of the same kind.
    const shown = [0.1, 0.25, 0.5].map((share) => {
      const [one, other] = [quantile(own, share), quantile(others, share)];
      return `${one.toFixed(2)} / ${other.toFixed(2)} = ${(other / one).toFixed(3)}`;
    });
    console.log(`${kind.padEnd(26)} ${shown.join("   ")}`);
  }
}
