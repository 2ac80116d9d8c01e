// Serves index.html and the client's modules, as the bundler of an app would: `npm run -s example -- wallet`.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";

const port = Number(process.argv[2] ?? 3001);
createServer(async ({ url = "" }, response) => {
  const module =
    /^\/client\/[\w.]+\.ts$/.test(url) && new URL(`../..${url.replace("t/", "t/src/")}`, import.meta.url);
  const text = await readFile(module || new URL("index.html", import.meta.url), "utf8").catch(() => "");
  response.setHeader("content-type", module ? "text/javascript; charset=utf-8" : "text/html");
  response.end(module ? stripTypeScriptTypes(text) : text);
}).listen(port, "127.0.0.1", () => console.log(`http://localhost:${port}/?address=0x…`));
