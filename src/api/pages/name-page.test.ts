import { describe, expect, test } from "vitest";
import { alice, bob, createStoredNames, day, now } from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";
import { valuesOf } from "./layout.ts";
import { nameRoutes } from "./name-page.ts";

const { insert, store, setRecords, fetch } = await createStoredNames();

const script = "<script>alert(1)</script>";
const node = namehash("records.eth");
const resolver = `0x${"ab".repeat(20)}`;
await store("hostile.eth", { owner: bob, lease: { holder: bob, expires: now + day }, resolver });
await setRecords("hostile.eth", { resolver, texts: { [script]: "\u202e<b>\u0007" } });
for (let i = 0; i < 40; i++) await store(`sub${i}.hostile.eth`, {});
const strange = ["x".repeat(10_000), "<img src=x onerror=alert(1)>", "a\u202eb\n"];
for (const label of strange) await store(`${label}.hostile.eth`, {});
await insert("domain_event", {
  id: "8-1",
  type: "Transfer",
  block_number: 8,
  timestamp: 1_800_000_000,
  log_index: 1,
  transaction_id: `0x${"7e".repeat(32)}`,
  domain_id: node,
  owner_id: alice,
});

// What the plugins of registrars and tokens add is asked of other endpoints.
const action = {
  name: "records.eth",
  action: {
    type: "renewal",
    registrant: bob,
    block: { timestamp: 1_700_000_000 },
    pricing: { total: { amount: "123456789012345678901234567890", currency: "ETH" } },
    registrationLifecycle: { node },
    transactionHash: `0x${"7f".repeat(32)}`,
  },
};

function pages(others: Readonly<Record<string, unknown>> = {}) {
  const app = nameRoutes(
    {
      ask: async (path) => {
        const [start = ""] = path.split("?");
        if (!path.startsWith("/v1/"))
          return start in others ? { status: 200, body: others[start] } : { status: 503, body: {} };
        const response = await fetch(path);
        const keys = response.headers.get("cache-tag")?.split(",");
        return { status: response.status, body: await response.json(), keys };
      },
    },
    { assets: "/assets", links: [] },
  );
  return async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}
const headingsIn = (text: string) => [...text.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, heading]) => heading);

describe("the page of a name", () => {
  test("shows who holds it, its records, actions, history and subnames, each with its endpoint", async () => {
    const ask = pages({ "/api/registrar-actions": { registrarActions: [action] } });
    const { status, text, headers } = await ask("/name/records.eth");
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    expect(headingsIn(text)).toEqual(["Ownership", "Records", "Registrations and renewals", "History"]);
    expect(text).toContain(`<dt>Owner</dt><dd><a href="/address/${bob}">`);
    expect(text).toContain("<dt>End of the grace period</dt>");
    expect(text).toContain("https://ens.domains");
    expect(text).toContain("123456789012345678901234567890");
    expect(text).toContain(action.action.transactionHash);
    expect(text).toContain("2027-01-15 08:00 UTC");
    expect(text).toContain(`<pre>/v1/names/${node}/records</pre>`);
  });

  test("has 30 rows of a list at most", async () => {
    const { text } = await pages()("/name/hostile.eth");
    expect(text).toContain("Subnames: 30 of them");
    expect(text.match(/<th scope="row"><a href="\/name\//g)).toHaveLength(30);
  });

  test("escapes and cuts what comes from the chain", async () => {
    const ask = pages();
    const shown = [
      await ask("/name/hostile.eth"),
      await ask(`/name/${namehash(`${strange[2]}.hostile.eth`)}`),
    ];
    const text = shown.map((one) => one.text).join();
    expect(text).not.toMatch(/<script>alert|<img|<b>|[\u202e\u0007]/);
    expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(text).toContain("\\u202e&lt;b&gt;\\u0007");
    expect(text).not.toContain("x".repeat(200));
  });

  test.each([node, `0x${node.slice(2).toUpperCase()}`, "Records.eth", `%5B${"0".repeat(64)}%5D.eth`])(
    "%s is what /v1 takes it for",
    async (name) => {
      const { status, text } = await pages()(`/name/${name}`);
      const response = await fetch(`/v1/names/${name}`);
      expect(status).toBe(response.status);
      if (status === 200) expect(text).toContain(`<code class="hash">${node}</code>`);
    },
  );

  test.each([
    ["a..eth", 400, "empty label"],
    ["a%20b.eth", 400, "The name is invalid"],
    [`${"y".repeat(2_001)}.eth`, 400, "more than 2,000 bytes"],
    ["%E0%A4%A", 400, "The name is invalid"],
    ["%00.eth", 400, "The name is invalid"],
    ["a%E2%80%AEb.eth", 400, "The name is invalid"],
    ["%3Cscript%3Ealert(1)%3C%2Fscript%3E.eth", 400, "The name is invalid"],
    ["nobody.eth", 404, "The index never saw this name"],
  ])("%s is refused with the reason", async (name, code, reason) => {
    const { status, text } = await pages()(`/name/${name}`);
    expect(status).toBe(code);
    expect(text).toContain(reason);
    expect(text).not.toMatch(/<script>alert|[\u202e\0]/);
  });
});

describe("the page of an address", () => {
  test("lists names by relation", async () => {
    const ask = pages({ "/api/registrar-actions": { registrarActions: [action] } });
    const { status, text } = await ask(`/address/${alice.toUpperCase().replace("X", "x")}`);
    expect(status).toBe(200);
    expect(headingsIn(text)).toEqual([
      "Names",
      "Names that it held until they ended",
      "Registered or renewed",
      "History",
    ]);
    expect(text).toContain('<a href="/name/plain.eth">');
    expect((await ask(`/address/${bob}`)).text).toContain("<h2>Primary name</h2>");
  });

  test.each(["0x1", "vitalik.eth", "%E0%A4%A", "%3Cscript%3E"])("%s is refused", async (address) => {
    const { status, text } = await pages()(`/address/${address}`);
    expect(status).toBe(400);
    expect(text).not.toContain("<script>");
  });

  test("an address without names has a page that says so", async () => {
    const { status, text } = await pages()(`/address/0x${"0".repeat(39)}1`);
    expect(status).toBe(200);
    expect(text).toContain("The index has no name of this address.");
  });
});

test("what an event changed is said in words", () => {
  const data = { action: "set", resolver: { chain_id: 1, address: "0xab" }, powers: ["a", "b"], cost: null };
  const [[title, value] = []] = valuesOf({ data }, "With=data:details");
  expect([title, String(value)]).toEqual([
    "With",
    "<bdi>action set, resolver (chain_id 1, address 0xab), powers a b</bdi>",
  ]);
});

test("the page of a name has the keys of the responses that it shows, also where there is none", async () => {
  const get = pages();
  const keysOf = async (path: string) => (await get(path)).headers.get("surrogate-key")?.split(" ").sort();
  const keys = [`name:${node}`, `name:${namehash("eth")}`, `subnames:${node}`];
  expect(await keysOf("/name/records.eth")).toEqual(keys.sort());
  expect(await keysOf("/name/nobody.eth")).toEqual(
    [`name:${namehash("nobody.eth")}`, `name:${namehash("eth")}`].sort(),
  );
  const ofAlice = [`address:${alice}`, `name:${namehash(`${alice.slice(2)}.addr.reverse`)}`];
  expect(await keysOf(`/address/${alice}`)).toEqual(ofAlice);
});
