import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Entities, readEntities } from "../../devnet/entities.ts";
import { startNode } from "../../devnet/node.ts";
import { type ChainName, chainIds, chainNames, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { namehash } from "../../src/ens/names.ts";
import type { Snapshot } from "../../src/status/types.ts";
import {
  allPages,
  datasourcesFile,
  lastBlocks,
  listedActions,
  readFixture,
  recordedActions,
  recordingOf,
} from "../support/recordings.ts";
import { watchStatus } from "../support/watch-status.ts";
import { startWorld, type World } from "../support/world.ts";

// The three recordings as live chains with all plugins: the root chain from 2017 on, Base and Linea from December 2023
// on. What is backfilled comes from a recorded archive, so that all that is compared here holds for it too.

type Token = [
  namespace: string,
  chainId: number,
  contract: string,
  tokenId: string,
  ownershipType: string,
  owner: string,
  mintStatus: string,
];
type Given = { domainId: `0x${string}`; name: string; expiresAt?: number; tokens?: Token[] };
type Sale = {
  id: string;
  domain_id: string;
  buyer: string;
  seller: string;
  currency: string;
  amount: string;
  asset_id: string;
};

// What ENSNode returns for every name of the recordings, and its table of sales.
const given: { nameTokens: Given[]; nameSales: Sale[] } = readFixture("name-tokens.json.gz");
// All rows of Base, Linea and 3DNS in the tables of the subgraph.
const entitiesOfL2: Entities = readFixture("l2-entities.json.gz");
const lineaWrapper = "0xe4eb561155afce723bb1ff8606fbfe9b28d5d38d";
const plugins = "subgraph,basenames,lineanames,threedns,protocol-acceleration,registrars,tokenscope";

const box = "0x665b1306e8eb7fc67d224df1c4ceb9003655ecffaf26d78c2832fe4788a22617";
// Names that differ in ENSNode, and why: see docs/compatibility.md.
const decidedNames = new Map([
  ["[2f0090b7c73105c6437067ee812c39ca6ce31eabcdbdb1bc01ea18a1329f54d3].eth", "braras.eth"],
  ["bom.eth", "[62f45294c7fc26193bb4f96ad9ae4a3164035ed097db5d669b87e493f42d4a50].eth"],
  [
    "[80a1b0f9910f4bbab6597ad62f2dfcc92cbd5a5d1d27dd4b29256693e4835e04].eth",
    "[6661bae0fefa1a6a2cc1933eb60278c4615e88db94d576012cf36d1dd690828c].eth",
  ],
  [
    "[9a1e4a276db6a058ff55106bbf1b94b805d55a6cac0efd2e19ef385814b1b528].eth",
    "[896ff68abd315821da287dc68c38caa0c0231f40b50079cc531411f0a5d5c144].eth",
  ],
  [
    "[b14a6000b0235940a526ec18e3d02170c094905e47df0e04d99072abf9d09be3].eth",
    "[47b3d84865fbc965569e06f338f8620959ae3c52e8481b3feb0bd409996df2cf].eth",
  ],
  [
    "[c7998cdf4ca41c5651a46fa67e1526669842e434fa6ce52584ed899b7ccfd8b6].eth",
    "[c7d9200ff3bb9d1ec5c5c48ded05f496e56376ab74c3e6585a289e6d61b6b8d1].eth",
  ],
]);

// Names that deployments manage have their labels, which ENSNode has from a label set alone.
const managed = new Map(["base", "linea"].map((label) => [namehash(`${label}.eth`), label]));

// 3DNS has no registry to migrate from, and its top level domain counts the names that were registered under it.
function decidedDomain(type: string, entity: Entities[string][number]) {
  if (type !== "Domain") return entity;
  if (entity.id === box) return { ...entity, subdomainCount: 34 };
  const labelName = managed.get(entity.id as Hex);
  return { ...entity, isMigrated: true, ...(labelName && { labelName, name: `${labelName}.eth` }) };
}

const byId = (entities: Entities[string]) => new Map(entities.map((entity) => [entity.id, entity]));

let world: World;

// Up to these blocks the chains are backfilled.
const heads: Record<ChainName, number> = { root: 1_500, base: 178, linea: 140 };
// Every chain has a block after the last event of all.
const after = 1_767_071_900;

beforeAll(async () => {
  world = await startWorld({
    chains: chainNames,
    datasources: withMarket(),
    archived: Object.fromEntries(chainNames.map((name) => [chainIds[name], heads[name]])),
    // The chain that stops does not count as paused, however slow the test is.
    environment: { PLUGINS: plugins, SUBGRAPH_COMPAT: "false", CHAIN_PAUSE_SECONDS: "86400" },
  });
});
afterAll(() => world?.close());

// The marketplace and the currency that it is paid in, in addition to the contracts of the recordings.
function withMarket(): string {
  const table = JSON.parse(datasourcesFile()) as { "ens-test-env": Record<string, object> };
  const { Seaport, TestUSDC } = readAddresses(recordingFolder("root"));
  const contracts = { Seaport1_5: { address: Seaport, startBlock: 0 }, USDC: { address: TestUSDC } };
  const market = { seaport: { [chainIds.root]: { contracts } } };
  return JSON.stringify({ "ens-test-env": { ...table["ens-test-env"], ...market } });
}

const isFollowing = ({ omnichainSnapshot }: Snapshot) =>
  omnichainSnapshot.omnichainStatus === "omnichain-following";

// These three continue each other.
let watch: ReturnType<typeof watchStatus>;
let followed: number;

test("chains are backfilled from the archive, then followed, one of them slowly", async () => {
  const { nodes } = world;
  for (const name of chainNames) nodes[name].chain.setHead(heads[name]);
  nodes.base.faults.set({ delayMs: 40 });
  const forArchive = chainNames.map((name) => nodes[name].counts());
  world.start();
  watch = watchStatus(world.url, chainNames);
  const atStart = await fetch(`${world.url}/api/registrar-actions`).catch(() => undefined);
  expect(atStart?.status ?? 503).toBe(503);
  const following = await world.waitForStatus("live indexing", isFollowing);
  expect((await fetch(`${world.url}/api/registrar-actions?limit=1`)).status).toBe(200);
  // ponder: follows the last 30 blocks of a chain that it does not know, and asks for their logs by their hashes. The
  // archive has all others.
  for (const [index, name] of chainNames.entries()) {
    const requests = (method: string) =>
      (nodes[name].counts()[method] ?? 0) - (forArchive[index]?.[method] ?? 0);
    expect(requests("eth_getLogs")).toBeLessThanOrEqual(30);
    // With the newest block, again and again.
    if (name === "root") expect(requests("eth_getBlockByNumber")).toBeLessThan(heads.root / 2);
  }
  followed = following.slowestChainIndexingCursor;
});

test("a chain that stops holds the cursor", async () => {
  const { nodes } = world;
  // The stalled chain holds the cursor: none of the others is indexed beyond its head.
  nodes.root.chain.setHead(lastBlocks.root);
  nodes.linea.chain.setHead(lastBlocks.linea);
  const held = nodes.base.chain.block(heads.base)?.timestamp ?? 0;
  const stopped = await world.waitForStatus(
    "the cursor at the head that does not move",
    ({ slowestChainIndexingCursor }) => slowestChainIndexingCursor >= held,
  );
  expect(stopped.slowestChainIndexingCursor).toBe(held);
  expect(stopped.slowestChainIndexingCursor).toBeGreaterThan(followed);
  expect(stopped.omnichainSnapshot.omnichainStatus).toBe("omnichain-following");
});

test("restarts of a node and of the index leave the status consistent", async () => {
  const { nodes } = world;
  const { port } = nodes.linea;
  await nodes.linea.close();
  nodes.linea = await startNode({ recording: recordingOf("linea"), port });
  await world.stop();
  watch.forget();
  world.start();
  await world.waitForStatus("live indexing again", isFollowing);
  nodes.base.faults.set({ delayMs: 0 });
  nodes.base.chain.setHead(lastBlocks.base);
  for (const name of chainNames) nodes[name].mineBlock({ timestamp: after, transactions: [] });
  await world.waitForStatus(
    "the cursor at the newest blocks",
    ({ slowestChainIndexingCursor }) => slowestChainIndexingCursor >= after,
  );
  await watch.stop();
  expect([...watch.faults]).toEqual([]);
  // Late chains are queued until the cursor passes their start.
  expect(
    watch.seen.some((state) => /-backfill .*queued/.test(state) || /^omnichain-unstarted/.test(state)),
  ).toBe(true);
});

test("lists ENSNode's registrar actions, except for decided differences in names", async () => {
  const found = await listedActions(world.url);
  expect(found).toEqual(
    recordedActions().map(({ action, name }) => ({ action, name: decidedNames.get(name) ?? name })),
  );
  const base = "0xff1e3c0eb00ec714e34b6114125fbde1dea2f24a72fbf672e7b7fd5690328e10";
  const ofBase = found.filter(({ action }) => action.id.includes(chainIds.base));
  expect(await listedActions(world.url, `/${base}`)).toEqual(ofBase);
});

test("the entities of Base, Linea and 3DNS are those of ENSNode", async () => {
  const stored = await readEntities(`${world.url}/subgraph`, entitiesOfL2);
  for (const [type, entities] of Object.entries(entitiesOfL2)) {
    const ids = new Set(entities.map(({ id }) => id));
    const decided = entities.map((entity) => decidedDomain(type, entity));
    expect(byId(stored[type]?.filter(({ id }) => ids.has(id)) ?? []), type).toEqual(byId(decided));
  }
});

type Answer = {
  name: string;
  domainId: string;
  expiresAt: number;
  tokens: {
    token: { assetNamespace: string; contract: { chainId: number; address: string }; tokenId: string };
    ownership: { ownershipType: string; owner: { chainId: number; address: string } };
    mintStatus: string;
  }[];
};

async function ask(domainId: string): Promise<{ status: number; answer?: Answer }> {
  const response = await fetch(`${world.url}/api/name-tokens?domainId=${domainId}`);
  const { registeredNameTokens: answer } = (await response.json()) as { registeredNameTokens?: Answer };
  return { status: response.status, ...(answer ? { answer } : {}) };
}

const flat = ({ tokens }: Answer): Token[] =>
  tokens.map(({ token, ownership, mintStatus }) => [
    token.assetNamespace,
    token.contract.chainId,
    token.contract.address,
    token.tokenId,
    ownership.ownershipType,
    ownership.owner.address,
    mintStatus,
  ]);

// ENSNode lists tokens in no order, treats tokens that a later registration left in the wrapper as owned, and lacks
// Linea's wrapper.
function decidedTokens(tokens: Token[]): Token[] {
  const isWrapped = tokens.some(([, , , , type]) => type === "namewrapper");
  return tokens
    .map(
      (token): Token =>
        token[0] === "erc1155" && token[4] === "fully-onchain" && !isWrapped
          ? [token[0], token[1], token[2], token[3], "unknown", token[5], token[6]]
          : token,
    )
    .sort();
}

/**
 * Of a name's tokens at most one is owned on the chain, in the wrapper only beside the one that the wrapper holds; what
 * is burned says so.
 */
function expectGuarantees(tokens: Token[]) {
  const count = (wanted: string) => tokens.filter(([, , , , type]) => type === wanted).length;
  expect(tokens.every(([, , , , type, , status]) => (type === "burned") === (status === "burned"))).toBe(
    true,
  );
  expect(count("fully-onchain")).toBeLessThanOrEqual(1);
  if (count("namewrapper") > 0) expect(count("fully-onchain") + count("unknown")).toBeGreaterThan(0);
}

test("returns ENSNode's tokens for every name of three chains, except for decided differences, and keeps its guarantees", async () => {
  const differences: unknown[] = [];
  for (const { domainId, name, expiresAt, tokens } of given.nameTokens) {
    const { status, answer } = await ask(domainId);
    const found = answer && flat(answer).filter(([, , contract]) => contract !== lineaWrapper);
    const expected = tokens && decidedTokens(tokens);
    const isSame =
      status === (tokens ? 200 : 404) &&
      answer?.expiresAt === expiresAt &&
      JSON.stringify(found?.sort()) === JSON.stringify(expected) &&
      (answer === undefined || namehash(answer.name) === domainId);
    if (!isSame) differences.push([name, status, found, expected]);
    expectGuarantees(answer === undefined ? [] : flat(answer));
  }
  expect(differences).toEqual([]);
  expect(given.nameTokens).toHaveLength(929);
});

test("lists every sale once, newest first", async () => {
  type Listed = Pick<Sale, "id" | "buyer" | "seller"> & {
    domainId: string;
    price: { currency: string; amount: string };
    token: Answer["tokens"][number]["token"];
    block: { timestamp: number };
  };
  const read = async (path: string) => ({ body: await (await fetch(`${world.url}${path}`)).json() });
  const sales = await allPages<Listed>(read, "/api/name-sales", "nameSales");
  const times = sales.map(({ block }) => block.timestamp);
  expect(times).toEqual([...times].sort((a, b) => b - a));
  const rows = sales.map(({ id, domainId, buyer, seller, price, token }) => ({
    id,
    domain_id: domainId,
    buyer,
    seller,
    ...price,
    asset_id: `eip155:${token.contract.chainId}/${token.assetNamespace}:${token.contract.address}/${token.tokenId}`,
  }));
  const inOrder = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  expect(rows.sort(inOrder)).toEqual([...given.nameSales].sort(inOrder));
});
