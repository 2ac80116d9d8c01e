import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DevNode, startNode } from "../../devnet/node.ts";
import { readRecording } from "../../devnet/recording.ts";
import { normalizedName } from "../../src/ens/normalization.ts";
import {
  readTruth,
  v2Addresses,
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

async function read(path: string, init?: RequestInit) {
  const response = await fetch(`${indexer.url}${path}`, {
    ...init,
    headers: { ...init?.headers, connection: "close" },
  });
  expect(response.status, path).toBe(200);
  return response.json();
}

const versionOf = { v2: "v2", reserved: "v1", v1: "v1", none: undefined };

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

test("tokens of each .eth name that can be written are those in force", async () => {
  const entries = new Map(
    last?.registries[v2Addresses["ETHRegistry"] ?? "0x"]?.entries.map((one) => [one.raw, one]),
  );
  let seen = 0;
  for (const { raw, label, authority } of last?.authority ?? []) {
    const entry = entries.get(raw);
    const result = normalizedName(`${label}.eth`);
    if (authority !== "v2" || !("name" in result) || result.name !== `${label}.eth`) continue;
    const { registeredNameTokens: found } = await read(
      `/api/name-tokens?name=${encodeURIComponent(result.name)}`,
    );
    expect(found).toMatchObject({
      version: "v2",
      reserved: false,
      isExpired: false,
      expiresAt: Number(entry?.expiry),
    });
    expect(found.tokens.at(-1)).toMatchObject({
      token: { assetNamespace: "erc1155", tokenId: entry?.tokenId },
      ownership: { ownershipType: "fully-onchain", owner: { chainId: v2ChainId, address: entry?.owner } },
      mintStatus: "minted",
    });
    seen += 1;
  }
  expect(seen).toBeGreaterThan(150);
});

test("actions of both generations are listed, with what was paid", async () => {
  const authority = new Map((last?.authority ?? []).map((one) => [`${one.label}.eth`, one.authority]));
  const versions = new Set<string>();
  for (let page = 1, hasNext = true; hasNext; page++) {
    const body = await read(`/api/registrar-actions?recordsPerPage=100&page=${page}`);
    hasNext = body.pageContext.hasNext;
    for (const { action, name } of body.registrarActions) {
      versions.add(`${action.version} ${action.pricing.total?.currency}`);
      const inForce = authority.get(name);
      if (inForce) expect(action.registrationLifecycle.version, name).toBe(versionOf[inForce]);
    }
  }
  expect([...versions]).toEqual(expect.arrayContaining(["v1 ETH", "v1 USDC", "v2 USDC", "v2 DAI"]));
});

test("domains say which generation is in force, in one query", async () => {
  const query =
    "{ domains(first: 1000) { name version reserved effectiveExpiryDate } _meta { block { timestamp } } }";
  const headers = { "content-type": "application/json" };
  const { data } = await read("/subgraph", { method: "POST", headers, body: JSON.stringify({ query }) });
  expect(data._meta.block.timestamp).toBe(last?.timestamp);
  const domains = new Map<string, Record<string, unknown>>(
    data.domains.map((one: { name: string }) => [one.name, one]),
  );
  let seen = 0;
  for (const { label, authority } of last?.authority ?? []) {
    const domain = domains.get(`${label}.eth`);
    if (domain === undefined) continue;
    expect(domain, label).toMatchObject({
      version: versionOf[authority] ?? null,
      reserved: authority === "reserved",
    });
    seen += 1;
  }
  expect(seen).toBeGreaterThan(20);
});

test("odd logs were counted, and nothing stopped", async () => {
  const metrics = await (await fetch(`${indexer.url}/metrics`)).text();
  expect(metrics).toMatch(/names_anomalies_total\{anomaly="malformed-log"\} [1-9]/);
  expect(metrics).toMatch(/names_anomalies_total\{anomaly="unknown-entry"\} [1-9]/);
  const { anomalies } = await read("/api/indexing-status");
  expect(anomalies).toMatchObject({
    "malformed-log": expect.any(Number),
    "unknown-entry": expect.any(Number),
  });
  indexer.expectRunning();
});
