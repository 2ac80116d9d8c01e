import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Result } from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deploymentOf, register, setPrimaryName } from "../../devnet/life.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { cleanSvg } from "../../src/api/metadata/svg.ts";
import { chromiumPath, overflowOf, startBrowser } from "../support/browser/browser.ts";
import { loadingSvgs, untidySvgs } from "../support/browser/loading-svgs.ts";
import { startServer } from "../support/server.ts";
import { startWorld, type World } from "../support/world.ts";

// The pages as people see them, in a browser. Pictures of all are kept in test-results/explorer.

const pictures = "test-results/explorer";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const root = deploymentOf("root");
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

let world: World;
let browser: Awaited<ReturnType<typeof startBrowser>>;
let head: number;
let transaction: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await startWorld({
    environment: {
      SUBGRAPH_COMPAT: "false",
      PLUGINS: "subgraph,protocol-acceleration,registrars",
      BLOCK_EXPLORER_URLS: `${chainIds.root}=https://explorer.example`,
    },
  });
  const records = {
    addresses: { 60: owner, 2147483658: owner, 0: "0x1234" },
    texts: { url: "https://a.example" },
  } as const;
  const sale = { owner, expires, cost: 10_600_000_000_000_000n };
  world.node.mineBlock({
    transactions: [
      register(root, { ...sale, label: "friendly", records }),
      setPrimaryName(root, owner, "friendly.eth"),
      register(root, { ...sale, label: "hostile", owner: stranger, records: { texts: hostileTexts } }),
    ],
  });
  head = world.node.chain.head();
  transaction = String(world.node.chain.block(head)?.transactions[0]?.["hash"]);
  world.start();
  await world.waitForIndex();
  await world.waitFor("charts", async () => {
    const text = await (await fetch(world.url, { headers: { accept: "text/html" } })).text();
    return text.includes('class="charts"') ? { done: true } : { state: "the status page has none" };
  });
  browser = await startBrowser(chromiumPath);
  mkdirSync(pictures, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  await world?.close();
});

const pages = () => ({
  status: "/",
  stats: "/stats",
  name: "/name/friendly.eth",
  recorded: "/name/kagam.eth",
  address: `/address/${owner}`,
  block: `/block/${chainIds.root}:${head}`,
  transaction: `/transaction/${chainIds.root}:${head}:${transaction}`,
  docs: "/docs",
  subgraph: "/subgraph",
});
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
  const found = (await page.evaluate(`axe.run({ exclude: ${JSON.stringify(others)} })`)) as {
    violations: Result[];
  };
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

const wide = { viewport: { width: 1280, height: 900 } };
const narrow = { viewport: { width: 390, height: 844 } };
type State = readonly [name: string, BrowserContextOptions, () => Record<string, string>];
const states: readonly State[] = [
  ["light", { ...wide, colorScheme: "light" }, pages],
  ["dark", { ...wide, colorScheme: "dark" }, pages],
  ["narrow", narrow, pages],
  ["no-script", { ...wide, javaScriptEnabled: false }, pages],
  ["hostile", narrow, hostile],
  ["none", narrow, none],
];

describe.skipIf(chromiumPath === undefined)(
  "in a browser (skipped without Chromium: set CHROMIUM_PATH)",
  () => {
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
          if (hasScripts && /^stat/.test(name)) await page.locator(".uplot").first().waitFor();
          if (hasScripts && name === "docs") await page.getByText("indexedChainIds").first().waitFor();
          if (hasScripts && name === "subgraph")
            await page.locator(".result-window").filter({ hasText: "domains" }).waitFor();
          await page.screenshot({ path: `${pictures}/${state}-${name}.png`, fullPage: true });
          // It is a script, and the page is the same.
          if (hasScripts) expect([name, await faultsOf(page)]).toEqual([name, []]);
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
      await page.locator("datalist option").first().waitFor({ state: "attached" });
      expect(await page.locator("datalist option").first().getAttribute("value")).toBe("friendly.eth");
      await box.fill("FRIENDLY.eth");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/name\/friendly\.eth$/);
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("friendly.eth");
      // Cards are still rows of a table for who hears them.
      const history = page.getByRole("table", { name: "History" });
      expect(await history.getByRole("columnheader").allTextContents()).toEqual([
        "When",
        "What",
        "Transaction",
      ]);
      expect(await history.getByRole("row").nth(1).getByRole("cell").count()).toBe(2);
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
      const documents = [...loadingSvgs(url).keys()];
      for (const at of documents)
        for (const way of ["inline", "image", "alone"]) await open(`/clean/${way}/${at}`);
      expect(loaded).toEqual([]);
      for (const at of documents) await open(`/raw/inline/${at}`);
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
  },
);

// Serves documents as they are (`raw`) or cleaned, in a page, as an image of one or alone, and notes what else they load.
async function serveSvgs(documentsOf: (url: string) => readonly string[]) {
  const loaded: string[] = [];
  const url = await startServer(({ url: path = "", headers }, response) => {
    if (path.startsWith("/loaded/")) {
      loaded.push(path);
      response.setHeader("access-control-allow-origin", "*").end();
      return;
    }
    const [, kind, way, at] = path.split("/");
    const text = documentsOf(`http://${headers.host}`)[Number(at)] ?? "";
    const svg = kind === "raw" ? text : (cleanSvg(text) ?? "");
    const content = way === "inline" ? svg : `<img src="/${kind}/alone/${at}">`;
    const page = `<!doctype html><style>body{margin:0}svg,img{display:block}</style>${content}`;
    response
      .setHeader("content-type", way === "alone" ? "image/svg+xml" : "text/html")
      .end(way === "alone" ? svg : page);
  });
  return { url, loaded };
}
