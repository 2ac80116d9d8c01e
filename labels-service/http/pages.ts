import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { html } from "hono/html";
import packageJson from "../../package.json" with { type: "json" };
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { escapeControls } from "../../src/log/json-log.ts";
import { type Answer, notFound } from "./answer.ts";

const own = fileURLToPath(new URL("../../src/api/pages/assets/", import.meta.url));
const swagger = dirname(findPackageJSON("swagger-ui-dist", import.meta.url) ?? "");

/** The files that pages load, by name; each release has a folder of its own, so that browsers may keep them. */
const assets: Readonly<Record<string, readonly [folder: string, type: string]>> = {
  "page.css": [own, "text/css"],
  "docs.js": [own, "text/javascript"],
  "swagger-ui.css": [swagger, "text/css"],
  "swagger-ui-bundle.js": [swagger, "text/javascript"],
};
const prefix = `/assets/${packageJson.version}/`;

const common =
  "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** GET / and /docs for browsers, and the files that they load. `query`: that of the request. */
export async function pageOf(path: string, query: string, file: LabelFile | undefined): Promise<Answer> {
  if (path.startsWith("/assets/")) return assetAnswer(path);
  const isDocs = path === "/docs";
  const body = String(
    await (isDocs ? docsPage() : homePage(new URLSearchParams(query).get("labelhash"), file)),
  );
  // Swagger UI sets styles of its elements.
  const policy = `${common}; style-src 'self'${isDocs ? " 'unsafe-inline'" : ""}`;
  const headers = ["content-security-policy", policy, "cache-control", "no-store", "vary", "Accept"];
  return { status: 200, contentType: "text/html; charset=UTF-8", body, outcome: "ok", headers };
}

async function assetAnswer(path: string): Promise<Answer> {
  const name = path.slice(prefix.length);
  const asset = path.startsWith(prefix) && Object.hasOwn(assets, name) ? assets[name] : undefined;
  if (asset === undefined) return notFound;
  const [folder, type] = asset;
  const headers = ["cache-control", "public, max-age=31536000, immutable"];
  const body = await readFile(join(folder, name));
  return { status: 200, contentType: `${type}; charset=utf-8`, body, outcome: "ok", headers };
}

const frame = (title: string, head: unknown, body: unknown) => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>`;

const docsPage = () =>
  frame(
    "Label service: API",
    html`<link rel="stylesheet" href="${prefix}swagger-ui.css">`,
    html`<div id="docs"></div>
<script src="${prefix}swagger-ui-bundle.js"></script>
<script src="${prefix}docs.js"></script>`,
  );

const grouped = new Intl.NumberFormat("en");

function homePage(asked: string | null, file: LabelFile | undefined) {
  const facts = file?.facts;
  const state = facts ? ["completed", "Ready"] : ["backfill", "Waiting for a label database"];
  const pairs = file &&
    facts && [
      ["Label set", facts.labelSetId],
      ["Versions", facts.highestLabelSetVersion === 0 ? "0" : `0 to ${facts.highestLabelSetVersion}`],
      ...file.versions.map(({ version, recordsCount }) => [
        `Labels that version ${version} added`,
        grouped.format(recordsCount),
      ]),
      ["Labels, all versions together", grouped.format(facts.recordsCount)],
      ["Version of the program", packageJson.version],
    ];
  return frame(
    "Label service",
    html`<link rel="stylesheet" href="${prefix}page.css">`,
    html`<header><nav aria-label="Pages"><a href="/">Labels</a><a href="/docs">REST API</a><a href="/metrics">Metrics</a></nav></header>
<main>
<h1>Label service</h1>
<p class="state ${state[0]}"><strong>${state[1]}</strong></p>
<section><h2>Label set</h2>
${pairs ? html`<dl>${pairs.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>` : html`<p class="note">Ingest one, see docs/labels.md. It is attached by itself.</p>`}
</section>
<section><h2>Heal a labelhash</h2>
<form action="/"><label for="labelhash">Labelhash</label>
<input id="labelhash" name="labelhash" value="${asked ?? ""}" required autocapitalize="none" autocomplete="off" spellcheck="false">
<button>Heal</button></form>
${asked === null ? "" : healed(asked, file)}
</section>
</main>`,
  );
}

const mostShown = 1_000;

function healed(asked: string, file: LabelFile | undefined) {
  if (file === undefined) return html`<p class="note">There is no label database yet.</p>`;
  const labelhash = normalizeLabelhash(asked.trim());
  if (labelhash === undefined)
    return html`<p class="problem">This is not a labelhash: 0x and 64 hex digits.</p>`;
  const label = file.heal(labelhash, file.facts.highestLabelSetVersion);
  if (label === undefined)
    return html`<p class="note">No label of this set has the labelhash <code>${labelhash}</code>.</p>`;
  const start = [...label.slice(0, 2 * mostShown)].slice(0, mostShown).join("");
  const rest =
    start.length < label.length
      ? html` <small>and ${grouped.format(label.length - start.length)} more characters</small>`
      : "";
  return html`<dl><div><dt>Label</dt><dd><bdi>${escapeControls(start)}</bdi>${rest}</dd></div>
<div><dt>Labelhash</dt><dd><code>${labelhash}</code></dd></div></dl>
<details><summary>REST endpoint</summary><pre>/v1/heal/${labelhash}</pre></details>`;
}
