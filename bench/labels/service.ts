import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { formatRequest, load } from "../load/load.ts";
import { untilReady } from "../measure.ts";
import { generatedLabels } from "./data.ts";

/** What a command of the label service cost. */
type CommandCost = { cpuSeconds: number; wallSeconds: number; peakBytes: number };

/** Runs a command of the label service of `checkout`. */
export function runCommand(checkout: string, ...args: string[]): CommandCost {
  const measured = join(checkout, "bench/labels/measured.ts");
  const { stdout, stderr, status } = spawnSync(process.execPath, [measured, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

/** Starts the label service of `checkout`; it has its database when the promise resolves. */
export async function startServer(checkout: string, { port, database }: { port: number; database: string }) {
  const options = ["--port", String(port), "--host", "127.0.0.1", "--database", database];
  const { pid, stop } = startServiceProcess({
    name: "label service",
    args: [join(checkout, "labels-service/cli.ts"), "serve", ...options],
    cwd: checkout,
    env: process.env,
  });
  await untilReady(port);
  return { pid, stop };
}

async function cpuSeconds(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1]);
}

/** A load on the label service after a second of warm-up, and the service's processor time for each request. */
export async function measuredLoad(port: number, { connections, seconds, next }: Parameters<typeof load>[1]) {
  await load(port, { connections, seconds: 1, next });
  const before = await cpuSeconds(port);
  const result = await load(port, { connections, seconds, next });
  return { ...result, microseconds: (((await cpuSeconds(port)) - before) * 1e6) / result.requests };
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
  const get = (labelhash: string, query: string) => formatRequest("GET", `/v1/heal/${labelhash}${query}`);
  const pick = (list: string[]) => list[Math.floor(Math.random() * list.length)] ?? "";
  const posts = Array.from({ length: 20 }, () => {
    const labelhashes = Array.from({ length: 10_000 }, () => pick(known));
    const body = { labelhashes, label_set_id: "subgraph", label_set_version: 0 };
    return formatRequest("POST", "/v1/heal", JSON.stringify(body));
  });
  return {
    pinned: () => get(pick(known), pin),
    known: () => get(pick(known), ""),
    unknown: () => get(pick(unknown), ""),
    batch: () => pick(posts),
  };
}
