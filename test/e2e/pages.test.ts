import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Result } from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readDeployment, register, setPrimaryName } from "../../devnet/life.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { cleanSvg } from "../../src/api/metadata/svg.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { chromiumPath, overflowOf, startBrowser } from "../support/browser/browser.ts";
import { loadingSvgs, untidySvgs } from "../support/browser/loading-svgs.ts";
import { startServer as startLabels } from "../support/labels/running-server.ts";
import { inLongRuns } from "../support/rounds.ts";
import { startServer } from "../support/server.ts";
import { watchStatus } from "../support/watch-status.ts";
import { startWorld, type World } from "../support/world.ts";

// A range of blocks that is indexed to its end: the recorded chain of the test network, and a block of names that mean
// harm. What it says of itself, and its pages as people see them in a browser. Long runs keep pictures of all in
// test-results/explorer.

const pictures = "test-results/explorer";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const root = readDeployment("root");
const owner = `0x${"a1".repeat(20)}` as const;
const stranger = `0x${"b2".repeat(20)}` as const;
const expires = 2_000_000_000n;

const script = "<script>alert(1)</script>";
const hostileTexts = {
  url: "javascript:alert(1)",
  description: `${"x".repeat(1_000_000)}`,
  notice: "\u202egnp.exe \u2067abc <img src=x onerror=alert(1)>",
  [script]: script,
  ...Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`key.${at}.${"k".repeat(at)}`, `${at}`])),
};

type Config = { versionInfo: { nsIndexer: string } };

let world: World;
let end: number;
let transaction: string;

beforeAll(async () => {
  world = await startWorld({
    environment: {
      SUBGRAPH_COMPAT: "false",
      PLUGINS: "subgraph,protocol-acceleration,registrars",
      BLOCK_EXPLORER_URLS: `${chainIds.root}=https://explorer.example`,
      END_BLOCK: "1667",
    },
  });
  const records = {
    addresses: { 60: owner, 2147483658: owner, 0: "0x1234" },
    texts: { url: "https://a.example" },
  } as const;
  const sale = { owner, expires, cost: 10_600_000_000_000_000n };
  const { chain } = world.node;
  world.node.mineBlock({
    // Longer ago than the minute that counts as real time.
    timestamp: Math.floor(Date.now() / 1_000) - 600,
    transactions: [
      register(root, { ...sale, label: "friendly", records }),
      setPrimaryName(root, owner, "friendly.eth"),
      register(root, { ...sale, label: "hostile", owner: stranger, records: { texts: hostileTexts } }),
    ],
  });
  end = chain.head();
  transaction = String(chain.block(end)?.transactions[0]?.["hash"]);
  chain.setHead(1_640);
});
afterAll(() => world?.close());

test("a range that ends in blocks not yet final is ready when it is completed, and no block past its end is named", async () => {
  world.start();
  const watch = watchStatus(world.url, ["root"]);
  await world.waitForIndex({ block: 1_640 });
  // As live blocks the last ones stay unfinal, and the chain goes on.
  world.node.chain.setHead(end);
  for (let block = 0; block < 10; block++) world.node.mineBlock();
  await world.waitForIndex({ block: end });
  await world.stop();
  // Settings that do not determine rows keep the index.
  const service = world.start({ LOG_LEVEL: "warn", RPC_REQUESTS_PER_SECOND: "300" });
  watch.forget();
  // Ready, and the blocks that were not final indexed again.
  await world.waitForIndex({ block: end });
  expect(service.ending()).toBeUndefined();
  await world.waitFor("the end of the range", async () => {
    const status = watch.last()?.omnichainSnapshot.omnichainStatus;
    return status === "omnichain-completed" ? { done: true } : { state: String(status) };
  });
  await watch.stop();
  expect([...watch.faults]).toEqual([]);
  const { timestamp = 0 } = world.node.chain.block(end) ?? {};
  expect(watch.last()?.omnichainSnapshot.chains[chainIds.root]).toEqual({
    chainStatus: "chain-completed",
    config: {
      configType: "definite",
      startBlock: { timestamp: 1493943200, number: 0 },
      endBlock: { timestamp, number: end },
    },
    latestIndexedBlock: { timestamp, number: end },
  });
  const { _meta } = await world.query<{ _meta: unknown }>("{ _meta { block { number timestamp } } }");
  expect(_meta).toEqual({ block: { number: end, timestamp } });
});

const ownPages = () => ({
  home: "/",
  status: "/status",
  stats: "/stats",
  names: "/names",
  subnames: "/names?parent=eth&sort=expires_at",
  name: "/name/friendly.eth",
  recorded: "/name/kagam.eth",
  address: `/address/${owner}`,
  block: `/block/${chainIds.root}:${end}`,
  transaction: `/transaction/${chainIds.root}:${end}:${transaction}`,
});
const pages = () => ({ ...ownPages(), docs: "/docs", subgraph: "/subgraph" });
const hostile = () => ({
  hostile: "/name/hostile.eth",
  "hostile-address": `/address/${stranger}`,
});
const none = () => ({
  "not-found": "/name/friendy.eth",
  "no-name": "/name/a..eth",
  empty: `/address/0x${"0".repeat(38)}99`,
  "empty-block": `/block/${chainIds.root}:1`,
});

/** docs/operations.md describes every metric of ours, and only metrics that there are. */
async function expectDocumentedMetrics() {
  const text = await (await fetch(`${world.url}/metrics`)).text();
  const shown = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const [, after = ""] = readFileSync("docs/operations.md", "utf8").split("\n## Metrics\n");
  const [section = ""] = after.split("\n## ");
  const documented = [...section.matchAll(/`((?:nsindex|ponder|process|nodejs)_[a-z0-9_]+)`/g)].map(
    ([, name]) => name,
  );
  expect(documented.filter((name) => !shown.has(name))).toEqual([]);
  const own = [...shown].filter((name) => name?.startsWith("nsindex_"));
  expect(own.filter((name) => !documented.includes(name))).toEqual([]);
}

test("a completed index is never in real time, and says what it is", async () => {
  await expectDocumentedMetrics();
  const realtime = await fetch(`${world.url}/amirealtime`);
  expect(realtime.status).toBe(503);
  expect(await realtime.json()).toEqual({
    message: expect.stringMatching(
      /^The worst-case distance is \d+ seconds, more than the 60 seconds asked for\.$/,
    ),
  });
  expect((await fetch(`${world.url}/api/realtime?maxWorstCaseDistance=999999999999`)).status).toBe(200);

  const config = await fetch(`${world.url}/api/config`);
  expect(await config.json()).toEqual({
    indexedChainIds: [15658733],
    databaseSchemaName: "public",
    isSubgraphCompatible: false,
    labelSet: { labelSetId: "subgraph", labelSetVersion: 0 },
    namespace: "ens-test-env",
    plugins: ["subgraph", "protocol-acceleration", "registrars"],
    versionInfo: {
      runtime: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      indexingFramework: "0.17.7",
      nsDb: expect.stringMatching(/^\d+\.\d+\.\d+/),
      nsIndexer: expect.stringMatching(/^\d+\.\d+\.\d+/),
      nsNormalize: "1.11.1",
      nsRainbow: expect.stringMatching(/^\d+\.\d+\.\d+/),
      nsRainbowSchema: expect.any(Number),
    },
  });
  for (const path of [
    "/",
    "/api/config",
    "/amirealtime?maxWorstCaseDistance=-1",
    "/nowhere",
    "/health",
    "/subgraph",
  ]) {
    const { headers } = await fetch(world.url + path, { headers: { origin: "https://dapp.example" } });
    expect([path, headers.get("access-control-allow-origin")]).toEqual([path, "*"]);
  }
  // Browsers ask before they post JSON.
  const preflight = await fetch(`${world.url}/v1/lookup`, {
    method: "OPTIONS",
    headers: {
      origin: "https://dapp.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    },
  });
  expect(preflight.status).toBe(204);
  for (const [header, word] of [
    ["origin", "*"],
    ["methods", "POST"],
    ["headers", "content-type"],
  ])
    expect(preflight.headers.get(`access-control-allow-${header}`)).toContain(word);
  const { nsIndexer } = ((await (await fetch(`${world.url}/api/config`)).json()) as Config).versionInfo;
  for (const path of ["/health", "/ready", "/status", "/metrics"]) {
    const { status, headers } = await fetch(world.url + path);
    expect([path, status, headers.get("x-nsindex-version")]).toEqual([path, 200, nsIndexer]);
  }
  const unknown = await fetch(`${world.url}/api/config/`);
  expect([unknown.status, await unknown.text()]).toEqual([404, '{"message":"Not Found"}']);
});

// What other programs draw is theirs.
const others = ["#docs", "#root"];

// The database of a busy machine may seem away for a moment.
async function visit(page: Page, url: string) {
  for (;;) {
    const response = await page.goto(url);
    if (response?.status() !== 503) return response;
    await page.waitForTimeout(1_000);
  }
}

async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  // The rest of what it finds is long.
  const found = (await page.evaluate(
    `axe.run({ exclude: ${JSON.stringify(others)} }, { resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  )) as Result[];
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

const wide = { viewport: { width: 1280, height: 900 } };
const narrow = { viewport: { width: 390, height: 844 } };
type State = readonly [name: string, BrowserContextOptions, () => Record<string, string>];
const states: readonly State[] = [
  ["light", { ...wide, colorScheme: "light" }, pages],
  ["dark", { ...wide, colorScheme: "dark" }, ownPages],
  ["narrow", narrow, pages],
  ...inLongRuns<State>([["narrow-dark", { ...narrow, colorScheme: "dark" }, ownPages]]),
  ["no-script", { ...wide, javaScriptEnabled: false }, pages],
  ["hostile", narrow, hostile],
  ["none", narrow, none],
];

describe.skipIf(chromiumPath === undefined)(
  "in a browser (skipped without Chromium: set CHROMIUM_PATH)",
  () => {
    let browser: Awaited<ReturnType<typeof startBrowser>>;
    beforeAll(async () => {
      await world.waitFor("charts", async () => {
        const { status } = await fetch(`${world.url}/v1/stats/holders`);
        return status === 200 ? { done: true } : { state: `/v1/stats responds with ${status}` };
      });
      browser = await startBrowser(chromiumPath ?? "");
    });
    afterAll(() => browser?.close());

    test.each(states)(
      "%s: nothing to complain of, and nothing of other hosts",
      async (state, options, pathsOf) => {
        const { page, complaints } = await browser.open("about:blank", options);
        page.on("request", (request) => {
          if (!request.url().startsWith(`${world.url}/`) && !/^(data|blob):/.test(request.url()))
            complaints.push(request.url());
        });
        page.on("dialog", (dialog) => complaints.push(dialog.message()));
        const hasScripts = options.javaScriptEnabled !== false;
        for (const [name, path] of Object.entries(pathsOf())) {
          const response = await visit(page, `${world.url}${path}`);
          if (hasScripts && name === "docs") await page.getByText("indexedChainIds").first().waitFor();
          if (hasScripts && name === "subgraph")
            await page.locator(".result-window").filter({ hasText: "domains" }).waitFor();
          for (const folder of inLongRuns([pictures]))
            await page.screenshot({ path: `${folder}/${state}-${name}.png`, fullPage: true });
          // It is a script, and takes as long as all else of a page. A narrow one says the same.
          if (hasScripts && state !== "narrow") expect([name, await faultsOf(page)]).toEqual([name, []]);
          if (name !== "docs") expect([name, await overflowOf(page)]).toEqual([name, 0]);
          // A browser notes each page of status 404 and 400 itself.
          const own =
            (response?.status() ?? 0) >= 400 ? [expect.stringContaining("Failed to load resource")] : [];
          const isBusy = (complaint: string) =>
            complaint.includes("the server responded with a status of 503");
          expect([name, complaints.splice(0).filter((one) => !isBusy(one))]).toEqual([name, own]);
        }
      },
    );

    test("a name is found by what is typed, and in its normal form", async () => {
      const { page } = await browser.open(world.url, narrow);
      const box = page.getByRole("combobox", { name: "Name or address" });
      await box.pressSequentially("friend");
      const option = page.getByRole("option").first();
      await option.waitFor();
      expect(await option.getAttribute("data-name")).toBe("friendly.eth");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/name\/friendly\.eth$/);
      await page.goto(world.url);
      await box.fill("FRIENDLY.eth");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/name\/friendly\.eth$/);
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("friendly.eth");
      const history = page.getByRole("list", { name: "History" });
      expect(await history.getByRole("listitem").count()).toBeGreaterThan(0);
      const links = await history.locator('a[href*="/tx/"]').first().getAttribute("href");
      expect(links).toBe(`https://explorer.example/tx/${transaction}`);
    });

    test("a cleaned SVG document loads nothing, in a page, by itself and as an image", async () => {
      const { url, loaded } = await serveSvgs((url) => loadingSvgs(`${url}/loaded`));
      const { page } = await browser.open("about:blank");
      const settle = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
      const open = async (path: string) => {
        await page.goto(`${url}${path}`);
        await page.evaluate(settle);
      };
      for (const way of ["inline", "image", "alone"]) await open(`/clean/${way}/all`);
      expect(loaded).toEqual([]);
      await open("/raw/inline/all");
      // The browser would have loaded these.
      const some =
        "image use.svg title-set desc outside import after-child cdata escape mask.svg image-set var font style.svg set set-mask.svg";
      await expect
        .poll(() => loaded)
        .toEqual(expect.arrayContaining(some.split(" ").map((name) => `/loaded/${name}`)));
    });

    test("an untidy SVG document is drawn as an image as it is in a page", async () => {
      const { url } = await serveSvgs(() => untidySvgs);
      const { page } = await browser.open("about:blank", { viewport: { width: 20, height: 20 } });
      const draw = async (path: string) => {
        await page.goto(`${url}${path}`);
        return (await page.screenshot()).toString("base64");
      };
      const blank = await draw("/clean/inline/none");
      for (const [at, text] of untidySvgs.entries()) {
        const drawn = await draw(`/raw/inline/${at}`);
        expect(drawn, text).not.toBe(blank);
        expect(await draw(`/clean/image/${at}`), text).toBe(drawn);
      }
    });

    const statusHeadings = [
      "Chains",
      "Progress",
      "Feed of events",
      "Anomalies",
      "RPC requests",
      "Labels",
      "Database",
      "Configuration",
    ];

    test.each([
      [1280, "light", "rgb(245, 246, 249)"],
      [360, "light", "rgb(245, 246, 249)"],
      [360, "dark", "rgb(15, 17, 22)"],
    ] as const)(
      "the status page fits %i pixels, is %s, and has headings and tables",
      async (width, colorScheme, ground) => {
        const { page, complaints } = await browser.open(`${world.url}/status`, {
          viewport: { width, height: 800 },
          colorScheme,
        });
        expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual([
          "Index of ens-test-env",
        ]);
        expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(statusHeadings);
        const chains = page.getByRole("table", { name: "Chains" });
        const shown = end.toLocaleString("en");
        expect(await chains.getByRole("columnheader").allTextContents()).toContain("Indexed block");
        expect(await chains.getByRole("rowheader").allTextContents()).toEqual(["ens-test-env"]);
        expect(await chains.getByRole("row").nth(1).textContent()).toMatch(
          new RegExp(`completed${shown}${shown} 100.00 %–${world.node.chain.block(end)?.hash.slice(0, 6)}…`),
        );
        expect(await overflowOf(page)).toBe(0);
        expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(ground);
        expect(complaints).toEqual([]);
      },
    );

    test("a name is looked up with the keyboard, and its page shows how to ask for it", async () => {
      const { page, complaints } = await browser.open(world.url, { viewport: { width: 360, height: 800 } });
      const newest = page.locator("#newest-names");
      const name = (await newest.getByRole("link").first().textContent()) ?? "";
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
      await page.getByRole("combobox", { name: "Name or address" }).focus();
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/name\//);
      expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual([name]);
      // Each card's link to its JSON gives an answer.
      const links = await page.locator("a.api").evaluateAll((all) => all.map((one) => String(one)));
      expect(links.length).toBeGreaterThan(2);
      for (const link of links) expect((await fetch(link)).status).toBe(200);
      expect(await overflowOf(page)).toBe(0);
      await page.locator("#ownership dd a").first().click();
      await page.waitForURL(/\/address\/0x/);
      expect(await page.getByRole("link", { name }).count()).toBeGreaterThan(0);
      expect(await overflowOf(page)).toBe(0);
      expect(complaints).toEqual([]);
    });

    test("lists have pages, orders, filters and CSV without the script", async () => {
      const { page, complaints } = await browser.open(`${world.url}/names?parent=eth&page_size=20`, {
        javaScriptEnabled: false,
      });
      const rows = page.getByRole("rowheader");
      const first = await rows.allTextContents();
      expect(first).toHaveLength(20);
      await page.getByRole("link", { name: "Next page" }).click();
      const second = await rows.allTextContents();
      expect(second.filter((name) => first.includes(name))).toEqual([]);
      await page.getByRole("link", { name: "by expires" }).click();
      expect(await rows.allTextContents()).not.toEqual(first);
      await page.goto(`${world.url}/names?list=expiring&characters=digits`);
      const labels = (await rows.allTextContents()).map((text) => /(\d+)\.eth$/.exec(text.trim())?.[0]);
      expect(labels.length).toBeGreaterThan(0);
      expect(labels).not.toContain(undefined);
      const csv = await fetch(`${world.url}/names?parent=eth&format=csv`);
      expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8");
      expect((await csv.text()).split("\r\n")[0]).toBe(
        "name,namehash,status,expires_at,grace_ends_at,owner,registered_at",
      );
      expect(complaints).toEqual([]);
    });

    test.each([1280, 360])("figures are charts, and tables when asked: %i pixels", async (width) => {
      const viewport = { width, height: 800 };
      const { page, complaints } = await browser.open(`${world.url}/stats`, {
        viewport,
        javaScriptEnabled: false,
      });
      const titles = await page.getByRole("heading", { level: 2 }).allTextContents();
      expect(titles).toContain("Registrations");
      expect(await page.getByRole("img", { name: "Holders" }).isVisible()).toBe(true);
      const holders = page.locator("#holders");
      expect(await holders.locator("svg g").count()).toBe(36);
      await holders.getByText("Table").click();
      expect(await page.getByRole("table", { name: "Holders" }).getByRole("row").count()).toBe(37);
      expect(await overflowOf(page)).toBe(0);
      expect(complaints).toEqual([]);
    });

    test("a button copies an address; there is none where browsers have no clipboard", async () => {
      const name = `${world.url}/name/friendly.eth`;
      const { page, complaints } = await browser.open(name, {
        permissions: ["clipboard-read", "clipboard-write"],
      });
      const button = page.locator("#ownership").getByRole("button").first();
      await button.click();
      await expect.poll(() => button.textContent()).toBe("Copied");
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(owner);
      expect(complaints).toEqual([]);
      // What browsers do at an address that is neither this machine's nor HTTPS.
      const other = await browser.open("about:blank");
      await other.page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      await other.page.goto(name);
      expect(await other.page.getByRole("button", { name: "Copy", includeHidden: true }).count()).toBe(0);
      expect(other.complaints).toEqual([]);
    });

    test("it is the same without scripts", async () => {
      const { page } = await browser.open(`${world.url}/status`, { javaScriptEnabled: false });
      expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(statusHeadings);
    });

    test("the page of the label service heals, and its documents can be read", async () => {
      const labels = await startLabels();
      await labels.database.reload({ isForced: true });
      const { page, complaints } = await browser.open(labels.base, { viewport: { width: 360, height: 800 } });
      expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual(["Label service"]);
      await page.getByRole("textbox", { name: "Labelhash" }).fill(labelhash("eth"));
      await page.keyboard.press("Enter");
      await page.waitForURL(/labelhash=/);
      expect(await page.getByRole("definition").allTextContents()).toContain("eth");
      expect(await overflowOf(page)).toBe(0);
      await page.goto(`${labels.base}/docs`);
      await page.getByText("/v1/heal/{labelhash}").first().waitFor();
      expect(complaints).toEqual([]);
      await labels.stop();
    });

    test("it says so when the service has stopped", async () => {
      const { page } = await browser.open(`${world.url}/status`);
      await world.stop();
      await page.getByRole("alert").filter({ hasText: "The service has not responded since" }).waitFor();
      expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(statusHeadings);
    });
  },
);

// Serves documents as they are (`raw`) or cleaned, in a page, as an image of one or alone, one of them or all, and
// notes what else they load.
async function serveSvgs(documentsOf: (url: string) => readonly string[]) {
  const loaded: string[] = [];
  const url = await startServer(({ url: path = "", headers }, response) => {
    if (path.startsWith("/loaded/")) {
      loaded.push(path);
      response.setHeader("access-control-allow-origin", "*").end();
      return;
    }
    const [, kind, way, at] = path.split("/");
    const documents = documentsOf(`http://${headers.host}`);
    const text = documents[Number(at)] ?? "";
    const svg = kind === "raw" ? text : (cleanSvg(text) ?? "");
    const frames = documents.map((_, each) => `<iframe src="/${kind}/${way}/${each}"></iframe>`);
    const [style, content] =
      at === "all"
        ? ["iframe{width:20px;height:20px}", frames.join("")]
        : [
            "body{margin:0}svg,img{display:block}",
            way === "inline" ? svg : `<img src="/${kind}/alone/${at}">`,
          ];
    const isSvg = way === "alone" && at !== "all";
    const page = `<!doctype html><style>${style}</style>${content}`;
    response.setHeader("content-type", isSvg ? "image/svg+xml" : "text/html").end(isSvg ? svg : page);
  });
  return { url, loaded };
}
