// A page with the records of a name, rendered with the hook:
//
//   node examples/react/profile.ts demo.eth url description
import { createElement, Suspense } from "react";
import { renderToReadableStream } from "react-dom/server";
import { useTexts } from "./use-records.ts";

const indexUrl = process.env["INDEX_URL"] ?? "http://localhost:42069";

function Profile({ name, keys }: { name: string; keys: readonly string[] }) {
  const texts = useTexts(indexUrl, name, keys);
  const rows = keys.map((key) => createElement("li", { key }, `${key}: ${texts[key] ?? "not set"}`));
  return createElement("section", null, createElement("h1", null, name), createElement("ul", null, rows));
}

const [name = "demo.eth", ...keys] = process.argv.slice(2);
const page = createElement(Suspense, { fallback: "…" }, createElement(Profile, { name, keys }));
const stream = await renderToReadableStream(page);
await stream.allReady;
console.log(await new Response(stream).text());
process.exit();
