import { existsSync } from "node:fs";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";

const usualPaths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of a Chromium on this machine: CHROMIUM_PATH, else a usual one; undefined if there is none. */
export const chromiumPath = process.env["CHROMIUM_PATH"] ?? usualPaths.find((path) => existsSync(path));

/**
 * A page in a browser, and what it complained of: errors of its console, of its scripts, and files that failed to load.
 */
export type WatchedPage = { page: Page; complaints: string[] };

/** Starts a browser without a screen. `open` opens pages, each with settings of its own. */
export async function startBrowser(executablePath: string) {
  // Tests may run as root, for which Chromium has no sandbox.
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  return {
    async open(url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
      const page = await (await browser.newContext(options)).newPage();
      page.setDefaultTimeout(900_000);
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("requestfailed", (request) => {
        // Requests of a page that the browser leaves are aborted.
        if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`${request.url()} failed`);
      });
      await page.goto(url);
      return { page, complaints };
    },
    close: () => browser.close(),
  };
}

/** By how many pixels a page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
