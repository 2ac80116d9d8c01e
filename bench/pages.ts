// The pages as a browser gets them from the demo, each in fresh contexts: requests, bytes over the wire, time to first
// contentful paint (of the very first view, and the median of five more), the server's time for the page itself,
// requests to other hosts, and what the console says.
//
//   node cli/with-node.mjs bench/pages.ts
//
// Needs a Chromium (CHROMIUM_PATH). The service has answered nothing of a page before its first view.
import { type Browser, chromium } from "playwright-core";
import { runDemo } from "../devnet/demo/demo.ts";
import { demoAccount } from "../devnet/demo/showcase.ts";
import { shownNames } from "../devnet/demo/shown-names.ts";
import { freePort } from "../devnet/ports.ts";
import { chainIds } from "../devnet/recorded-chains.ts";
import { chromiumPath } from "../test/support/browser/browser.ts";
import { quantile, whole } from "./measure.ts";

const views = 5;
const pages = {
  // Plain text: what this browser and machine need for any page.
  "plain text": "/llms.txt",
  name: "/name/kagam.eth",
  "expired name": `/name/${shownNames.premium}`,
  address: `/address/${demoAccount}`,
  block: `/block/${chainIds.root}:1600`,
  search: "/name?name=KAGAM.eth",
  home: "/",
  names: "/names",
  status: "/status",
  figures: "/stats",
  GraphiQL: "/subgraph",
  "API reference": "/docs",
};

type View = {
  requests: number;
  bytes: number;
  paint: number;
  server: number;
  foreign: number;
  words: string[];
};

const median = (values: readonly number[]) => whole(quantile(values, 0.5));

// Milliseconds from the begin of the navigation, whose redirects count too.
const timesOf = `new Promise((resolve) => new PerformanceObserver((list) => {
  const [paint] = list.getEntriesByName("first-contentful-paint");
  const { responseStart, requestStart, redirectStart } = performance.getEntriesByType("navigation")[0];
  if (paint) resolve({ paint: paint.startTime, server: responseStart - (redirectStart || requestStart) });
}).observe({ type: "paint", buffered: true }))`;

async function measureView(browser: Browser, url: string): Promise<View> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  const view: View = { requests: 0, bytes: 0, paint: 0, server: 0, foreign: 0, words: [] };
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    view.bytes += encodedDataLength;
  });
  page.on("request", (request) => {
    if (/^(data|blob):/.test(request.url())) return;
    view.requests += 1;
    if (new URL(request.url()).origin !== new URL(url).origin) view.foreign += 1;
  });
  page.on("console", (message) => view.words.push(message.text()));
  page.on("pageerror", (error) => view.words.push(error.message));
  await page.goto(url, { waitUntil: "load" });
  Object.assign(view, await page.evaluate(timesOf));
  // What scripts ask for after the load; the status page asks every two seconds.
  await page.waitForTimeout(1_000);
  await context.close();
  return view;
}

async function measure(url: string): Promise<void> {
  const browser = await chromium.launch({ executablePath: chromiumPath ?? "", args: ["--no-sandbox"] });
  // The browser's own start is not the page's.
  await measureView(browser, "data:text/html,<p>A page</p>");
  console.log(
    "\n| Page | Requests | kB | First paint, first view | First paint, median | Server, first view | Server, median | Other hosts | Console |\n|---|---|---|---|---|---|---|---|---|",
  );
  for (const [name, path] of Object.entries(pages)) {
    const first = await measureView(browser, `${url}${path}`);
    const more: View[] = [];
    while (more.length < views) more.push(await measureView(browser, `${url}${path}`));
    const all = [first, ...more];
    const foreign = all.reduce((sum, view) => sum + view.foreign, 0);
    const words = [...new Set(all.flatMap((view) => view.words))].join("; ") || "–";
    console.log(
      `| ${name} | ${first.requests} | ${whole(first.bytes / 1_000)} | ${whole(first.paint)} ms | ${median(more.map(({ paint }) => paint))} ms | ${whole(first.server)} ms | ${median(more.map(({ server }) => server))} ms | ${foreign} | ${words} |`,
    );
  }
  await browser.close();
}

const stop = new AbortController();
const port = await freePort();
const ready = Promise.withResolvers<void>();
const demo = runDemo({
  ...{ world: "everything", isAll: false, port, labelsPort: await freePort() },
  environment: process.env,
  // The last text that it writes is its screen.
  write: (text) => (text.includes("nsindex is up") ? ready.resolve() : console.error(text)),
  signal: stop.signal,
});
try {
  await Promise.race([ready.promise, demo]);
  await measure(`http://localhost:${port}`);
} finally {
  stop.abort();
  await demo;
}
