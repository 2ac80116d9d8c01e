import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { chromiumPath, overflowOf, startBrowser } from "../support/browser/browser.ts";
import { startServer } from "../support/labels/running-server.ts";
import { watchStatus } from "../support/watch-status.ts";
import { startWorld, type World } from "../support/world.ts";

// The recorded chain of the test network, indexed from its genesis block to the 300th.

type Config = { versionInfo: { nsIndexer: string } };

let world: World;
let unfinal: World;
beforeAll(async () => {
  world = await startWorld({ environment: { END_BLOCK: "300" } });
  unfinal = await startWorld({ head: 280, environment: { END_BLOCK: "300", SUBGRAPH_COMPAT: "false" } });
});
afterAll(async () => {
  await world?.close();
  await unfinal?.close();
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

test("a range of blocks ends as completed, which is never in real time", async () => {
  world.start();
  const watch = watchStatus(world.url, ["root"]);
  await world.waitFor("the end of the range", async () => {
    const status = watch.last()?.omnichainSnapshot.omnichainStatus;
    return status === "omnichain-completed" ? { done: true } : { state: String(status) };
  });
  await watch.stop();
  expect([...watch.faults]).toEqual([]);
  await world.waitForIndex({ block: 300 });

  const chain = watch.last()?.omnichainSnapshot.chains[chainIds.root];
  expect(chain).toEqual({
    chainStatus: "chain-completed",
    config: {
      configType: "definite",
      startBlock: { timestamp: 1493943200, number: 0 },
      endBlock: { timestamp: 1601449199, number: 300 },
    },
    latestIndexedBlock: { timestamp: 1601449199, number: 300 },
  });
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
    isSubgraphCompatible: true,
    labelSet: { labelSetId: "subgraph", labelSetVersion: 0 },
    namespace: "ens-test-env",
    plugins: ["subgraph"],
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

describe.skipIf(chromiumPath === undefined)(
  "in a browser (skipped without Chromium: set CHROMIUM_PATH)",
  () => {
    let browser: Awaited<ReturnType<typeof startBrowser>>;
    beforeAll(async () => {
      browser = await startBrowser(chromiumPath ?? "");
    });
    afterAll(() => browser?.close());

    const statusHeadings = [
      "Chains",
      "Progress",
      "Newest names",
      "Feed of events",
      "Anomalies",
      "RPC requests",
      "Labels",
      "Database",
      "Configuration",
    ];

    test.each([
      [1280, "light", "rgb(255, 255, 255)"],
      [360, "light", "rgb(255, 255, 255)"],
      [360, "dark", "rgb(20, 24, 29)"],
    ] as const)(
      "the status page fits %i pixels, is %s, and has headings and tables",
      async (width, colorScheme, ground) => {
        const { page, complaints } = await browser.open(world.url, {
          viewport: { width, height: 800 },
          colorScheme,
        });
        expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual([
          "Index of ens-test-env",
        ]);
        expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(statusHeadings);
        const chains = page.getByRole("table", { name: "Chains" });
        expect(await chains.getByRole("columnheader").allTextContents()).toContain("Indexed block");
        expect(await chains.getByRole("rowheader").allTextContents()).toEqual(["ens-test-env"]);
        expect(await chains.getByRole("row").nth(1).textContent()).toMatch(
          /completed300300 100.00 %–0x427d…/,
        );
        const names = page.getByRole("table", { name: "Newest names" });
        expect(await names.getByRole("link", { name: ".eth" }).count()).toBeGreaterThan(5);
        expect(await overflowOf(page)).toBe(0);
        expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(ground);
        expect(complaints).toEqual([]);
      },
    );

    test("a name is looked up with the keyboard, and its page shows how to ask for it", async () => {
      const { page, complaints } = await browser.open(world.url, { viewport: { width: 360, height: 800 } });
      const name =
        (await page.getByRole("table", { name: "Newest names" }).getByRole("link").first().textContent()) ??
        "";
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
      await page.getByRole("combobox", { name: "Name or address" }).focus();
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/name\//);
      expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual([name]);
      expect(
        await page
          .getByRole("table", { name: /^History/ })
          .getByRole("row")
          .count(),
      ).toBeGreaterThan(2);
      await page.getByText("REST endpoint").first().focus();
      await page.keyboard.press("Enter");
      expect(await page.locator("pre").first().isVisible()).toBe(true);
      // Each query that the page shows gives an answer.
      for (const query of await page.locator("pre").allTextContents()) {
        expect((await fetch(`${world.url}${query}`)).status).toBe(200);
      }
      expect(await overflowOf(page)).toBe(0);
      await page.getByRole("link", { name: /^0x/ }).first().click();
      await page.waitForURL(/\/address\/0x/);
      expect(await page.getByRole("link", { name }).count()).toBeGreaterThan(0);
      expect(await overflowOf(page)).toBe(0);
      expect(complaints).toEqual([]);
    });

    test.each([1280, 360])("figures are tables, and charts with the script: %i pixels", async (width) => {
      const viewport = { width, height: 800 };
      const figures = `${world.url}/stats`;
      await world.waitFor("figures of days", async () => {
        const { status } = await fetch(`${world.url}/v1/stats/holders`);
        return status === 200 ? { done: true } : { state: `/v1/stats responds with ${status}` };
      });
      const { page, complaints } = await browser.open(figures, { viewport });
      const titles = await page.getByRole("heading", { level: 2 }).allTextContents();
      expect(titles).toContain("Registrations");
      // They are drawn when they come into view. Those of one period stay tables.
      for (const chart of await page.locator(".chart").all()) {
        await chart.scrollIntoViewIfNeeded();
        await chart.and(page.locator(".drawn")).waitFor();
        await chart.locator("canvas").or(chart.locator("details[open]")).first().waitFor();
      }
      expect(await page.getByRole("table", { name: "Holders" }).isVisible()).toBe(false);
      expect(await overflowOf(page)).toBe(0);
      expect(complaints).toEqual([]);
      const bare = await browser.open(`${figures}?interval=week`, { viewport, javaScriptEnabled: false });
      const holders = bare.page.getByRole("table", { name: "Holders" });
      expect(await holders.isVisible()).toBe(true);
      expect(await holders.getByRole("row").count()).toBe(54);
      expect(bare.complaints).toEqual([]);
    });

    test("a button copies a query; there is none where browsers have no clipboard", async () => {
      const name = `${world.url}/name/eth`;
      const { page, complaints } = await browser.open(name, {
        permissions: ["clipboard-read", "clipboard-write"],
      });
      await page.getByText("REST endpoint").first().click();
      const button = page.locator("details").first().getByRole("button");
      await button.click();
      await expect.poll(() => button.textContent()).toBe("Copied");
      const shown = await page.locator("pre").first().textContent();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(shown);
      expect(complaints).toEqual([]);
      // What browsers do at an address that is neither this machine's nor HTTPS.
      const other = await browser.open("about:blank");
      await other.page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      await other.page.goto(name);
      expect(await other.page.getByRole("button", { name: "Copy", includeHidden: true }).count()).toBe(0);
      expect(other.complaints).toEqual([]);
    });

    test("it is the same without scripts", async () => {
      const { page } = await browser.open(world.url, { javaScriptEnabled: false });
      expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(statusHeadings);
    });

    test("the page of the label service heals, and its documents can be read", async () => {
      const labels = await startServer();
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
      const { page } = await browser.open(world.url);
      await world.stop();
      await page.getByRole("alert").filter({ hasText: "The service has not responded since" }).waitFor();
      expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(statusHeadings);
    });
  },
);

test("a range that ends in blocks not yet final is ready when it is completed, and no block past its end is named", async () => {
  unfinal.start();
  await unfinal.waitForIndex({ block: 280 });
  // Block 300 is mined; as a live block it stays unfinal, and the chain goes on.
  unfinal.node.chain.setHead(310);
  await unfinal.waitForIndex({ block: 300 });
  await unfinal.stop();
  // Settings that do not determine rows keep the index.
  const service = unfinal.start({ LOG_LEVEL: "warn", RPC_REQUESTS_PER_SECOND: "300" });
  // Ready, and the blocks that were not final indexed again.
  await unfinal.waitForIndex({ block: 300 });
  expect(service.ending()).toBeUndefined();
  const { omnichainSnapshot } = await unfinal.waitForStatus(
    "the status after a restart",
    (status) => status.omnichainSnapshot.omnichainStatus !== "omnichain-following",
  );
  expect(omnichainSnapshot).toMatchObject({
    omnichainStatus: "omnichain-completed",
    chains: { [chainIds.root]: { latestIndexedBlock: { timestamp: 1601449199, number: 300 } } },
  });
  const { _meta } = await unfinal.query<{ _meta: unknown }>("{ _meta { block { number timestamp } } }");
  expect(_meta).toEqual({ block: { number: 300, timestamp: 1601449199 } });
  await unfinal.stop();
});

// An index started under one setting must not continue under another: it would mix both.

test("another mode is rejected", async () => {
  unfinal.start({ SUBGRAPH_COMPAT: "true" });
  expect(await unfinal.refusal()).toContain(
    "SUBGRAPH_COMPAT changed from false to true, which changes rows of the index in schema",
  );
});

test("another label set is rejected", async () => {
  const path = join(unfinal.folder, "other.sqlite");
  const writer = createLabelDatabase(path, "other-set");
  writer.add(batchOf(["eth"]));
  writer.finish(new Date());
  unfinal.start({ LABELS_URL: `file:${path}`, LABEL_SET_ID: "other-set" });
  expect(await unfinal.refusal()).toContain(
    "LABEL_SET_ID changed from subgraph to other-set, which changes rows",
  );
});
