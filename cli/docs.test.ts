import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isOwn = (path: string) => !/(^|\/)(node_modules|\.git|\.ponder|generated)(\/|$)/.test(path);

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!isOwn(path)) return [];
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

const files = filesBelow("");
// Pages on Ponder name its files too.
const documents = files.filter((file) => file.endsWith(".md") && !file.startsWith("docs/ponder"));

test.each(documents)("%s names files that are there", (document) => {
  const text = readFileSync(join(root, document), "utf8");
  const named = [...text.matchAll(/`([\w./-]+\.(?:ts|mjs|cjs|css))`/g)].map(([, name = ""]) => name);
  expect(named.filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)))).toEqual([]);
});

// As GitHub makes them from headings.
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");

test.each(documents)("%s links to files and headings that are there", (document) => {
  const links = [
    ...readFileSync(join(root, document), "utf8").matchAll(/\]\((?!https?:)([^)\s#]*)#?([^)\s]*)\)/g),
  ];
  const dead = links.flatMap(([link, path = "", anchor = ""]) => {
    const target = path === "" ? document : join(dirname(document), path);
    if (!files.includes(target)) return files.some((file) => file.startsWith(target)) ? [] : [link];
    if (anchor === "") return [];
    const headings = readFileSync(join(root, target), "utf8").matchAll(/^#+ (.*)$/gm);
    return [...headings].some(([, heading = ""]) => anchorOf(heading) === anchor) ? [] : [link];
  });
  expect(dead).toEqual([]);
});

test.each(["openapi", "openapi-labels"])("docs/routes.md lists the routes of the document %s", (document) => {
  const listed = readFileSync(join(root, "docs/routes.md"), "utf8");
  const digest = readFileSync(join(root, `test/fixtures/${document}.txt`), "utf8");
  const paths = [...digest.matchAll(/^(?:GET|POST) (\S+) /gm)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(4);
  expect(paths.filter((path) => !listed.includes(`${path}\``))).toEqual([]);
});

test("docs/README.md lists every page once", () => {
  const index = readFileSync(join(root, "docs/README.md"), "utf8");
  const pages = files.filter((file) => /^docs\/(?!README)[\w-]+\.md$/.test(file));
  const timesOf = (page: string) => index.split(`](${page.slice("docs/".length)})`).length - 1;
  expect(pages.filter((page) => timesOf(page) !== 1)).toEqual([]);
});
