import { html, raw } from "hono/html";
import type { openApiDocument } from "./openapi-document.ts";

type Document = ReturnType<typeof openApiDocument>;
type Parameter = {
  name: string;
  in: string;
  required: boolean;
  description?: string;
  schema: unknown;
  example?: unknown;
};
type Operation = {
  summary: string;
  description: string;
  tags: string[];
  parameters: Parameter[];
  responses: Record<string, { description: string; content?: { "application/json": { schema: unknown } } }>;
};

/** The page at `/docs`: the API's document for people. It needs nothing but itself. */
export function docsPage(document: Document) {
  const operations = Object.entries(document.paths).map(
    ([path, { get }]) => [path, get as Operation] as const,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}: API</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
h3 { margin: 2rem 0 0.25rem; font-size: 1.1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #8883; }
code, pre { font-size: 0.9em; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid #8886; border-radius: 4px; }
</style>
</head>
<body>
<h1>${document.info.title}</h1>
<p>Version ${document.info.version}. ${document.info.description}
For programs: <a href="/openapi.json"><code>/openapi.json</code></a>.</p>
<ul>${operations.map(([path, { summary }]) => html`<li><a href="#${path}"><code>${path}</code></a> ${summary}</li>`)}</ul>
${document.tags.map(
  ({ name }) => html`<h2>${name}</h2>
${operations.filter(([, { tags }]) => tags.includes(name)).map(([path, operation]) => section(path, operation))}`,
)}
</body>
</html>`;
}

function section(path: string, { summary, description, parameters, responses }: Operation) {
  return html`<h3 id="${path}"><code>GET ${path}</code></h3>
<p><strong>${summary}.</strong> ${description}</p>
${
  parameters.length === 0
    ? ""
    : html`<table><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr>${parameters.map(parameterRow)}</table>`
}
${Object.entries(responses).map(
  ([status, answer]) =>
    html`<details><summary>${status}: ${answer.description}</summary>${
      answer.content === undefined
        ? ""
        : html`<pre><code>${JSON.stringify(answer.content["application/json"].schema, null, 2)}</code></pre>`
    }</details>`,
)}`;
}

function parameterRow({ name, in: place, required, description, schema, example }: Parameter) {
  return html`<tr><td><code>${name}</code>${required ? raw(" <em>required</em>") : ""}</td><td>${place}</td><td>${description ?? ""}
${example === undefined ? "" : html`e.g. <code>${String(example)}</code> `}<code>${JSON.stringify(schema)}</code></td></tr>`;
}
