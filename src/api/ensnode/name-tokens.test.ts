import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase } from "../../../test/support/database.ts";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { createDatabase } from "../../read/sql/client.ts";
import { nameSales, namesContext, nameTokens } from "./name-tokens.ts";

const node = "0x18770adb54fb7af86b6740f0e43e0e4ca5bd33cf0cf28a5cd047ae8690a84c0f";
const labelhash = "0x87b9f9a8ed34ff2f2df4e85e103a290dc5328443160a49233018a09d1fb34a11";
const registrar = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
const user = "0x2c7d9e1f4b6a8035d7c9e1f3a5b7092846c8eaf0";
const zero = `0x${"0".repeat(40)}`;

const client = await createTestDatabase("indexes");
afterAll(() => client.close());

function endpoint({
  plugins = ["subgraph", "registrars", "tokenscope"],
  status = "omnichain-following",
  inactiveNames = [] as { managedName: string; plugin: string }[],
} = {}) {
  const context = {
    database: createDatabase(client),
    status: { current: () => (status === "" ? undefined : currentStatus(status)) },
    plugins,
    ensv2: undefined,
    subregistries: [{ namesPlugin: "subgraph" }, { namesPlugin: "basenames" }],
    names: {
      managedNames: ["eth", "base.eth"],
      inactiveNames,
      rootManagedName: "eth",
      nameWrappers: [{ chainId: 1, address: wrapper } as const],
    },
  };
  const { ask } = openEndpoints([nameTokens, nameSales], context);
  const read = async (path: string) => {
    const { status, body } = await ask(path);
    return [status, body] as const;
  };
  return {
    tokens: (query: string) => read(`/api/name-tokens${query}`),
    sales: (query: string) => read(`/api/name-sales${query}`),
  };
}

async function store({ name, owner, wrapped }: { name: string; owner: string; wrapped?: string }) {
  for (const table of ["domain", "registration_lifecycles", "name_tokens"])
    await client.exec(`DELETE FROM ${table}`);
  await client.query(
    "INSERT INTO domain (id, name, subdomain_count, is_migrated, created_at, owner_id, change_block) VALUES ($1, $2, 0, true, 0, $3, 1)",
    [node, name, zero],
  );
  await client.query(
    "INSERT INTO registration_lifecycles (node, subregistry_id, expires_at) VALUES ($1, 'eip155:1:0x', 1796936159)",
    [node],
  );
  const insert = (...[id, contract, token, namespace, holder, seen]: string[]) => {
    const values = [id, node, contract, String(BigInt(token!)), namespace, holder, "minted", seen];
    return client.query("INSERT INTO name_tokens VALUES ($1, $2, 1, $3, $4, $5, $6, $7, $8)", values);
  };
  // The wrapper's row is stored first, but was seen second.
  if (wrapped !== undefined) await insert("a", wrapper, node, "erc1155", wrapped, "2");
  await insert("b", registrar, labelhash, "erc721", owner, "1");
}

const token = (namespace: "erc721" | "erc1155", ownershipType: string, owner: string) => ({
  token: {
    assetNamespace: namespace,
    contract: { chainId: 1, address: namespace === "erc721" ? registrar : wrapper },
    tokenId: namespace === "erc721" ? labelhash : node,
  },
  ownership: { ownershipType, owner: { chainId: 1, address: owner } },
  mintStatus: "minted",
});

// Tokens that were burned, or left behind in the wrapper: chains.test.ts compares them with ENSNode's.
describe("tokens of a name", () => {
  test.each([
    [
      "wrapped",
      "moonlamp.eth",
      wrapper,
      user,
      [token("erc721", "namewrapper", wrapper), token("erc1155", "fully-onchain", user)],
    ],
    ["behind a gateway", "moonlamp.base.eth", user, undefined, [token("erc721", "unknown", user)]],
  ])("%s", async (_, name, owner, wrapped, tokens) => {
    await store({ name, owner, ...(wrapped === undefined ? {} : { wrapped }) });
    const expected = {
      responseCode: "ok",
      registeredNameTokens: { domainId: node, name, tokens, expiresAt: 1796936159, accurateAsOf: 1768400395 },
    };
    expect(await endpoint().tokens(`?domainId=${node}`)).toEqual([200, expected]);
    expect(await endpoint().tokens(`?domainId=0x${node.slice(2).toUpperCase()}`)).toEqual([200, expected]);
  });
});

describe("responses without tokens", () => {
  test.each([
    ["?name=", "The root has no tokens."],
    [
      "?name=pay.moonlamp.eth",
      'Tokens of direct subnames of "moonlamp.eth" are not indexed by this instance; those of "eth", "base.eth" are.',
    ],
    ["?name=nobody.eth", "No token of nobody.eth was seen on the indexed chains."],
  ])("%s", async (query, details) => {
    expect(await endpoint().tokens(query)).toEqual([
      404,
      {
        responseCode: "error",
        errorCode: "name-tokens-not-indexed",
        error: { message: "No indexed tokens for this name", details },
      },
    ]);
  });

  test.each([
    ["?name=nobody.linea.eth", 'Names below "linea.eth" are not indexed: plugin lineanames is not active.'],
    [
      `?domainId=0x${"12".repeat(32)}`,
      `No token of 0x${"12".repeat(32)} was seen on the indexed chains. Names below "linea.eth" are not indexed: plugin lineanames is not active.`,
    ],
  ])("%s, where a plugin is not active", async (query, details) => {
    const inactiveNames = [{ managedName: "linea.eth", plugin: "lineanames" }];
    const [status, { error }] = await endpoint({ inactiveNames }).tokens(query);
    expect([status, error.details]).toEqual([404, details]);
  });

  test("the names that are not indexed follow from the plugins", () => {
    const { managedNames, inactiveNames } = namesContext(namespaces.mainnet, [
      "registrars",
      "tokenscope",
      "basenames",
    ]);
    expect(managedNames).toEqual(["base.eth"]);
    expect(inactiveNames).toEqual([
      { managedName: "eth", plugin: "subgraph" },
      { managedName: "linea.eth", plugin: "lineanames" },
    ]);
  });

  test.each([
    [
      { plugins: ["registrars", "tokenscope"] },
      "unsupported-nsindexer-config",
      "Needed plugins: registrars, tokenscope, subgraph or basenames. Not active: subgraph or basenames.",
    ],
    [{ status: "omnichain-backfill" }, "unsupported-indexing-status", "it is omnichain-backfill"],
  ])("503 before the request is checked: %o", async (options, errorCode, part) => {
    const [status, body] = await endpoint(options).tokens("?name=X");
    expect([status, body.errorCode]).toEqual([503, errorCode]);
    expect(body.error.details).toContain(part);
  });

  test.each([
    ["", [], "Give exactly one of domainId and name"],
    [`?domainId=${node}&name=moonlamp.eth`, [], "Give exactly one of domainId and name"],
    ["?name=Moonlamp.ETH", ["name"], 'name must be normalized (ENSIP-15): write "moonlamp.eth" instead'],
    [
      "?name=[4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0]",
      ["name"],
      "name must not hold labels in the form [labelhash]; the node of this name is 0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
    ],
  ])("400 with the reason: %s", async (query, fields, message) => {
    const [status, body] = await endpoint().tokens(query);
    const details = { errors: [message] };
    const [field] = fields;
    expect([status, body]).toEqual([
      400,
      {
        message: "Invalid Input",
        details: field === undefined ? details : { errors: [], properties: { [field]: details } },
      },
    ]);
  });
});

describe("sales", () => {
  beforeAll(async () => {
    await client.query(
      `INSERT INTO name_sales SELECT '1-' || i || '-3', 1, i, 3, decode(repeat('aa', 32), 'hex'), decode(repeat('bb', 32), 'hex'), $1, 5, 'erc721', 'x',
        CASE i % 2 WHEN 0 THEN $2 ELSE '0x' || repeat('9', 64) END, $3, $4, 'USDC', 1000, 1700000000 + i FROM generate_series(1, 25) i`,
      [registrar, node, user, wrapper],
    );
    await store({ name: "moonlamp.eth", owner: user });
  });

  const idsOf = (body: { nameSales: { id: string }[] }) => body.nameSales.map(({ id }) => id);

  test("newest first, page by page", async () => {
    const [status, body] = await endpoint().sales("?recordsPerPage=10&page=3");
    expect([status, idsOf(body)]).toEqual([200, ["1-5-3", "1-4-3", "1-3-3", "1-2-3", "1-1-3"]]);
    expect(body.pageContext).toEqual({
      page: 3,
      recordsPerPage: 10,
      totalRecords: 25,
      totalPages: 3,
      hasNext: false,
      hasPrev: true,
      startIndex: 20,
      endIndex: 24,
    });
  });

  test.each([`?domainId=${node}&limit=1`, "?name=moonlamp.eth&limit=1"])("of one name: %s", async (query) => {
    const [status, body] = await endpoint().sales(query);
    expect([status, body.pageContext.totalRecords]).toEqual([200, 12]);
    expect(body.nameSales).toEqual([
      {
        id: "1-24-3",
        domainId: node,
        name: "moonlamp.eth",
        token: {
          assetNamespace: "erc721",
          contract: { chainId: 1, address: registrar },
          tokenId: `0x${"5".padStart(64, "0")}`,
        },
        seller: wrapper,
        buyer: user,
        price: { currency: "USDC", amount: "1000" },
        block: { timestamp: 1_700_000_024, number: 24 },
        transactionHash: `0x${"aa".repeat(32)}`,
        orderHash: `0x${"bb".repeat(32)}`,
      },
    ]);
  });

  test("by domainId or name, not both", async () => {
    expect((await endpoint().sales(`?domainId=${node}&name=x`))[0]).toBe(400);
  });
});
