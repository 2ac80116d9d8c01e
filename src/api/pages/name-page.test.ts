import type { PGlite } from "@electric-sql/pglite";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTables } from "../../../test/support/database.ts";
import { currentStatus } from "../../../test/support/endpoints.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { createDatabase } from "../database/client.ts";
import { createNamesSource } from "../names/lookups.ts";
import { placesOf } from "../names/places.ts";
import { nameRoutes } from "./name-page.ts";

// Nodes and labelhashes are those of ENSIP-1, computed with ensjs.
const vitalik = "0xee6c4522aab0003e8d14cd40a6af439055fd2577951148c14b6cea9a53475835";
const eth = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const owner = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045";
const other = "0x2c7d9e1f4b6a8035d7c9e1f3a5b7092846c8eaf0";
const transaction = `0x${"7e".repeat(32)}`;
const now = 1_768_400_395;
const grace = 90 * 86_400;

let client: PGlite;
let statements = 0;

async function insert(table: string, row: Record<string, unknown>) {
  const places = Object.keys(row).map((_, place) => `$${place + 1}`);
  await client.query(
    `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${places.join(", ")})`,
    Object.values(row),
  );
}

const domain = (id: string, name: string | null, more: object = {}) =>
  insert("domain", {
    id,
    name,
    parent_id: eth,
    subdomain_count: 0,
    is_migrated: true,
    created_at: 1_700_000_000,
    owner_id: owner,
    change_block: 1,
    ...more,
  });

beforeAll(async () => {
  client = await createTables();
  const resolver = `0x${"ab".repeat(20)}-${vitalik}`;
  await domain(vitalik, "vitalik.eth", {
    registrant_id: owner,
    resolver_id: resolver,
    resolved_address_id: other,
    expiry_date: now - 1_000 + grace,
    subdomain_count: 40,
  });
  await insert("registration", {
    id: vitalik,
    domain_id: vitalik,
    registration_date: 1_600_000_000,
    expiry_date: now - 1_000,
    registrant_id: owner,
    change_block: 1,
  });
  await insert("resolver", {
    id: resolver,
    domain_id: vitalik,
    address: `0x${"ab".repeat(20)}`,
    addr_id: other,
    texts: ["url", "<script>alert(1)</script>"],
    coin_types: [60],
    change_block: 1,
  });
  const event = { transaction_id: transaction, resolver_id: resolver };
  const texts = [
    { id: "9-1", block_number: 9, key: "url", value: "https://old.example" },
    { id: "10-2", block_number: 10, key: "url", value: "https://older-in-the-block.example" },
    { id: "10-11", block_number: 10, key: "url", value: "https://new.example" },
    { id: "10-12", block_number: 10, key: "cleared", value: "of a former version" },
    { id: "11-0", block_number: 11, key: "<script>alert(1)</script>", value: "\u202e<b>\u0007" },
  ];
  for (const { id, ...row } of texts) {
    const place = { timestamp: 1_700_000_000 + row.block_number, log_index: Number(id.split("-")[1]) };
    await insert("resolver_event", { ...event, id, type: "TextChanged", ...row, ...place });
  }
  await insert("domain_event", {
    id: "8-1",
    type: "Transfer",
    block_number: 8,
    timestamp: 1_800_000_000,
    log_index: 1,
    transaction_id: transaction,
    domain_id: vitalik,
    owner_id: other,
  });
  for (let i = 0; i < 40; i++)
    await domain(`0x${String(i).padStart(64, "0")}`, `sub${i}.vitalik.eth`, { parent_id: vitalik });
  await domain(`0x${"f1".repeat(32)}`, `${"x".repeat(10_000)}.eth`, {
    parent_id: vitalik,
    created_at: 1_800_000_000,
  });
  await domain(`0x${"f2".repeat(32)}`, "<img src=x onerror=alert(1)>.eth", {
    parent_id: vitalik,
    created_at: 1_800_000_001,
  });
  await domain(`0x${"f3".repeat(32)}`, "a\u202eb\u0000c\n.eth".replaceAll("\0", ""), {
    parent_id: vitalik,
    created_at: 1_800_000_002,
  });
  await insert("name_tokens", {
    id: "token",
    domain_id: vitalik,
    chain_id: 1,
    contract_address: `0x${"cd".repeat(20)}`,
    token_id: 1,
    asset_namespace: "erc721",
    owner,
    mint_status: "minted",
    first_seen: "1",
  });
  await insert("registrar_actions", {
    id: "1",
    type: "renewal",
    subregistry_id: "eip155:1:0x",
    node: vitalik,
    incremental_duration: 1,
    total: "123456789012345678901234567890",
    registrant: owner,
    block_number: 1,
    timestamp: 1_700_000_000,
    transaction_hash: transaction,
    event_ids: [],
  });
});
afterAll(() => client.close());

function pages({ status = "omnichain-following", isSubgraphCompatible = false, hasSubgraph = true } = {}) {
  const database = createDatabase(client);
  const places = placesOf(namespaces.mainnet, ["subgraph"]);
  const links = hasSubgraph ? ([["/subgraph", "GraphiQL"]] as const) : [];
  const app = new Hono().route(
    "/",
    nameRoutes(
      {
        config: { isSubgraphCompatible },
        plugins: ["subgraph"],
        database: {
          row: (...statement) => {
            statements += 1;
            return database.row(...statement);
          },
        },
        status: { current: () => (status === "" ? undefined : currentStatus(status)) },
        clock: () => now * 1_000,
        lookup: createNamesSource({ database, places, hasRecords: false }),
      },
      { assets: "/assets", links },
    ),
  );
  return async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

describe("the page of a name", () => {
  test("shows owner, expiry with grace, tokens, newest records, history and subnames", async () => {
    statements = 0;
    const { status, text, headers } = await pages()("/name/vitalik.eth");
    expect([status, statements]).toEqual([200, 1]);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    const headings = [...text.matchAll(/<h([12])>(.*?)<\/h/g)].map(
      ([, level, heading]) => `${level} ${heading}`,
    );
    expect(headings).toEqual([
      "1 <bdi>vitalik.eth</bdi>",
      "2 Ownership",
      "2 Tokens",
      "2 Records",
      "2 Registrations and renewals",
      "2 History",
      "2 Subnames",
    ]);
    expect(text).toContain(`<dt>Owner</dt><dd><a href="/address/${owner}">`);
    expect(text).toContain("can be renewed until");
    expect(text).toContain("2026-04-14 14:03 UTC");
    expect(text).toContain("https://new.example");
    expect(text).not.toContain("https://old");
    expect(text).not.toContain("of a former version");
    expect(text).toContain("123456789012345678901234567890");
    expect(text).toContain(transaction);
    // Bounded: 30 of 43.
    expect(text.match(/sub\d+\.vitalik\.eth<\/bdi>/g)).toHaveLength(27);
  });

  test("lists events by time, whatever chain they are on", async () => {
    const { text } = await pages()("/name/vitalik.eth");
    const [, history = ""] = />History<\/h2>(.*?)<\/section>/s.exec(text) ?? [];
    const rows = [...history.matchAll(/<tr><th scope="row">(.*?)<\/tr>/gs)].map(([, row = ""]) =>
      row
        .replace(/<[^>]*>/g, " ")
        .trim()
        .split(/\s+/)
        .slice(0, 5)
        .join(" "),
    );
    expect(rows).toEqual([
      "Transfer 2027-01-15 08:00 UTC 8",
      ...[11, 10, 10, 10, 9].map((block) => `TextChanged 2023-11-14 22:13 UTC ${block}`),
    ]);
    expect(history.indexOf("cleared")).toBeLessThan(history.indexOf("url"));
  });

  test("escapes and cuts what comes from the chain", async () => {
    const { text } = await pages()("/name/vitalik.eth");
    expect(text).not.toMatch(/<script>alert|<img|<b>/);
    expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(text).not.toMatch(/[\u202e\u0007]/);
    expect(text).toContain("\\u202e&lt;b&gt;\\u0007");
    expect(text).not.toContain("x".repeat(200));
    // Such names are found by their nodes.
    for (const node of ["f1", "f2", "f3"]) expect(text).toContain(`href="/name/0x${node.repeat(32)}"`);
  });

  test("shows for each block how to ask for it", async () => {
    const { text } = await pages()("/name/vitalik.eth");
    expect(text).toContain(`<pre>/api/name-tokens?domainId=${vitalik}</pre>`);
    expect(text).toContain(`where: { parent: &quot;${vitalik}&quot; }`);
    expect(text).toContain("/subgraph?query=");
    const without = await pages({ hasSubgraph: false })("/name/vitalik.eth");
    expect(without.text).not.toContain("GraphQL");
  });

  test("is found by its node, and by encoded labels", async () => {
    const encoded = "[af2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc].eth";
    for (const name of [vitalik, `0x${vitalik.slice(2).toUpperCase()}`, encodeURIComponent(encoded)]) {
      const { status, text } = await pages()(`/name/${name}`);
      expect([name, status]).toEqual([name, 200]);
      expect(text).toContain(`<code class="hash">${vitalik}</code>`);
    }
  });

  test.each([
    ["a..eth", "empty label"],
    ["Vitalik.eth", "Write vitalik.eth instead"],
    ["a%20b.eth", "cannot be normalized"],
    [`${"y".repeat(1_001)}.eth`, "more than 1,000 characters"],
    ["%E0%A4%A", "percent-encoded"],
    ["%00.eth", "cannot be normalized"],
    ["a%E2%80%AEb.eth", "cannot be normalized"],
    ["%3Cscript%3Ealert(1)%3C%2Fscript%3E.eth", "cannot be normalized"],
  ])("%s is refused with the reason", async (name, reason) => {
    const { status, text } = await pages()(`/name/${name}`);
    expect(status).toBe(400);
    expect(text).toContain(reason);
    expect(text).not.toMatch(/<script>alert|[\u202e\0]/);
  });

  test("unknown names are a page with 404 and the node", async () => {
    const { status, text } = await pages()("/name/nobody.eth");
    expect(status).toBe(404);
    expect(text).toContain("The index does not have this name. Its node is 0x");
  });

  test("a name of which only a token was indexed has a page, as without a plugin of names", async () => {
    const node = "0x787192fc5378cc32aa956ddfdedbf26b24e8d78e40109add0eea2c1a012c3dec"; // namehash("alice.eth")
    await insert("name_tokens", {
      id: "other",
      domain_id: node,
      chain_id: 1,
      contract_address: `0x${"cd".repeat(20)}`,
      token_id: 2,
      asset_namespace: "erc721",
      owner,
      mint_status: "minted",
      first_seen: "1",
    });
    for (const name of ["alice.eth", node]) {
      const { status, text } = await pages({ hasSubgraph: false })(`/name/${name}`);
      expect(status).toBe(200);
      const headings = [...text.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, heading]) => heading);
      expect(headings).toEqual(["Ownership", "Tokens"]);
    }
  });

  test("names are taken literally in subgraph mode", async () => {
    const ask = pages({ isSubgraphCompatible: true });
    expect((await ask("/name/Vitalik.eth")).status).toBe(404);
    expect((await ask("/name/%3Cscript%3E.eth")).text).toContain("<bdi>&lt;script&gt;.eth</bdi>");
    expect((await ask("/name/a..eth")).status).toBe(400);
  });

  test.each(["", "omnichain-backfill"])("waits for the end of the backfill (%s)", async (status) => {
    expect((await pages({ status })("/name/vitalik.eth")).status).toBe(503);
  });
});

test("the page of a name says who holds it by the rules of /v1: nobody whose wrapper entry has lapsed", async () => {
  const node = `0x${"1a".repeat(32)}`;
  const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
  await domain(node, "lapsed.vitalik.eth", {
    parent_id: vitalik,
    owner_id: wrapper,
    wrapped_owner_id: other,
  });
  await insert("wrapped_domain", {
    id: node,
    domain_id: node,
    expiry_date: now - 1,
    fuses: 65_536,
    owner_id: other,
    change_block: 1,
  });
  const { text } = await pages()(`/name/${node}`);
  await client.query("DELETE FROM domain WHERE id = $1", [node]);
  expect(text).toContain("<dt>Status</dt><dd>released</dd>");
  expect(text).toContain(`<dt>Owner of the wrapper&#39;s token</dt><dd><a href="/address/${other}">`);
  expect(text).not.toContain("<dt>Owner</dt>");
  expect(text).not.toContain("<dt>Manager</dt>");
});

describe("the page of an address", () => {
  test("lists names by role, by one statement", async () => {
    statements = 0;
    const { status, text } = await pages()("/address/0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045");
    expect([status, statements]).toEqual([200, 1]);
    const headings = [...text.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, heading]) => heading);
    expect(headings).toEqual([
      "Manager",
      "Owner of the registrar&#39;s token",
      "Name tokens",
      "Registered or renewed",
    ]);
    expect(text).toContain('<a href="/name/vitalik.eth">');
    expect(text).toContain(`domains(first: 30, where: { registrant: &quot;${owner}&quot; })`);
    const resolved = await pages()(`/address/${other}`);
    expect(resolved.text).toContain("<h2>Names that resolve to it</h2>");
  });

  test.each(["0x1", "vitalik.eth", "0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "%E0%A4%A", "%3Cscript%3E"])(
    "%s is refused",
    async (address) => {
      const { status, text } = await pages()(`/address/${address}`);
      expect(status).toBe(400);
      expect(text).not.toContain("<script>");
    },
  );

  test("an address without names has a page that says so", async () => {
    const { status, text } = await pages()(`/address/0x${"0".repeat(39)}1`);
    expect(status).toBe(200);
    expect(text).toContain("The index has no name of this address.");
  });
});

test("the form leads to a name or an address", async () => {
  const lead = async (text: string) => {
    const { status, headers } = await pages()(`/name?name=${encodeURIComponent(text)}`);
    return [status, headers.get("location")];
  };
  expect(await lead(" vitalik.eth ")).toEqual([302, "/name/vitalik.eth"]);
  expect(await lead(owner)).toEqual([302, `/address/${owner}`]);
  expect(await lead("a/../b?c#d")).toEqual([302, "/name/a%2F..%2Fb%3Fc%23d"]);
});
