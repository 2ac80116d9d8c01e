import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DevNode, startNode } from "../../devnet/node.ts";
import { readRecording } from "../../devnet/recording.ts";
import { normalizedName } from "../../src/ens/normalization.ts";
import {
  readTruth,
  v2ChainId,
  v2DatasourcesFile,
  v2Environment,
  v2Folder,
} from "../support/ensv2/recording.ts";
import { createIndexer } from "../support/world.ts";

// The recorded chain with the contracts of both generations, indexed by the real process to its end, the last blocks live.

type Body = {
  name: Record<string, unknown>;
  permissions: Record<string, unknown>[];
  pageContext: { hasNext: boolean };
};

const last = readTruth().at(-1);
let node: DevNode;
let indexer: Awaited<ReturnType<typeof createIndexer>>;

beforeAll(async () => {
  node = await startNode({ recording: readRecording(v2Folder) });
  indexer = await createIndexer({
    labels: ["eth"],
    environment: { ...v2Environment, [`RPC_URL_${v2ChainId}`]: node.url },
  });
  const path = join(indexer.folder, "datasources.json");
  writeFileSync(path, v2DatasourcesFile());
  indexer.start({ DATASOURCES_FILE: path });
  await indexer.waitFor("the last block", async () => {
    const snapshot = await indexer.snapshot();
    const cursor = snapshot?.omnichainSnapshot.omnichainIndexingCursor;
    return cursor === last?.timestamp ? { done: cursor } : { state: `the cursor is ${cursor}` };
  });
});
afterAll(async () => {
  await indexer?.close();
  await node?.close();
});

async function ask(query: string): Promise<Body> {
  // A connection of its own: the server ends each after some hundred requests.
  const response = await fetch(`${indexer.url}/api/permissions?${query}`, {
    headers: { connection: "close" },
  });
  expect(response.status, query).toBe(200);
  return (await response.json()) as Body;
}

async function bitmapsOf(registry: string): Promise<string[]> {
  const found: string[] = [];
  for (let page = 1; ; page++) {
    const { permissions, pageContext } = await ask(`registry=${registry}&recordsPerPage=100&page=${page}`);
    for (const { resource, account, bitmap } of permissions)
      found.push([resource, account, bitmap].join(" "));
    if (!pageContext.hasNext) return found.sort();
  }
}

const bitmap = (roles: Hex) => `0x${roles.slice(2).padStart(64, "0")}`;

test("every role of every registry is as on the chain", async () => {
  for (const [address, { hostile, entries, rootRoles }] of Object.entries(last?.registries ?? {})) {
    const ofRoot = Object.entries(rootRoles).map(([account, roles]) => [
      bitmap("0x0"),
      account,
      bitmap(roles),
    ]);
    const ofEntries = entries.flatMap(({ resource, roles }) =>
      Object.entries(roles).map(([account, one]) => [resource, account, bitmap(one)]),
    );
    const expected = hostile ? [] : [...ofRoot, ...ofEntries].map((one) => one.join(" ")).sort();
    expect(await bitmapsOf(address), address).toEqual(expected);
  }
});

test("every name that can be written has the owner, resolver and registry of the chain", async () => {
  const registries = last?.registries ?? {};
  const names = (last?.names ?? []).filter(({ name, registry }) => {
    const result = normalizedName(name);
    return "name" in result && result.name === name && registry !== null && !registries[registry]?.hostile;
  });
  expect(names.length).toBeGreaterThan(400);
  for (const { name, node: id, registry, owner, resolver, subregistry, exists } of names) {
    const { name: found } = await ask(`name=${encodeURIComponent(name)}`);
    expect(found, name).toMatchObject({
      node: id,
      registry,
      owner,
      resolver: resolver?.address,
      subregistry,
      status: ["available", "reserved", "registered"][exists ?? 0],
    });
  }
});

test("odd logs were counted, and nothing stopped", async () => {
  const metrics = await (await fetch(`${indexer.url}/metrics`)).text();
  expect(metrics).toMatch(/names_anomalies_total\{anomaly="malformed-log"\} [1-9]/);
  expect(metrics).toMatch(/names_anomalies_total\{anomaly="unknown-entry"\} [1-9]/);
  indexer.expectRunning();
});
