import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAddresses } from "../../devnet/recording.ts";
import { nodeOfName } from "../../src/ens/names.ts";
import {
  type ChainsWorld,
  chainIds,
  datasourcesFile,
  lastBlocks,
  startChainsWorld,
} from "../support/chains-world.ts";

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

// What ENSNode answers for every name of the recordings, and its table of sales.
const fixture = fileURLToPath(new URL("../fixtures/name-tokens.json.gz", import.meta.url));
const given = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as {
  nameTokens: Given[];
  nameSales: Sale[];
};
const lineaWrapper = "0xe4eb561155afce723bb1ff8606fbfe9b28d5d38d";

const plugins = "subgraph,basenames,lineanames,threedns,protocol-acceleration,registrars,tokenscope";
const recording = fileURLToPath(new URL("../../devnet/recording/a", import.meta.url));

let folder: string;
let world: ChainsWorld;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "name-tokens-"));
  const file = join(folder, "datasources.json");
  writeFileSync(file, withMarket());
  world = await startChainsWorld({ environment: { PLUGINS: plugins, DATASOURCES_FILE: file } });
  world.start();
  await world.waitForStatus(
    "the end of the recordings",
    ({ omnichainSnapshot }) => omnichainSnapshot.omnichainStatus === "omnichain-completed",
  );
}, 200_000);

afterAll(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

// The recordings as they are, each to its end, with the marketplace and the currency that it is paid in.
function withMarket(): string {
  const { root, base, linea } = lastBlocks;
  const ranges = { root: { endBlock: root }, base: { endBlock: base }, linea: { endBlock: linea } };
  const table = JSON.parse(datasourcesFile(ranges)) as { "ens-test-env": Record<string, object> };
  const { Seaport, TestUSDC } = readAddresses(recording);
  const contracts = {
    Seaport1_5: { address: Seaport, startBlock: 0, endBlock: root },
    USDC: { address: TestUSDC },
  };
  const reverse = { DefaultReverseRegistrar: { endBlock: root } };
  const market = {
    seaport: { [chainIds.root]: { contracts } },
    rrRoot: { [chainIds.root]: { contracts: reverse } },
  };
  return JSON.stringify({ "ens-test-env": { ...table["ens-test-env"], ...market } });
}

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

// ENSNode lists tokens in no order, calls what a later registration left behind in the wrapper owned, and lacks Linea's wrapper.
function decided(tokens: Token[]): Token[] {
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

test("answers what ENSNode answers for every name of three chains, save what was decided otherwise", async () => {
  const differences: unknown[] = [];
  for (const { domainId, name, expiresAt, tokens } of given.nameTokens) {
    const { status, answer } = await ask(domainId);
    const found = answer && flat(answer).filter(([, , contract]) => contract !== lineaWrapper);
    const expected = tokens && decided(tokens);
    const isSame =
      status === (tokens ? 200 : 404) &&
      answer?.expiresAt === expiresAt &&
      JSON.stringify(found?.sort()) === JSON.stringify(expected) &&
      (answer === undefined || nodeOfName(answer.name) === domainId);
    if (!isSame) differences.push([name, status, found, expected]);
  }
  expect(differences).toEqual([]);
  expect(given.nameTokens).toHaveLength(929);
});

test("every answer keeps the guarantees on ownership", async () => {
  for (const { domainId, tokens } of given.nameTokens) {
    if (tokens === undefined) continue;
    const types = flat((await ask(domainId)).answer!).map(([, , , , type, , status]) => [type, status]);
    const count = (wanted: string) => types.filter(([type]) => type === wanted).length;
    expect(types.every(([type, status]) => (type === "burned") === (status === "burned"))).toBe(true);
    expect(count("fully-onchain")).toBeLessThanOrEqual(1);
    if (count("namewrapper") > 0) expect(count("fully-onchain") + count("unknown")).toBeGreaterThan(0);
  }
});

test("tells every sale once, newest first", async () => {
  type Page = {
    nameSales: {
      id: string;
      domainId: string;
      buyer: string;
      seller: string;
      price: { currency: string; amount: string };
      token: { assetNamespace: string; contract: { chainId: number; address: string }; tokenId: string };
      block: { timestamp: number };
    }[];
    pageContext: { hasNext: boolean; totalRecords: number };
  };
  const sales: Page["nameSales"] = [];
  for (let page = 1; ; page += 1) {
    const response = await fetch(`${world.url}/api/name-sales?recordsPerPage=20&page=${page}`);
    const { nameSales, pageContext } = (await response.json()) as Page;
    sales.push(...nameSales);
    expect(pageContext.totalRecords).toBe(given.nameSales.length);
    if (!pageContext.hasNext) break;
  }
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
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  expect(rows.sort(byId)).toEqual([...given.nameSales].sort(byId));
});
