import { fileURLToPath } from "node:url";
import { html } from "hono/html";
import packageJson from "../../package.json" with { type: "json" };
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import { createAssets, docsFiles, docsPage, docsPolicy } from "../../src/http/assets.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { escapeControls } from "../../src/log/json-log.ts";
import { type Answer, notFound } from "./answer.ts";

// Each release has its own folder, so that browsers may keep the files.
const assets = new URL("../../src/api/pages/assets/", import.meta.url);
const prefix = `/assets/${packageJson.version}/`;
const findAsset = createAssets({
  ...docsFiles(prefix),
  [`${prefix}frame.css`]: fileURLToPath(new URL("frame.css", assets)),
  [`${prefix}page.css`]: fileURLToPath(new URL("page.css", assets)),
});

const homePolicy =
  "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; style-src 'self'";

/** Answers / and /docs for browsers, and the files that these pages load. */
export async function answerPage(
  { path, query }: { path: string; query: string },
  file: LabelFile | undefined,
): Promise<Answer> {
  if (path.startsWith("/assets/")) return answerAsset(path);
  const [page, policy] =
    path === "/docs"
      ? [docsPage("Label service", prefix), docsPolicy]
      : [renderHomePage(new URLSearchParams(query).get("labelhash"), file), homePolicy];
  return {
    status: 200,
    contentType: "text/html; charset=UTF-8",
    body: String(await page),
    outcome: "ok",
    headers: ["content-security-policy", policy, "cache-control", "no-store", "vary", "Accept"],
  };
}

async function answerAsset(path: string): Promise<Answer> {
  const asset = await findAsset(path);
  if (asset === undefined) return notFound;
  const { "content-type": contentType, ...headers } = asset.headers;
  return {
    status: 200,
    contentType,
    body: asset.body,
    outcome: "ok",
    headers: Object.entries(headers).flat(),
  };
}

const grouped = new Intl.NumberFormat("en");

function renderHomePage(asked: string | null, file: LabelFile | undefined) {
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
      ["Software version", packageJson.version],
    ];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Label service</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${prefix}frame.css">
<link rel="stylesheet" href="${prefix}page.css">
</head>
<body>
<header class="site"><nav aria-label="Pages"><a href="/">Labels</a><a href="/docs">REST API</a><a href="/metrics">Metrics</a></nav></header>
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
${asked === null ? "" : renderHealed(asked, file)}
</section>
</main>
</body>
</html>`;
}

const maxShown = 1_000;

function renderHealed(asked: string, file: LabelFile | undefined) {
  if (file === undefined) return html`<p class="note">There is no label database yet.</p>`;
  const labelhash = normalizeLabelhash(asked.trim());
  if (labelhash === undefined)
    return html`<p class="problem">This is not a labelhash: 0x and 64 hex digits.</p>`;
  const label = file.heal(labelhash, file.facts.highestLabelSetVersion);
  if (label === undefined)
    return html`<p class="note">No label of this set has the labelhash <code>${labelhash}</code>.</p>`;
  const start = [...label.slice(0, 2 * maxShown)].slice(0, maxShown).join("");
  const rest =
    start.length < label.length
      ? html` <small>and ${grouped.format(label.length - start.length)} more characters</small>`
      : "";
  return html`<dl><div><dt>Label</dt><dd><bdi>${escapeControls(start)}</bdi>${rest}</dd></div>
<div><dt>Labelhash</dt><dd><code>${labelhash}</code></dd></div></dl>
<details><summary>REST endpoint</summary><pre>/v1/heal/${labelhash}</pre></details>`;
}
