// A stand-in for the public reference implementation of the label service: it serves heals from the same file
// and costs, in processor time per request, what that implementation was measured to cost with 5 M labels.
//   node bench/labels/stand-in.ts <port> <database>
import { createServer } from "node:http";
import { Counter, collectDefaultMetrics, Registry } from "prom-client";
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import { openLabelFile } from "../../src/labels/label-file.ts";

/** Microseconds of processor time per request, a bare HTTP response included. */
export const referenceCost = { pinned: 464, known: 261, unknown: 90, bareAnswer: 17 };

if (process.argv[1]?.endsWith("stand-in.ts")) {
  const [port, path = ""] = process.argv.slice(2);
  const file = openLabelFile(path);
  const register = new Registry();
  collectDefaultMetrics({ register });
  const requests = new Counter({ name: "requests", help: "Requests.", registers: [register] });
  createServer(async (request, response) => {
    const since = performance.now();
    const [path = "", query] = (request.url ?? "").split("?");
    if (path === "/metrics") {
      response.end(await register.metrics());
      return;
    }
    const labelhash = normalizeLabelhash(path.slice("/v1/heal/".length));
    const label = labelhash && file.heal(labelhash, 0);
    const kind = label === undefined ? "unknown" : query === undefined ? "known" : "pinned";
    const end = since + (referenceCost[kind] - referenceCost.bareAnswer) / 1000;
    while (performance.now() < end);
    const body = JSON.stringify(label === undefined ? { status: "error" } : { status: "success", label });
    requests.inc();
    response.writeHead(label === undefined ? 404 : 200, { "content-length": Buffer.byteLength(body) });
    response.end(body);
  }).listen(Number(port), "127.0.0.1");
}
