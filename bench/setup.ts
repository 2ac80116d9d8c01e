// A first run as a newcomer makes it: `npm run setup` in an empty folder, with a label server, a portal and a node of our
// own, and a generated history in mainnet's proportions.
//
//   NODE_OPTIONS=--max-old-space-size=6000 node cli/with-node.mjs bench/setup.ts [--logs 5000000] [--line 100]
//
// Label server and portal are behind lines of 100 megabits a second with a delay. Prints the time of each phase.

import { hash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { listen } from "../devnet/rpc/server.ts";
import { startServiceProcess } from "../devnet/service-process.ts";
import { waitFor } from "../devnet/wait.ts";
import { realRoot } from "./backfill/indexing-process.ts";
import { startLine } from "./backfill/line.ts";
import { fillArchive, serveHead, serveNode, startPortalOf } from "./mainnet/archive.ts";
import { residentMegabytes, secondsSince, untilReady, whole } from "./measure.ts";
import { inWorld, type World } from "./world.ts";

const { values: options } = parseArgs({
  options: { logs: { type: "string", default: "5000000" }, line: { type: "string", default: "100" } },
});
// The service gets Node's usual heap.
delete process.env["NODE_OPTIONS"];

await inWorld("setup", rehearse);

async function rehearse({ folder }: World): Promise<void> {
  const filled = await fillArchive(join(folder, "archive"), Number(options.logs));
  const { labels, logs, lastBlock, environment } = filled;
  console.log(`history: ${whole(logs)} logs, ${whole(labels.length)} labels`);
  const [head, labelServer, portal] = [
    await serveHead(filled),
    await serveLabels(folder, labels),
    await startPortalOf(filled),
  ];
  labels.length = 0;
  const node = await serveNode(filled, head.url);
  const [labelLine, portalLine] = [
    await startLine(labelServer.url, Number(options.line)),
    await startLine(portal.url, Number(options.line)),
  ];
  const [port, home] = [await freePort(), join(folder, "home")];
  // The private Postgres server's user has to enter it.
  mkdirSync(home);
  for (const path of [folder, home]) chmodSync(path, 0o755);
  writeFileSync(
    join(home, ".env.local"),
    Object.entries({
      ...{ NAMESPACE: "mainnet", RPC_URL_1: node.url, START_BLOCK: environment.START_BLOCK, PORT: port },
      ...{
        PLUGINS: "subgraph",
        LABEL_SET_ID: "bench",
        LABELS_SERVER_URL: labelLine.url,
        PORTAL_URL: portalLine.url,
      },
    })
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  );
  const begun = performance.now();
  const say = (text: string) => console.log(`${secondsSince(begun).toFixed(0).padStart(5)} s  ${text}`);
  const setup = startServiceProcess({
    ...{ name: "setup", args: [join(realRoot, "cli/setup.ts")], cwd: home },
    env: { PATH: process.env["PATH"], HOME: home },
    onLine: (line) => /INFO +Indexed block /.test(line) || say(line),
  });
  try {
    await Promise.race([
      untilLive(port, lastBlock).then(() => say("live")),
      setup.ended.then(() => Promise.reject(new Error("setup ended"))),
    ]);
    await untilReady(port);
    say(
      `ready; received ${whole(labelLine.received())} bytes of labels, ${whole(portalLine.received())} of the portal in ${portal.requests.length} streams; setup ${whole(residentMegabytes(setup.pid))} MB`,
    );
  } finally {
    await setup.stop();
    for (const server of [labelLine, portalLine, labelServer, portal, node, head]) await server.close();
  }
}

async function untilLive(port: number, lastBlock: number): Promise<void> {
  await waitFor(
    "the head",
    async () => {
      const response = await fetch(`http://127.0.0.1:${port}/status`).catch(() => undefined);
      const chains = ((await response?.json()) ?? {}) as Record<string, { block: { number: number } }>;
      const number = Object.values(chains)[0]?.block.number ?? 0;
      return number > lastBlock ? { done: number } : { state: `block ${number}` };
    },
    { timeoutMs: 7_200_000 },
  );
}

/** Serves every second label as version 0 of the set `bench`. */
async function serveLabels(folder: string, labels: readonly string[]) {
  const [csv, file] = [join(folder, "labels.csv"), join(folder, "bench_0.ensrainbow")];
  const quoted = labels.filter((_, i) => i % 2 === 0).map((label) => `"${label.replaceAll('"', '""')}"`);
  writeFileSync(csv, `${quoted.join("\n")}\n`);
  const { ended, lastLines } = startServiceProcess({
    name: "convert",
    args: ["labels-service/cli.ts", "convert", csv, "--label-set-id", "bench", "--output", file],
    ...{ cwd: realRoot, env: process.env },
  });
  if ((await ended).code !== 0) throw new Error(lastLines().join("\n"));
  const content = readFileSync(file);
  const files: Record<string, Buffer | string> = {
    "/labelsets/bench_0.ensrainbow": content,
    "/labelsets/bench_0.ensrainbow.sha256sum": `${hash("sha256", content)}  bench_0.ensrainbow\n`,
  };
  return listen((request, response) => {
    const found = files[request.url ?? ""];
    const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    if (found === undefined) return response.writeHead(404).end();
    const range = `bytes ${from}-${found.length - 1}/${found.length}`;
    response.writeHead(from > 0 ? 206 : 200, {
      ...{ "accept-ranges": "bytes", "content-length": found.length - from, etag: '"1"' },
      ...(from > 0 && { "content-range": range }),
    });
    response.end(Buffer.from(found).subarray(from));
  });
}
