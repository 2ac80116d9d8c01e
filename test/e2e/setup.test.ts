import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { requireRunning } from "../../devnet/indexing-service.ts";
import { type DevNode, startNode } from "../../devnet/node.ts";
import { startPortal } from "../../devnet/portal.ts";
import { freePort } from "../../devnet/ports.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { askSubgraph } from "../../devnet/subgraph.ts";
import { waitFor } from "../../devnet/wait.ts";
import { recordedBlocks } from "../support/archive/recorded.ts";
import { temporaryFolders } from "../support/folders.ts";
import { indexedBlock } from "../support/indexer.ts";
import { runCommand } from "../support/labels/commands.ts";
import { createEmptyDatabase } from "../support/postgres.ts";
import {
  recordedEntities,
  recordedLabels,
  recordingAs,
  sepolia,
  sepoliaDatasources,
} from "../support/recordings.ts";

// The recorded root chain as Sepolia, which the portal has up to a block. The tests continue each other.
const portalHead = 1_500;
const newFolder = temporaryFolders();
const open: { close(): Promise<unknown> }[] = [];
let [home, url, setup]: [string, string, ServiceProcess | undefined] = ["", "", undefined];
let node: DevNode;
let portal: Awaited<ReturnType<typeof startPortal>>;
let downloads = 0;

const keep = <One extends { close(): Promise<unknown> }>(one: One): One => {
  open.push(one);
  return one;
};

beforeAll(async () => {
  const recording = recordingAs("root", sepolia);
  const blocks = recordedBlocks(recording);
  node = keep(await startNode({ recording }));
  portal = keep(
    await startPortal({
      chains: {
        "ethereum-sepolia": {
          ...{ first: 0, last: portalHead, headerOf: (number) => recording.blocks[number] },
          read: (from, to) =>
            blocks.filter(({ header: { number } }) => Number(number) >= from && Number(number) <= to),
        },
      },
    }),
  );
  const labels = keep(await serveLabels());
  const database = await createEmptyDatabase(inject("postgresUrl"));
  open.push({ close: database.drop });
  home = newFolder();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  writeFileSync(join(home, "datasources.json"), sepoliaDatasources());
  writeFileSync(
    join(home, ".env.local"),
    `NAMESPACE=sepolia\nRPC_URL_${sepolia}=${node.url}\nDATASOURCES_FILE=datasources.json\nPORT=${port}\nDATABASE_URL=${database.url}\nDATABASE_SCHEMA=setup\nPLUGINS=subgraph\nLABEL_SET_ID=recorded\nLABELS_SERVER_URL=${labels.url}\nPORTAL_URL=${portal.url}\n`,
  );
});

afterAll(async () => {
  await setup?.stop();
  for (const one of open.reverse()) await one.close();
});

async function serveLabels() {
  const folder = newFolder();
  const file = join(folder, "recorded_0.ensrainbow");
  const csv = recordedLabels(["root"]).map((label) => `"${label.replaceAll('"', '""')}"\n`);
  await runCommand(["convert", "-", "--label-set-id", "recorded", "--output", file], {
    folder,
    stdin: csv.join(""),
  });
  const content = readFileSync(file);
  const sum = createHash("sha256").update(content).digest("hex");
  return listen((request, response) => {
    if (request.url === "/labelsets/recorded_0.ensrainbow.sha256sum") return response.end(`${sum}  x\n`);
    if (request.url !== "/labelsets/recorded_0.ensrainbow") return response.writeHead(404).end();
    downloads += 1;
    response.end(content);
  });
}

/** Runs `npm run setup` in the folder until the index is ready. */
async function setUp(): Promise<string> {
  const lines: string[] = [];
  const running = startServiceProcess({
    ...{ name: "setup", args: [new URL("../../cli/setup.ts", import.meta.url).pathname], cwd: home },
    env: { PATH: process.env["PATH"], HOME: home },
    onLine: (line) => lines.push(line),
  });
  setup = running;
  await waitFor("the index", async () => {
    requireRunning(running);
    const { status } = await fetch(`${url}/ready`);
    const block = status === 200 ? await indexedBlock(url) : 0;
    return block === node.chain.head()
      ? { done: true }
      : { state: `block ${block}, /ready returns ${status}; ${running.lastLines(30).join("\n")}` };
  });
  return lines.join("\n");
}

test("one command leads from an RPC URL to a live index, by labels and a portal", async () => {
  const said = await setUp();
  expect(said).toContain("settings: LABELS_URL=file:./data/labels.sqlite, ARCHIVE=./archive (.env.local)");
  expect(said).toMatch(/^labels: done in /m);
  expect(said).toMatch(/^archive: done in /m);
  expect(portal.requests.length).toBeGreaterThan(0);
  const { domains } = await askSubgraph<{ domains: { id: string }[] }>(
    `${url}/subgraph`,
    "{ domains(first: 1000, orderBy: id) { id name } }",
  );
  const recorded = recordedEntities()["Domain"] ?? [];
  const ids = recorded.map(({ id }) => String(id)).sort();
  expect(domains.map(({ id }) => id)).toEqual(ids.slice(0, 1_000));
  expect(readFileSync(join(home, ".env.local"), "utf8")).toContain(
    "\nLABELS_URL=file:./data/labels.sqlite\nARCHIVE=./archive\n",
  );
});

test("the next run repeats nothing", async () => {
  expect(await setup?.stop()).toMatchObject({ code: 0 });
  const [streams, files] = [portal.requests.length, downloads];
  expect(await setUp()).toContain("archive: the index has its blocks");
  expect([portal.requests.length, downloads]).toEqual([streams, files]);
});

test("what it started ends when it is killed", async () => {
  process.kill(setup?.pid ?? 0, "SIGKILL");
  await setup?.ended;
  await expect(fetch(url)).rejects.toThrow();
});
