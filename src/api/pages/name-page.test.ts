import { describe, expect, test } from "vitest";
import {
  alice,
  bob,
  carol,
  createStoredNames,
  day,
  now,
  publicResolver,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";
import { HttpError } from "../../http/error.ts";
import type { Log } from "../../log/json-log.ts";
import { type BodyOf, buildLink, callEndpoint } from "../kit/endpoint.ts";
import type { PageContext, PageSources } from "./ask.ts";
import { crawlerRoutes } from "./crawlers.ts";
import { createFrame } from "./frame.ts";
import { nameRoutes } from "./routes.ts";

const { context, insert, store, setRecords, fetch } = await createStoredNames();

const script = "<script>alert(1)</script>";
const node = namehash("records.eth");
const resolver = `0x${"ab".repeat(20)}`;
await store("hostile.eth", { owner: bob, lease: { holder: bob, expires: now + day }, resolver });
await setRecords("hostile.eth", {
  resolver,
  texts: { [script]: "\u202e<b>\u0007", notice: "x".repeat(5_000_000) },
});
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
    incrementalDuration: 63_072_000,
    registrant: bob,
    block: { timestamp: 1_700_000_000, number: 7 },
    pricing: { total: { amount: "10600000000000123", currency: "ETH" }, premium: null },
    registrationLifecycle: { node, subregistry: { subregistryId: { chainId: 1 } } },
    transactionHash: `0x${"7f".repeat(32)}`,
  },
};

const busy = new HttpError(503, "Too many queries.", { headers: { "retry-after": "1" } });
const failing = () => {
  throw new Error("out of reach");
};

const plainRoutes = (sources: PageSources) =>
  nameRoutes(sources, { ...createFrame("0.0.0", false), chains: [1, 8453] });

// `first`: what a request waits for.
function appOf(
  others: Readonly<Record<string, unknown>> = {},
  first: (path: string) => Promise<void> | undefined = () => undefined,
  log: Log = (_, text) => expect.unreachable(text),
  clock = () => now * 1_000,
  createRoutes = plainRoutes,
) {
  const ask: PageSources["ask"] = async (request) => {
    const path = buildLink(request);
    await first(path);
    const [start = ""] = path.split("?");
    const known = others[start];
    if (known === busy) throw busy;
    if (!path.startsWith("/v1/") && known === undefined) throw new HttpError(503, "A plugin is not active.");
    const { endpoint } = request;
    const asked =
      known === failing
        ? { ...request, endpoint: { ...endpoint, handle: failing } as typeof endpoint }
        : request;
    if (known !== undefined && known !== failing) return known as BodyOf<typeof endpoint>;
    const options = { signal: null, client: "", renew: () => true, log };
    return callEndpoint<PageContext, typeof endpoint>(asked, context as never, options);
  };
  const sources = { status: context.status, clock, log, ask };
  return createRoutes(sources);
}

function pages(others: Readonly<Record<string, unknown>> = {}) {
  const app = appOf(others);
  return async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}
const headingsIn = (text: string) => [...text.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, heading]) => heading);

describe("the page of a name", () => {
  test("shows who holds it, its records and what happened, each with its endpoint", async () => {
    const ask = pages({ "/api/registrar-actions": { registrarActions: [action] } });
    const { status, text, headers } = await ask("/name/records.eth");
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self' 'sha256-[^' ]{44}'; connect-src 'self';/,
    );
    expect(headingsIn(text)).toEqual([
      ...["Profile", "History", "Ownership", "Addresses", "Dates", "Technical facts"],
    ]);
    expect(text).toContain('<span class="pill busy">Expires soon</span><span class="pill ">Ethereum</span>');
    expect(text).toContain(">in 10 days</time>");
    expect(text).toContain(`Owned by <a href="/address/${bob}"`);
    expect(text).toContain('<a href="https://ens.domains/" rel="noopener noreferrer nofollow ugc">');
    expect(text).toContain(`<a class="api" href="/v1/names/${node}/records"`);
  });

  test("goes by the time of the index, and says if that is behind", async () => {
    const years = 1_096 * day;
    const app = appOf({}, undefined, undefined, () => (now + years) * 1_000);
    const text = await (await app.request("/name/records.eth")).text();
    expect(text).toContain(">in 10 days</time>");
    expect(text).toMatch(
      /<p class="problem" role="alert">The index is \d[\d,]* days behind\. .* as of \d{4}-/,
    );
    const current = await pages()("/name/records.eth");
    expect(current.text).not.toContain('role="alert"');
  });

  test("says of the token of a released name that its lease has ended", async () => {
    await store("given-up.eth", { owner: bob, lease: { holder: bob, expires: now - 200 * day } });
    const token = {
      token: { contract: { chainId: 1, address: resolver }, assetNamespace: "erc721", tokenId: "1" },
      ownership: { owner: { address: bob }, ownershipType: "fully-onchain" },
    };
    const ask = pages({ "/api/name-tokens": { registeredNameTokens: { tokens: [token] } } });
    const { text } = await ask("/name/given-up.eth");
    expect(text).toMatch(/Released .* ago/);
    expect(text).toContain("of a lease that has ended");
    expect(text).not.toContain("controls the name");
    expect((await ask("/name/records.eth")).text).toContain("controls the name");
  });

  test("says a renewal in a sentence: how long, by whom, for how much in the unit of its currency", async () => {
    const ask = pages({ "/api/registrar-actions": { registrarActions: [action] } });
    const { text } = await ask("/name/records.eth");
    expect(text.replaceAll(/<[^>]*>/g, "")).toContain("Renewed for 2 years by 0x2222…2222 for 0.0106 ETH");
    expect(text).toContain('title="0.010600000000000123 ETH"');
    expect(text).toContain(`href="https://etherscan.io/tx/${action.action.transactionHash}"`);
  });

  test("names records of agents (ENSIP-25, ENSIP-26) and data records (ENSIP-24)", async () => {
    const registration = "agent-registration[0x000100000101148004a169fb4a3325136eb29fa0ceb6d2e539a432][167]";
    const texts = { zeta: "z", "agent-endpoint[mcp]": "https://token-swap.mcp", [registration]: "1" };
    await store("agent.eth", {
      owner: bob,
      lease: { holder: bob, expires: now + day },
      resolver: publicResolver,
    });
    await setRecords("agent.eth", {
      texts: { ...texts, "agent-context": "# Agent\n\r\tSwaps" },
      data: { proof: "0x01" },
    });
    const { text } = await pages()("/name/agent.eth");
    const labels = [...text.matchAll(/<dt><bdi>(.*?)<\/bdi><\/dt>/g)].map(([, label]) => label);
    expect(labels).toEqual([
      "Agent context",
      "Agent endpoint mcp",
      "Agent registration 167",
      "zeta",
      "Data proof",
    ]);
    // Lines of a text are one, and no control character is shown as such.
    expect(text).toContain("<dd><bdi># Agent   Swaps</bdi></dd>");
    expect(text).toContain('<a href="https://token-swap.mcp/" rel="noopener noreferrer nofollow ugc">');
  });

  test("shows the accounts that consent to the name, and no other that it claims (ENSIP-28)", async () => {
    const [own, other] = [`0x${"ac".repeat(20)}`, `0x${"ad".repeat(20)}`];
    await store("claims.eth", { owner: bob, resolver: publicResolver });
    const keys = ["accounts[1]", ...[own, other].map((account) => `accounts[1][${account}]`)];
    await setRecords("claims.eth", { data: Object.fromEntries(keys.map((key) => [key, "0x01"])) });
    const row = { chain_id: 1, address: own, status: "verified", expires_at: String(now + 30 * day) };
    const accounts = [row, { ...row, address: other, status: "invalid" }];
    const ask = pages({ [`/v1/names/${namehash("claims.eth")}/accounts`]: { data: { accounts } } });
    const { text } = await ask("/name/claims.eth");
    expect(headingsIn(text)).toContain("Accounts of the name");
    expect(text).toContain(`data-copy="${own}"`);
    expect(text).not.toContain(other);
    expect(text).not.toContain("accounts[1]");
  });

  test("shows native addresses, and where content hashes and accounts lead", async () => {
    // Examples of ENSIP-7 and ENSIP-9.
    const cid = "bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4";
    const addresses = {
      ...{ 0: "0x0014751e76e8199196d454941c45d1b3a323f1433bd6", 2: "0x1234", 60: bob },
      714: "0x40c2979694bbc961023d1d27be6fc4d21a9febe6",
    };
    const texts = {
      "com.github": "@ensdomains",
      "com.twitter": "https://evil.example/ensdomains",
      "org.telegram": "javascript:alert(1)",
      "com.example": "https://example.com",
    };
    await store("native.eth", { owner: bob, resolver: publicResolver });
    await setRecords("native.eth", {
      contenthash: "0xe3010170122029f2d17be6139079dc48696d1f582a8530eb9805b561eda517e22a892c7e3f1f",
      ...{ addresses, texts },
    });
    const { text } = await pages()("/name/native.eth");
    const rows = [...text.matchAll(/<dt><bdi>(.*?)<\/bdi><\/dt><dd>(.*?)<\/dd>/gs)];
    const shownOf = Object.fromEntries(rows.map(([, label = "", value]) => [label, value]));
    const outside = 'rel="noopener noreferrer nofollow ugc"';
    const short = (whole: string, cut: string) => `<code title="${whole}" data-copy="${whole}">${cut}</code>`;
    expect(shownOf).toEqual({
      Bitcoin: short("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "bc1qw5…f3t4"),
      Litecoin: '<code title="0x1234" data-copy="0x1234">0x1234</code>',
      Ethereum: expect.stringContaining(`<a href="/address/${bob}"`),
      "BNB Beacon Chain": short("bnb1grpf0955h0ykzq3ar5nmum7y6gdfl6lxfn46h2", "bnb1gr…46h2"),
      "Content hash": `<a href="https://ipfs.io/ipfs/${cid}" ${outside}><bdi>ipfs://${cid}</bdi></a>`,
      GitHub: `<a href="https://github.com/ensdomains" ${outside}><bdi>@ensdomains</bdi></a>`,
      "X (Twitter)": "<bdi>https://evil.example/ensdomains</bdi>",
      Telegram: "<bdi>javascript:alert(1)</bdi>",
      "com.example": `<a href="https://example.com/" ${outside}><bdi>https://example.com</bdi></a>`,
    });
  });

  test("goes to the normal form of a name", async () => {
    const { status, headers } = await pages()("/name/ReCords.ETH");
    expect([status, headers.get("location")]).toEqual([302, "/name/records.eth"]);
  });

  test("of a name that is not indexed has those that are like it", async () => {
    const { status, text } = await pages()("/name/record.eth");
    expect(status).toBe(404);
    expect(text).toContain("Not registered, as far as this index knows.");
    expect(text).toContain('<a href="/name/records.eth">');
  });

  test("has ten subnames at most, and leads to the others", async () => {
    const { text } = await pages()("/name/hostile.eth");
    expect(text.match(/<span class="what"><a href="\/name\//g)).toHaveLength(10);
    expect(text).toContain('<a href="/names?parent=hostile.eth">All subnames, sorted and filtered</a>');
  });

  test("escapes and cuts what comes from the chain, and says what it left out", async () => {
    const ask = pages();
    const shown = [
      await ask("/name/hostile.eth"),
      await ask(`/name/${namehash(`${strange[2]}.hostile.eth`)}`),
    ];
    const text = shown.map((one) => one.text).join();
    expect(text).not.toMatch(/<script>alert|<img|<b>|[\u202e\u0007]/);
    expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(text).toContain("\\u202e&lt;b&gt;\\u0007");
    expect(text).toContain("4,999,400 more characters omitted");
    expect(text).not.toContain("x".repeat(700));
    expect(text.length).toBeLessThan(200_000);
  });

  test.each([node, `0x${node.slice(2).toUpperCase()}`, `%5B${"0".repeat(64)}%5D.eth`])(
    "%s is what /v1 takes it for",
    async (name) => {
      const { status, text } = await pages()(`/name/${name}`);
      const response = await fetch(`/v1/names/${name}`);
      expect(status).toBe(response.status);
      if (status === 200) expect(text).toContain(`<code class="whole" data-copy="${node}">`);
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
    ["nobody.eth", 404, "Not registered, as far as this index knows."],
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
    expect(headingsIn(text)).toEqual(["Names", "Activity", "Expiries"]);
    // Three more resolve to it, or were its own until they ended.
    expect(text).toContain("<strong>48</strong> held");
    expect(text).toContain('<a href="/name/plain.eth">');
    const ofBob = (await ask(`/address/${bob}`)).text;
    // Its claim is not verified: the name resolves to alice.
    expect(ofBob).toContain(`<h1 class="long"><code class="whole" data-copy="${bob}"`);
    expect(ofBob).toContain(
      '<dt>Ethereum</dt><dd><a href="/name/records.eth"><bdi>records.eth</bdi></a></dd>',
    );
  });

  test.each(["0x1", "vitalik.eth", "%E0%A4%A", "%3Cscript%3E"])("%s is refused", async (address) => {
    const { status, text } = await pages()(`/address/${address}`);
    expect(status).toBe(400);
    expect(text).not.toContain("<script>");
  });

  test("an address without names has a page that says so", async () => {
    const { status, text } = await pages()(`/address/0x${"0".repeat(39)}1`);
    expect(status).toBe(200);
    expect(text).toContain("The index has no names for this address.");
  });
});

describe("the pages of a block and of a transaction", () => {
  const hash = `0x${"9e".repeat(32)}`;
  const words = (text: string) => text.replaceAll(/<[^>]*>/g, "");

  test("tell what happened to names there", async () => {
    const event = {
      type: "NewOwner",
      block_number: 9,
      timestamp: now - day,
      domain_id: node,
      owner_id: alice,
    };
    await insert("domain_event", { ...event, id: "1-9-1", log_index: 1, transaction_id: hash });
    const given = { ...event, owner_id: bob };
    await insert("domain_event", { ...given, id: "1-9-2", log_index: 2, transaction_id: hash });
    const block = await pages()("/block/1:9");
    expect(block.text).toContain("<h1>Block 9</h1>");
    // The page does not link to itself, but to the same of a block explorer.
    expect(block.text).not.toContain('<a href="/block/1:9"');
    expect(block.text).toContain('<a href="/block/1:8">Block 8</a><a href="/block/1:10">Block 10</a>');
    expect(block.text).toContain('href="https://etherscan.io/block/9"');
    expect(words(block.text)).toContain("1 day ago");
    expect(words(block.text)).toContain(
      "records.eth Owner in the registry set to 0x1111…1111Owner in the registry changed from 0x1111…1111 to 0x2222…2222",
    );
    expect(block.text).toContain(`<a href="/transaction/1:9:${hash}"`);
    const { status, text } = await pages()(`/transaction/1:9:${hash}`);
    expect(status).toBe(200);
    expect(text).toContain("<h1>Transaction 0x9e9e…9e9e</h1>");
    expect(text).toContain('<a href="/name/records.eth">');
  });

  test.each([
    ["/block/1:7", 200, "No name events are indexed here."],
    [`/transaction/1:9:0x${"0".repeat(64)}`, 200, "No name events are indexed here."],
    ["/block/5:1", 404, "Chain 5 is not indexed"],
    ["/block/x", 400, "block must be &lt;chain id&gt;:&lt;number&gt;"],
    ["/transaction/1:9:0x12", 400, "transaction_hash must be 0x and 64 hex digits"],
    ["/transaction/%3Cb%3E", 400, "block must be"],
  ])("%s is %i: %s", async (path, code, reason) => {
    const { status, text } = await pages()(path);
    expect([status, text.includes(reason), text.includes("<b>")]).toEqual([code, true, false]);
  });
});

test("accounts have their verified primary names", async () => {
  await store("carol.eth", {
    owner: carol,
    lease: { holder: carol, expires: now + day },
    resolver: publicResolver,
  });
  await setRecords("carol.eth", { addresses: { 60: carol } });
  await insert("reverse_name_records", { address: carol, coin_type: 2_147_483_648, value: "carol.eth" });
  const { text } = await pages()("/name/child.plain.eth");
  expect(text).toContain(`<a href="/address/${carol}" title="${carol}"><bdi>carol.eth</bdi></a>`);
  expect((await pages()(`/address/${carol}`)).text).toContain(
    '<h1><a href="/name/carol.eth"><bdi>carol.eth</bdi></a></h1>',
  );
});

describe("a page on its way", () => {
  test("has its header before its lists are read", async () => {
    const history = Promise.withResolvers<void>();
    const app = appOf({}, (path) => (path.includes("/history") ? history.promise : undefined));
    const response = await app.request("/name/records.eth");
    const reader = response.body?.getReader();
    const textOf = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await textOf()).toMatch(/<\/header>\s*<link [^>]+>\s*<main id="content">\s*$/);
    history.resolve();
    expect(await textOf()).toMatch(/^<div class="card head">.*<h1><bdi>records\.eth.*<\/html>$/s);
  });

  test("says that the service is too busy for its lists", async () => {
    const app = appOf({ "/api/name-tokens": busy });
    const text = await (await app.request("/name/records.eth")).text();
    expect(text).toMatch(/<h1>records\.eth<\/h1>\s*<p class="empty">Too many queries\..*<\/html>$/s);
  });

  test("says that its lists could not be read, and the log why", async () => {
    const path = `/v1/names/${namehash("records.eth")}/history`;
    const lines: string[] = [];
    const app = appOf({ [path]: failing }, undefined, (level, text) => lines.push(`${level} ${text}`));
    const text = await (await app.request("/name/records.eth")).text();
    expect(text).toMatch(/<h1>records\.eth<\/h1>.*could not be read\. Try again\..*<\/html>$/s);
    expect(lines).toEqual([expect.stringContaining(`error GET ${path} failed: Error: out of reach`)]);
  });

  test("says so too if something else fails", async () => {
    const lines: string[] = [];
    const app = appOf(
      {},
      (path) => (path.includes("/history") ? Promise.reject(new Error("out of\nreach")) : undefined),
      (level, text) => lines.push(`${level} ${text}`),
    );
    const text = await (await app.request("/name/records.eth")).text();
    expect(text).toMatch(/<h1>records\.eth<\/h1>.*could not be read\. Try again\..*<\/html>$/s);
    expect(lines).toEqual([
      expect.stringMatching(/^error GET \/name\/records\.eth failed: Error: out of\\u000areach/),
    ]);
  });
});

describe("what an operator chose", () => {
  const logo = '<svg xmlns="http://www.w3.org/2000/svg"/>';
  const site = { title: "Names & Co", color: "#005fcc", logo, isIndexable: true };
  const frame = {
    ...createFrame("0.0.0", false, { ...site, registrationUrl: "https://app.example/{name}" }),
    chains: [1],
  };
  const priceOf = async () => ({ base: 3_000_000_000_000_000n, premium: 0n });
  const url = "https://names.example";
  const createRoutes = (sources: PageSources) =>
    crawlerRoutes({ ...sources, url }, frame).route("/", nameRoutes({ ...sources, url, priceOf }, frame));
  const newest = { registrarActions: [{ ...action, name: "a b.eth" }] };
  const app = appOf({ "/api/registrar-actions": newest }, undefined, undefined, undefined, createRoutes);
  const ask = async (path: string) => (await app.request(path)).text();

  test("is the name, colour and mark of pages, what search engines may list, and where names are renewed", async () => {
    const text = await ask("/name/records.eth");
    expect(text).toContain("<title>records.eth · Names &amp; Co</title>");
    expect(text).toContain(":root{--own:#005fcc}</style>");
    expect(text).toMatch(/<img src="\/assets\/0\.0\.0\/logo-[0-9a-f]{12}\.svg" alt="" height="28">/);
    expect(text).not.toContain("noindex");
    expect(text).toContain(
      '<a class="action" href="https://app.example/records.eth" rel="noopener">Renew at app.example</a>',
    );
    expect(text.replaceAll(/<[^>]*>/g, "")).toContain("A year costs 0.003 ETH.");
    expect(text).toContain('<link rel="canonical" href="/name/records.eth">');
    const free = await ask("/name/nobody.eth");
    expect(free).toContain(">Register at app.example</a>");
    expect(free.replaceAll(/<[^>]*>/g, "")).toContain("A year costs 0.003 ETH.");
    expect(text).toContain('<meta property="og:image" content="https://names.example/card/records.eth">');
    expect(await ask("/robots.txt")).toContain("Sitemap: https://names.example/sitemap.xml");
    expect(await ask("/sitemap.xml")).toContain("<loc>https://names.example/name/a%20b.eth</loc>");
    expect(await (await crawlerRoutesOfNobody().request("/robots.txt")).text()).toBe(
      "User-agent: *\nDisallow: /\n",
    );
    expect((await crawlerRoutesOfNobody().request("/sitemap.xml")).status).toBe(404);
  });

  test("a card is a picture of the name that runs and loads nothing", async () => {
    const response = await app.request("/card/hostile.eth");
    expect(response.headers.get("content-type")).toBe("image/svg+xml");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await response.text()).toContain(">hostile.eth</text>");
    const [, markup, reversed] = strange.map((label) => namehash(`${label}.hostile.eth`));
    expect(await ask(`/card/${markup}`)).toMatch(/&lt;img src=x.*<\/text>/);
    expect(await ask(`/card/${reversed}`)).toContain("a\\u202eb\\u000a.hostile.eth</text>");
  });
});

const crawlerRoutesOfNobody = () =>
  appOf({}, undefined, undefined, undefined, (sources) =>
    crawlerRoutes(sources, createFrame("0.0.0", false)),
  );
